//! Draws the state: a pure function of it and of the size of the terminal.

mod rows;
mod text;

use super::{Focus, Mode, Pane, Purpose, Screen};
use crate::one_line;
use protocol::RequestKind;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use text::wrap;

/// The smallest terminal on which the view is drawn.
const MIN_SIZE: (u16, u16) = (40, 12);

/// The list of keys.
const HELP: [&str; 14] = [
    "up, down     select a member or a request",
    "Tab          from the members to the requests and back",
    "PgUp, PgDn   scroll the conversation, the log or the plan",
    "l            the log of the selected member, or its conversation",
    "m            send the selected member a message",
    "s            ask the selected member to shut down",
    "r            restart the selected member",
    "y, a         yes to the selected request, once",
    "m, t         yes to its tool call, for the member or the team",
    "n, x         no to the selected request, with a reason",
    "1-9, r       choose an answer to a question, or type one",
    "?            show these keys",
    "q            quit; the team continues",
    "",
];

/// The areas of the screen.
struct Areas {
    header: Rect,
    members: Rect,
    board: Rect,
    requests: Rect,
    events: Rect,
    detail: Rect,
    footer: Rect,
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
        frame.render_widget(Paragraph::new(self.header()), areas.header);
        let members = self.member_lines(areas.members);
        self.list(frame, areas.members, "Members", members);
        let board = self.task_lines(areas.board);
        self.list(frame, areas.board, &self.board_title(), board);
        if areas.requests.height > 0 {
            let requests = self.request_lines(areas.requests);
            self.list(frame, areas.requests, "Requests", requests);
        }
        let events = self.event_lines(areas.events);
        self.list(frame, areas.events, "Events", events);
        let (title, lines) = self.detail(areas.detail);
        self.list(frame, areas.detail, &title, lines);
        frame.render_widget(Paragraph::new(self.footer()), areas.footer);
        if self.mode == Mode::Help {
            self.draw_help(frame, area);
        }
    }

    fn areas(&self, area: Rect) -> Areas {
        let count = u16::try_from(self.snapshot.members.len()).unwrap_or(u16::MAX);
        let members = count.max(1).saturating_add(2).min((area.height / 3).max(4));
        let rest = area.height.saturating_sub(members + 2);
        let detail = (rest * 2 / 5).max(3);
        let [header, members, middle, detail, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(members),
            Constraint::Fill(1),
            Constraint::Length(detail),
            Constraint::Length(1),
        ])
        .areas(area);
        let [left, events] =
            Layout::horizontal([Constraint::Percentage(45), Constraint::Fill(1)]).areas(middle);
        let waiting = u16::try_from(self.snapshot.requests.len()).unwrap_or(u16::MAX);
        let wanted = match waiting {
            0 => 0,
            waiting => waiting.saturating_add(2).min((left.height / 2).max(3)),
        };
        let [board, requests] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(wanted)]).areas(left);
        Areas {
            header,
            members,
            board,
            requests,
            events,
            detail,
            footer,
        }
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
        let block = Block::bordered().title(format!(" {title} "));
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn header(&self) -> Line<'_> {
        let lead = match self.snapshot.lead {
            Some(word) => format!("lead {word}, {} unread", self.snapshot.lead_unread),
            None => format!("no lead running, {} unread", self.snapshot.lead_unread),
        };
        let alive = self
            .snapshot
            .members
            .iter()
            .filter(|row| row.state.is_alive());
        let text = format!(
            "Team {}: {} of {} members running; {lead}; {}",
            self.snapshot.team,
            alive.count(),
            self.snapshot.members.len(),
            self.snapshot.folder
        );
        Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
    }

    fn footer(&self) -> Line<'_> {
        match &self.mode {
            Mode::Type { purpose, text } => {
                let label = match purpose {
                    Purpose::Message(name) => format!("To {name}"),
                    Purpose::Rejection(id) => format!("Reason for rejecting {id}"),
                    Purpose::Reply(id) => format!("Answer to {id}"),
                };
                return Line::raw(format!("{label}: {}_", one_line(text)));
            }
            Mode::Confirm { question, .. } => {
                let style = self.colored(Color::Yellow);
                return Line::styled(format!("{question} y/n"), style);
            }
            Mode::Command | Mode::Help => {}
        }
        if let Some(notice) = &self.notice {
            let color = match notice.ok {
                true => Color::Green,
                false => Color::Red,
            };
            return Line::styled(one_line(&notice.text), self.colored(color));
        }
        if let Some(problem) = &self.snapshot.problem {
            return Line::styled(problem.as_str(), self.colored(Color::Red));
        }
        if self.focus == Focus::Members {
            return Line::raw(self.member_keys());
        }
        Line::raw(match self.selected_request().map(|row| row.kind) {
            Some(RequestKind::Plan) => "y yes  n no, with a reason  Tab members  ? keys  q quit",
            Some(RequestKind::Permission) => {
                "y yes, once  m for the member  t for the team  n no, with a reason  Tab members  ? keys"
            }
            Some(RequestKind::Question) => {
                "1-9 choose  r reply  n no, with a reason  Tab members  ? keys"
            }
            Some(RequestKind::Shutdown) | None => "Tab members  ? keys  q quit",
        })
    }

    fn member_keys(&self) -> String {
        let other = match self.pane {
            Pane::Conversation => "l log",
            Pane::Log => "l conversation",
        };
        let requests = match self.snapshot.requests.is_empty() {
            true => "",
            false => "  Tab requests",
        };
        format!("m message  s shut down  r restart  {other}{requests}  ? keys  q quit")
    }

    /// The lower pane: the conversation or log of the selected member, or the text of the selected
    /// request.
    fn detail(&self, area: Rect) -> (String, Vec<Line<'_>>) {
        let (width, height) = inside(area);
        if self.focus == Focus::Requests
            && let Some(row) = self.selected_request()
        {
            let title = match row.kind {
                RequestKind::Plan => format!("Plan of {} ({})", row.from, row.id),
                RequestKind::Shutdown => {
                    format!("{} asks {} to shut down ({})", row.from, row.to, row.id)
                }
                RequestKind::Permission => format!("{} asks to run ({})", row.from, row.id),
                RequestKind::Question => format!("{} asks ({})", row.from, row.id),
            };
            let lines: Vec<String> = row.text.iter().flat_map(|l| wrap(l, width)).collect();
            let from = self.scroll.min(lines.len().saturating_sub(height));
            let shown = lines.into_iter().skip(from).take(height);
            return (title, shown.map(Line::raw).collect());
        }
        let what = match self.pane {
            Pane::Conversation => "Conversation",
            Pane::Log => "Log",
        };
        let title = match &self.member {
            Some(name) if self.scroll > 0 => format!("{what} of {name} ({} back)", self.scroll),
            Some(name) => format!("{what} of {name}"),
            None => what.to_owned(),
        };
        let all = self.log.iter().chain(&self.running);
        let kept = (self.log.len() + self.running.len()).saturating_sub(self.scroll);
        // Each line takes at least one row, so more lines than these are never visible.
        let lines = all.take(kept);
        let lines = lines.skip(kept.saturating_sub(height));
        let lines: Vec<String> = lines.flat_map(|l| wrap(l, width)).collect();
        let from = lines.len().saturating_sub(height);
        let shown = lines.into_iter().skip(from);
        (title, shown.map(Line::raw).collect())
    }

    fn event_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let (width, height) = inside(area);
        let last = self.events.iter();
        let last = last.skip(self.events.len().saturating_sub(height));
        let lines: Vec<String> = last.flat_map(|l| wrap(l, width)).collect();
        let from = lines.len().saturating_sub(height);
        let shown = lines.into_iter().skip(from);
        shown.map(Line::raw).collect()
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = 62.min(area.width);
        let height = (HELP.len() as u16 + 3).min(area.height);
        let place = Rect {
            x: (area.width - width) / 2,
            y: (area.height - height) / 2,
            width,
            height,
        };
        let mut lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
        lines.push(Line::raw("Any key closes this."));
        frame.render_widget(Clear, place);
        self.list(frame, place, "Keys", lines);
    }

    fn colored(&self, color: Color) -> Style {
        match self.colors {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }
}

/// The size of an area without its border.
fn inside(area: Rect) -> (usize, usize) {
    let width = area.width.saturating_sub(2);
    let height = area.height.saturating_sub(2);
    (usize::from(width), usize::from(height))
}
