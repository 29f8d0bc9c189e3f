//! The first and the last line: the team, and the keys.

use super::Screen;
use super::members::{cost, token_text};
use crate::one_line;
use crate::screen::keys::GO_ON;
use crate::screen::{Focus, Mode, Pane, Purpose};
use overview::Snapshot;
use protocol::RequestKind;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use terminal_text::{fit_name, width};

/// Between the parts of the first line.
const DOT: &str = " · ";
/// The least width of the folder's path.
const LEAST_FOLDER: usize = 13;
/// The number of parts that are more important than the folder.
const BEFORE_FOLDER: usize = 2;

impl Screen {
    /// The team, the most important first; what does not fit is left out. The folder is shown wherever
    /// possible, so that people see which team this is.
    pub(super) fn header(&self, cells: usize) -> Line<'static> {
        let snapshot = &self.snapshot;
        let alive = snapshot.members.iter().filter(|row| row.state.is_alive());
        let running = format!("{} of {} running", alive.count(), snapshot.members.len());
        let waiting = snapshot.requests.iter();
        let waiting = waiting.filter(|row| row.kind.waits_for_person()).count();
        let waiting = match waiting {
            0 => String::new(),
            1 => "1 waits for you".to_owned(),
            waiting => format!("{waiting} wait for you"),
        };
        let tokens = match token_text(&snapshot.spent) {
            text if text.is_empty() => text,
            text => format!("{text} tokens"),
        };
        let lead = lead_text(snapshot);
        let queued = snapshot.waiting_hosts.iter();
        let queued = queued.map(|view| format!("{} queued for {}", view.queued, view.host));
        let unread = match snapshot.lead_unread {
            0 => String::new(),
            unread => format!("{unread} unread for the lead"),
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let spent = self.spending_style(&snapshot.spent);
        let parts = [
            (format!("Team {}", snapshot.team), bold),
            (running, Style::new()),
            (waiting, self.colored(Color::Yellow).patch(bold)),
            (
                queued.collect::<Vec<_>>().join(", "),
                self.colored(Color::Yellow),
            ),
            (cost(&snapshot.spent), spent),
            (tokens, spent),
            (lead, Style::new()),
            (unread, Style::new()),
        ];
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut left = cells;
        let parts = parts.into_iter().filter(|(text, _)| !text.is_empty());
        for (at, (text, style)) in parts.enumerate() {
            let gap = if spans.is_empty() { "" } else { DOT };
            let wide = width(gap) + width(&text);
            let folder = match at < BEFORE_FOLDER {
                true => 0,
                false => LEAST_FOLDER + width(DOT),
            };
            if wide + folder <= left {
                left -= wide;
                spans.push(Span::raw(gap));
                spans.push(Span::styled(text, style));
            }
        }
        if left >= LEAST_FOLDER + width(DOT) && !snapshot.folder.is_empty() {
            let folder = fit_name(&snapshot.folder, left - width(DOT));
            spans.push(Span::raw(DOT));
            spans.push(Span::raw(folder));
        }
        Line::from(spans)
    }

    pub(super) fn footer(&self, cells: usize) -> Line<'static> {
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
                let style = self.colored(Color::Yellow).add_modifier(Modifier::BOLD);
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
            return Line::styled(problem.clone(), self.colored(Color::Red));
        }
        Line::raw(keys_line(&self.keys(), cells))
    }

    /// The keys that mean something now, the most important first.
    fn keys(&self) -> Vec<&'static str> {
        if self.is_answering() && self.gone_request.is_some() {
            return vec![GO_ON];
        }
        if self.is_answering() {
            return match self.selected_request().map(|row| row.kind) {
                Some(RequestKind::Plan) => vec!["y yes", "n no, with a reason"],
                Some(RequestKind::Permission) => vec![
                    "y yes, once",
                    "m for the member",
                    "t for the team",
                    "n no, with a reason",
                ],
                Some(RequestKind::Question) => {
                    vec!["1-9 choose", "r reply", "n no, with a reason"]
                }
                Some(RequestKind::Shutdown) | None => Vec::new(),
            };
        }
        let mut keys = Vec::new();
        if !self.snapshot.requests.is_empty() {
            keys.push("y n answer");
        }
        match self.focus {
            Focus::Members | Focus::Requests => keys.extend([
                "m message",
                "s shut down",
                "r restart",
                match self.pane {
                    Pane::Conversation => "l log",
                    Pane::Log => "l conversation",
                },
            ]),
            Focus::Board | Focus::Events | Focus::Detail => {
                keys.extend(["up down PgUp PgDn scroll", "End newest"]);
            }
        }
        keys
    }
}

/// As many keys as fit, and always those that lead on.
fn keys_line(keys: &[&str], cells: usize) -> String {
    const ALWAYS: &str = "Tab pane  ? keys  q quit";
    let mut line = String::new();
    for key in keys {
        if width(&line) + width(key) + 2 + width(ALWAYS) <= cells {
            line.push_str(key);
            line.push_str("  ");
        }
    }
    line.push_str(ALWAYS);
    line
}

/// Where the lead is, and what it does.
fn lead_text(snapshot: &Snapshot) -> String {
    match (&snapshot.lead_host, snapshot.lead) {
        (Some(host), _) => format!("lead on {host}"),
        (None, Some(word)) => format!("lead {word}"),
        (None, None) => "no lead".to_owned(),
    }
}
