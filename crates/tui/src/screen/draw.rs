//! Drawing the state. A pure function of it and of the size of the terminal.

mod rows;
mod text;

use super::{Focus, Mode, Pane, Screen, Typed};
use crate::harmless::harmless;
use protocol::RequestKind;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use text::wrap;

/// What fits on nothing smaller is not drawn at all.
const SMALLEST: (u16, u16) = (40, 12);

/// The keys, as they are listed.
const HELP: [&str; 12] = [
    "up, down     choose a member or a request",
    "Tab          from the members to the requests and back",
    "PgUp, PgDn   scroll the conversation, the log or the plan",
    "l            the log of the chosen member, or its conversation",
    "m            send the chosen member a message",
    "s            ask the chosen member to shut down",
    "r            restart the chosen member",
    "a            approve the chosen plan",
    "x            reject the chosen plan, with a reason",
    "?            these keys",
    "q            leave; the team goes on",
    "",
];

/// Where everything is.
struct Places {
    header: Rect,
    members: Rect,
    board: Rect,
    requests: Rect,
    flow: Rect,
    detail: Rect,
    footer: Rect,
}

impl Screen {
    /// Draws everything.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            let words = format!(
                "The terminal is too small: {}x{} at least",
                SMALLEST.0, SMALLEST.1
            );
            return frame.render_widget(Paragraph::new(words), area);
        }
        let places = self.places(area);
        frame.render_widget(Paragraph::new(self.header()), places.header);
        let members = self.member_lines(places.members);
        self.list(frame, places.members, "Members", members);
        let board = self.task_lines(places.board);
        self.list(frame, places.board, &self.board_title(), board);
        if places.requests.height > 0 {
            let requests = self.request_lines(places.requests);
            self.list(frame, places.requests, "Requests", requests);
        }
        let flow = self.flow_lines(places.flow);
        self.list(frame, places.flow, "What happens", flow);
        let (title, lines) = self.detail(places.detail);
        self.list(frame, places.detail, &title, lines);
        frame.render_widget(Paragraph::new(self.footer()), places.footer);
        if self.mode == Mode::Help {
            self.draw_help(frame, area);
        }
    }

    fn places(&self, area: Rect) -> Places {
        let count = u16::try_from(self.look.members.len()).unwrap_or(u16::MAX);
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
        let [left, flow] =
            Layout::horizontal([Constraint::Percentage(45), Constraint::Fill(1)]).areas(middle);
        let waiting = u16::try_from(self.look.requests.len()).unwrap_or(u16::MAX);
        let wanted = match waiting {
            0 => 0,
            waiting => waiting.saturating_add(2).min((left.height / 2).max(3)),
        };
        let [board, requests] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(wanted)]).areas(left);
        Places {
            header,
            members,
            board,
            requests,
            flow,
            detail,
            footer,
        }
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
        let block = Block::bordered().title(format!(" {title} "));
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn header(&self) -> Line<'_> {
        let lead = match self.look.lead {
            Some(word) => format!("lead {word}, {} unread", self.look.lead_unread),
            None => format!("no lead runs, {} unread", self.look.lead_unread),
        };
        let alive = self.look.members.iter().filter(|row| row.state.is_alive());
        let words = format!(
            "Team {}: {} of {} members run; {lead}",
            self.look.team,
            alive.count(),
            self.look.members.len()
        );
        Line::styled(words, Style::new().add_modifier(Modifier::BOLD))
    }

    fn footer(&self) -> Line<'_> {
        match &self.mode {
            Mode::Type { what, text } => {
                let what = match what {
                    Typed::Message(name) => format!("To {name}"),
                    Typed::Rejection(id) => format!("Why is {id} rejected"),
                };
                return Line::raw(format!("{what}: {}_", harmless(text)));
            }
            Mode::Confirm { question, .. } => {
                let style = self.colored(Color::Yellow);
                return Line::styled(format!("{question} y/n"), style);
            }
            Mode::Look | Mode::Help => {}
        }
        if let Some(notice) = &self.notice {
            let color = match notice.ok {
                true => Color::Green,
                false => Color::Red,
            };
            return Line::styled(harmless(&notice.words), self.colored(color));
        }
        if let Some(problem) = &self.look.problem {
            return Line::styled(problem.as_str(), self.colored(Color::Red));
        }
        let plan = self.asked().filter(|row| row.kind == RequestKind::Plan);
        Line::raw(match (self.focus, plan) {
            (Focus::Requests, Some(_)) => "a approve  x reject  Tab members  ? keys  q leave",
            (Focus::Requests, None) => "Tab members  ? keys  q leave",
            (Focus::Members, _) => return Line::raw(self.member_keys()),
        })
    }

    fn member_keys(&self) -> String {
        let other = match self.pane {
            Pane::Conversation => "l log",
            Pane::Log => "l conversation",
        };
        let requests = match self.look.requests.is_empty() {
            true => "",
            false => "  Tab requests",
        };
        format!("m message  s shut down  r restart  {other}{requests}  ? keys  q leave")
    }

    /// The lower pane: what is followed of the chosen member, or the text of the chosen request.
    fn detail(&self, area: Rect) -> (String, Vec<Line<'_>>) {
        let (width, height) = inside(area);
        if self.focus == Focus::Requests
            && let Some(row) = self.asked()
        {
            let title = match row.kind {
                RequestKind::Plan => format!("Plan of {} ({})", row.from, row.id),
                RequestKind::Shutdown => {
                    format!("{} asks {} to end ({})", row.from, row.to, row.id)
                }
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
        // Each line takes one on the screen at least, so that no more than these are shown.
        let lines = all.take(kept);
        let lines = lines.skip(kept.saturating_sub(height));
        let lines: Vec<String> = lines.flat_map(|l| wrap(l, width)).collect();
        let from = lines.len().saturating_sub(height);
        let shown = lines.into_iter().skip(from);
        (title, shown.map(Line::raw).collect())
    }

    fn flow_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let (width, height) = inside(area);
        let last = self.flow.iter();
        let last = last.skip(self.flow.len().saturating_sub(height));
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

/// What is left of an area within its border.
fn inside(area: Rect) -> (usize, usize) {
    let width = area.width.saturating_sub(2);
    let height = area.height.saturating_sub(2);
    (usize::from(width), usize::from(height))
}
