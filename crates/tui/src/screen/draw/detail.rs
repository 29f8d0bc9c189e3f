//! The conversation or the log of the selected member, or the text of the selected request.

use super::text::wrap;
use super::{Content, Screen, visible};
use crate::screen::Pane;
use crate::screen::scroll::Window;
use crate::snapshot::RequestRow;
use crate::text_line::LineKind;
use protocol::RequestKind;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

impl Screen {
    pub(super) fn detail(&self, width: usize, height: usize) -> Content {
        let rows = self.detail_rows(width);
        let (title, window) = match self.shown_request() {
            Some(row) => {
                let window = Window::from_start(rows.len(), height, self.scroll.detail);
                (request_title(row), window)
            }
            None => {
                let window = Window::from_end(rows.len(), height, self.scroll.detail);
                (self.member_title(), window)
            }
        };
        let rows = visible(rows, window);
        let rows = rows.map(|(kind, text)| Line::styled(text, self.line_style(kind)));
        Content {
            title,
            headings: None,
            rows: rows.collect(),
            window,
        }
    }

    /// All rows of the pane.
    pub(in crate::screen) fn detail_rows(&self, width: usize) -> Vec<(LineKind, String)> {
        let wrapped = |kind, text: &str| wrap(text, width).into_iter().map(move |row| (kind, row));
        match self.shown_request() {
            Some(row) => {
                let lines = row.text.iter();
                lines
                    .flat_map(|line| wrapped(LineKind::Said, line))
                    .collect()
            }
            None => {
                let lines = self.log.iter().chain(&self.running);
                lines
                    .flat_map(|line| wrapped(line.kind, &line.text))
                    .collect()
            }
        }
    }

    fn shown_request(&self) -> Option<&RequestRow> {
        self.selected_request().filter(|_| self.shows_request)
    }

    fn member_title(&self) -> String {
        let what = match self.pane {
            Pane::Conversation => "Conversation",
            Pane::Log => "Log",
        };
        match &self.member {
            Some(name) => format!("{what} of {name}"),
            None => what.to_owned(),
        }
    }

    fn line_style(&self, kind: LineKind) -> Style {
        match kind {
            LineKind::Said => Style::new(),
            LineKind::Told => self.colored(Color::Cyan),
            LineKind::Call => Style::new().add_modifier(Modifier::BOLD),
            LineKind::Output => Style::new().add_modifier(Modifier::DIM),
            LineKind::Failure | LineKind::Removed => self.colored(Color::Red),
            LineKind::Added => self.colored(Color::Green),
            LineKind::Note => self.colored(Color::Yellow),
        }
    }
}

fn request_title(row: &RequestRow) -> String {
    let RequestRow { from, to, id, .. } = row;
    match row.kind {
        RequestKind::Plan => format!("Plan of {from} ({id})"),
        RequestKind::Shutdown => format!("{from} asks {to} to shut down ({id})"),
        RequestKind::Permission => format!("{from} asks to run ({id})"),
        RequestKind::Question => format!("{from} asks ({id})"),
    }
}
