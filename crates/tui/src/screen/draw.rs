//! Draws the state: a pure function of it and of the size of the terminal.

mod bars;
mod detail;
mod lists;
mod members;
mod table;

pub(super) use terminal_text::wrap;

use super::areas::{Areas, MIN_SIZE};
use super::scroll::Window;
use super::{Focus, Mode, Screen};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph};
use terminal_text::width;

/// The list of keys.
const HELP: [&str; 16] = [
    "up, down     select a member or a request, or scroll",
    "Tab          the next pane; Shift-Tab the one before",
    "PgUp, PgDn   scroll the pane; also Home and End",
    "l            the log of the selected member, or its conversation",
    "m            send the selected member a message",
    "s            ask the selected member to shut down",
    "r            restart the selected member",
    "y, a         yes to the selected request, once",
    "m, t         yes to its tool call, for the member or the team",
    "n, x         no to the selected request, with a reason",
    "1-9, r       choose an answer to a question, or type one",
    "M            use the mouse, or leave it to the terminal",
    "?            show these keys",
    "q            quit; the team continues",
    "",
    "Any key closes this.",
];

/// What a pane shows.
struct Content {
    title: String,
    headings: Option<Line<'static>>,
    /// The visible rows.
    rows: Vec<Line<'static>>,
    window: Window,
}

impl Screen {
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
            let text = format!(
                "The terminal is too small: {}x{} at least",
                MIN_SIZE.0, MIN_SIZE.1
            );
            return frame.render_widget(Paragraph::new(text), area);
        }
        let areas = self.areas(area);
        let header = self.header(usize::from(areas.header.width));
        frame.render_widget(Paragraph::new(header), areas.header);
        for pane in Focus::ALL {
            if areas.of(pane).height > 0 {
                self.draw_pane(frame, &areas, pane);
            }
        }
        let footer = self.footer(usize::from(areas.footer.width));
        frame.render_widget(Paragraph::new(footer), areas.footer);
        if self.mode == Mode::Help {
            self.draw_help(frame, area);
        }
    }

    fn draw_pane(&self, frame: &mut Frame<'_>, areas: &Areas, pane: Focus) {
        let (width, height) = areas.content(pane);
        let content = match pane {
            Focus::Requests => self.requests(width, height),
            Focus::Members => self.members(width, height),
            Focus::Board => self.board(width, height),
            Focus::Events => self.events(width, height),
            Focus::Detail => self.detail(width, height),
        };
        let mut lines = Vec::new();
        if areas.has_headings {
            lines.extend(content.headings);
        }
        lines.extend(content.rows);
        let block = self.title_bar(pane, areas.of(pane).width, &content.title, content.window);
        frame.render_widget(Paragraph::new(lines).block(block), areas.of(pane));
    }

    /// The line above a pane: its title, and how many rows are not shown. That of the pane with the focus is
    /// thick.
    fn title_bar(&self, pane: Focus, cells: u16, title: &str, window: Window) -> Block<'static> {
        let is_focused = self.focus == pane;
        let mut style = self.colored(Color::Reset);
        if is_focused {
            style = style.add_modifier(Modifier::BOLD);
        }
        if pane == Focus::Requests {
            style = self.colored(Color::Yellow).add_modifier(Modifier::BOLD);
        }
        let set = match is_focused {
            true => border::THICK,
            false => border::PLAIN,
        };
        let title = format!("{} {title} ", set.horizontal_top);
        let title_cells = width(&title);
        let mut block = Block::new()
            .borders(Borders::TOP)
            .border_set(set)
            .border_style(self.colored(Color::DarkGray))
            .title(Line::styled(title, style));
        let Window { above, below, .. } = window;
        let rule = set.horizontal_top;
        let hidden = match (above, below) {
            (0, 0) => return block,
            (above, 0) => format!(" {above} more above {rule}"),
            (0, below) => format!(" {below} more below {rule}"),
            (above, below) => format!(" {above} more above, {below} below {rule}"),
        };
        let short = format!(" {} more {rule}", above + below);
        let left = usize::from(cells).saturating_sub(title_cells);
        let fitting = [hidden, short];
        let fitting = fitting.into_iter().find(|text| width(text) < left);
        if let Some(text) = fitting {
            block = block.title(Line::styled(text, style).right_aligned());
        }
        block
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = 66.min(area.width);
        let height = (HELP.len() as u16 + 2).min(area.height);
        let place = Rect {
            x: (area.width - width) / 2,
            y: (area.height - height) / 2,
            width,
            height,
        };
        let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
        let block = Block::bordered().title(" Keys ");
        frame.render_widget(Clear, place);
        frame.render_widget(Paragraph::new(lines).block(block), place);
    }

    fn colored(&self, color: Color) -> Style {
        match self.colors {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }
}

/// The rows of a window.
fn visible<T>(rows: impl IntoIterator<Item = T>, window: Window) -> impl Iterator<Item = T> {
    rows.into_iter().skip(window.above).take(window.rows)
}

/// A selected row is reversed, in one colour: with several its background would be in patches.
fn selected(line: Line<'_>, is_selected: bool) -> Line<'_> {
    if !is_selected {
        return line;
    }
    let color = line.spans.iter().find_map(|span| span.style.fg);
    let spans = line.spans.into_iter().map(|mut span| {
        span.style.fg = color;
        span
    });
    let style = Style {
        fg: color,
        ..line.style.add_modifier(Modifier::REVERSED)
    };
    Line::from_iter(spans).style(style)
}
