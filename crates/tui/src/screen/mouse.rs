//! The mouse, if it is used: a click selects, the wheel scrolls.

use super::{Effect, Focus, Mode, Screen};
use ratatui::layout::Position;

/// The number of rows of one step of the wheel.
const WHEEL: isize = 3;

/// What the mouse did, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseInput {
    Click { column: u16, row: u16 },
    WheelUp { column: u16, row: u16 },
    WheelDown { column: u16, row: u16 },
}

impl Screen {
    pub(super) fn point(&mut self, mouse: MouseInput) -> Vec<Effect> {
        match &self.mode {
            Mode::Command => {}
            Mode::Help => {
                self.mode = Mode::Command;
                return Vec::new();
            }
            // Text that is typed, or a question, waits for keys.
            Mode::Type { .. } | Mode::Confirm { .. } => return Vec::new(),
        }
        match mouse {
            MouseInput::Click { column, row } => match self.pane_at(column, row) {
                Some(pane) => self.click(pane, row),
                None => Vec::new(),
            },
            MouseInput::WheelUp { column, row } => self.turn(column, row, -1),
            MouseInput::WheelDown { column, row } => self.turn(column, row, 1),
        }
    }

    fn pane_at(&self, column: u16, row: u16) -> Option<Focus> {
        let areas = self.areas(self.size);
        let place = Position::new(column, row);
        let mut panes = Focus::ALL.into_iter();
        panes.find(|pane| areas.of(*pane).contains(place))
    }

    fn turn(&mut self, column: u16, row: u16, by: isize) -> Vec<Effect> {
        match self.pane_at(column, row) {
            Some(pane @ (Focus::Members | Focus::Requests)) => {
                self.set_focus(pane);
                self.gone_request = None;
                self.step(by)
            }
            Some(pane) => {
                self.scroll_rows(pane, by * WHEEL);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn click(&mut self, pane: Focus, row: u16) -> Vec<Effect> {
        let areas = self.areas(self.size);
        let first = areas.of(pane).y + areas.rows_above(pane);
        let (_, height) = areas.content(pane);
        self.set_focus(pane);
        self.gone_request = None;
        let Some(row) = row.checked_sub(first).map(usize::from) else {
            return Vec::new();
        };
        match pane {
            Focus::Members => {
                let at = self.members_window(height).above + row;
                let clicked = self.snapshot.members.get(at);
                match clicked.map(|row| row.name.clone()) {
                    Some(name) => self.select_member(Some(name)),
                    None => Vec::new(),
                }
            }
            Focus::Requests => {
                let at = self.requests_window(height).above + row;
                if let Some(row) = self.snapshot.requests.get(at) {
                    self.request = Some(row.id.clone());
                    self.scroll.detail = 0;
                }
                Vec::new()
            }
            Focus::Board | Focus::Events | Focus::Detail => Vec::new(),
        }
    }
}
