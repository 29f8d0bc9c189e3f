//! The conversation or the log of the selected member, or the text of the selected request.

use super::{Content, Screen, visible};
use crate::screen::Pane;
use crate::screen::scroll::Window;
use crate::text_line::{LineKind, TextLine};
use highlight::Token;
use overview::RequestRow;
use protocol::RequestKind;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use terminal_text::wrap;

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
        let rows = rows.map(|row| self.detail_line(row));
        Content {
            title,
            headings: None,
            rows: rows.collect(),
            window,
        }
    }

    /// All rows of the pane. A line of code that is broken has no parts any more.
    pub(in crate::screen) fn detail_rows(&self, width: usize) -> Vec<TextLine> {
        let row = |kind, text| TextLine {
            kind,
            text,
            pieces: Vec::new(),
        };
        match self.shown_request() {
            Some(request) => {
                let rows = request.text.iter().flat_map(|line| wrap(line, width));
                rows.map(|text| row(LineKind::Said, text)).collect()
            }
            None => {
                let lines = self.log.iter().chain(&self.running);
                let rows = lines.flat_map(|line| match wrap(&line.text, width) {
                    rows if rows.len() == 1 => vec![line.clone()],
                    rows => rows.into_iter().map(|text| row(line.kind, text)).collect(),
                });
                rows.collect()
            }
        }
    }

    fn detail_line(&self, row: TextLine) -> Line<'static> {
        if row.pieces.is_empty() {
            return Line::styled(row.text, self.line_style(row.kind));
        }
        let spans = row.pieces.into_iter();
        Line::from_iter(spans.map(|piece| Span::styled(piece.text, self.token_style(piece.token))))
    }

    fn token_style(&self, token: Token) -> Style {
        match token {
            Token::Plain => Style::new(),
            Token::Keyword => self.colored(Color::Magenta),
            Token::String => self.colored(Color::Green),
            Token::Comment => self.colored(Color::DarkGray),
            Token::Constant => self.colored(Color::Cyan),
            Token::Function => self.colored(Color::Blue),
            Token::Type => self.colored(Color::Yellow),
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

/// Who asks, and on which other host that is at home.
pub(super) fn author(row: &RequestRow) -> String {
    match &row.host {
        Some(host) => format!("{} on {host}", row.from),
        None => row.from.clone(),
    }
}

fn request_title(row: &RequestRow) -> String {
    let RequestRow { to, id, .. } = row;
    let from = author(row);
    let id = match row.is_sent {
        true => format!("{id}, sent, not yet recorded"),
        false => id.to_string(),
    };
    match row.kind {
        RequestKind::Plan => format!("Plan of {from} ({id})"),
        RequestKind::Shutdown => format!("{from} asks {to} to shut down ({id})"),
        RequestKind::Permission => format!("{from} asks to run ({id})"),
        RequestKind::Question => format!("{from} asks ({id})"),
    }
}
