//! The requests, the board and the events.

use super::detail::author;
use super::table::{Cells, Column, Fit, Table};
use super::{Content, Screen, selected, visible};
use crate::screen::Focus;
use crate::screen::clock::{clock, elapsed};
use crate::screen::scroll::Window;
use overview::{RequestRow, TaskRow};
use protocol::{RequestKind, TaskStatus};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use terminal_text::wrap;

/// The least width of a subject.
const LEAST_SUBJECT: usize = 12;

const REQUEST_COLUMNS: [Column; 5] = [
    column("  ID", Fit::Text(12), 0),
    column("KIND", Fit::Text(10), 1),
    column("FROM", Fit::Name, 0),
    column("FOR", Fit::Number(12), 2),
    column("WHAT", Fit::Rest, 0),
];

const BOARD_COLUMNS: [Column; 3] = [
    column("TASK", Fit::Text(10), 0),
    column("OWNER", Fit::Name, 1),
    column("SUBJECT", Fit::Rest, 0),
];

const fn column(heading: &'static str, fit: Fit, rank: u8) -> Column {
    Column { heading, fit, rank }
}

impl Screen {
    pub(super) fn requests(&self, width: usize, height: usize) -> Content {
        let rows = &self.snapshot.requests;
        let waiting = rows.iter().filter(|row| row.kind.waits_for_person());
        let title = match waiting.count() {
            0 => "Requests".to_owned(),
            1 => "Requests: 1 waits for you".to_owned(),
            waiting => format!("Requests: {waiting} wait for you"),
        };
        let cells: Vec<Cells> = rows.iter().map(|row| self.request_cells(row)).collect();
        let table = Table::new(&REQUEST_COLUMNS, &cells, width, LEAST_SUBJECT);
        let lines = rows
            .iter()
            .zip(&cells)
            .map(|(row, cells)| selected(table.row(cells), self.is_selected_request(row)));
        let window = self.requests_window(height);
        Content {
            title,
            headings: Some(table.headings()),
            rows: visible(lines, window).collect(),
            window,
        }
    }

    pub(in crate::screen) fn requests_window(&self, height: usize) -> Window {
        let rows = &self.snapshot.requests;
        let mut places = rows.iter();
        let selected = places.position(|row| Some(&row.id) == self.request.as_ref());
        let from = selected.map_or(0, |at| (at + 1).saturating_sub(height));
        Window::from_start(rows.len(), height, from)
    }

    fn is_selected_request(&self, row: &RequestRow) -> bool {
        self.focus == Focus::Requests && Some(&row.id) == self.request.as_ref()
    }

    fn request_cells(&self, row: &RequestRow) -> Cells {
        let mark = if self.is_selected_request(row) {
            "> "
        } else {
            "  "
        };
        let from = author(row);
        let (kind, who) = match row.kind {
            RequestKind::Plan => ("plan", from),
            RequestKind::Permission => ("permission", from),
            RequestKind::Question => ("question", from),
            RequestKind::Shutdown => ("shutdown", format!("to {}", row.to)),
        };
        let time = match row.deadline {
            _ if row.is_sent => "sent".to_owned(),
            Some(deadline) => format!("{} left", clock(elapsed(self.now, deadline))),
            None => clock(elapsed(row.created_at, self.now)),
        };
        let style = match row.kind.waits_for_person() {
            true => self.colored(Color::Yellow).add_modifier(Modifier::BOLD),
            false => Style::new(),
        };
        let texts = [
            format!("{mark}{}", row.id),
            kind.to_owned(),
            who,
            time,
            row.summary.clone(),
        ];
        texts.into_iter().map(|text| (text, style)).collect()
    }

    /// The tasks: those in progress first, then the pending and the completed ones.
    pub(super) fn board(&self, width: usize, height: usize) -> Content {
        let tasks = &self.snapshot.tasks;
        let done = tasks
            .iter()
            .filter(|row| row.status == TaskStatus::Completed);
        let title = match (done.count(), tasks.len()) {
            (_, 0) => "Board".to_owned(),
            (done, all) => format!("Board: {done} of {all} done"),
        };
        let mut rows: Vec<&TaskRow> = tasks.iter().collect();
        rows.sort_by_key(|row| match row.status {
            TaskStatus::InProgress => 0,
            TaskStatus::Pending => 1,
            TaskStatus::Completed => 2,
        });
        let cells: Vec<Cells> = rows.iter().map(|row| self.task_cells(row)).collect();
        let table = Table::new(&BOARD_COLUMNS, &cells, width, LEAST_SUBJECT);
        let window = Window::from_start(rows.len(), height, self.scroll.board);
        let lines = cells.iter().map(|cells| table.row(cells));
        let headings = match rows.is_empty() {
            true => Line::raw("no tasks"),
            false => table.headings(),
        };
        Content {
            title,
            headings: Some(headings),
            rows: visible(lines, window).collect(),
            window,
        }
    }

    fn task_cells(&self, row: &TaskRow) -> Cells {
        let (mark, style) = match row.status {
            TaskStatus::Completed => ('x', Style::new().add_modifier(Modifier::DIM)),
            TaskStatus::InProgress => ('>', self.colored(Color::Green)),
            TaskStatus::Pending if row.blocked => ('-', Style::new()),
            TaskStatus::Pending => (' ', Style::new()),
        };
        vec![
            (format!("[{mark}] #{}", row.id), style),
            (row.owner.clone().unwrap_or_default(), style),
            (row.subject.clone(), style),
        ]
    }

    pub(super) fn events(&self, width: usize, height: usize) -> Content {
        let rows = self.event_rows(width);
        let window = Window::from_end(rows.len(), height, self.scroll.events);
        Content {
            title: "Events".to_owned(),
            headings: None,
            rows: visible(rows, window).map(Line::raw).collect(),
            window,
        }
    }

    pub(in crate::screen) fn event_rows(&self, width: usize) -> Vec<String> {
        self.events
            .iter()
            .flat_map(|line| wrap(line, width))
            .collect()
    }
}
