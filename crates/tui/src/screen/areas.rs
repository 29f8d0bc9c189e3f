//! Where the panes stand, by the size of the terminal and what there is to show.

use super::{Focus, Screen};
use ratatui::layout::{Constraint, Layout, Rect};

/// The smallest terminal on which the view is drawn.
pub(super) const MIN_SIZE: (u16, u16) = (40, 10);
/// From this width on the conversation stands beside the board and the events.
const WIDE: u16 = 140;
/// From this width on the board and the events stand beside each other.
const MEDIUM: u16 = 70;
/// From this height on lists have headings for their columns.
const TALL: u16 = 20;
/// The smallest height that is left for the board, the events and the conversation together.
const MIN_REST: u16 = 9;

/// The areas of the screen. One without height is not shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Areas {
    pub(super) header: Rect,
    pub(super) requests: Rect,
    pub(super) members: Rect,
    pub(super) board: Rect,
    pub(super) events: Rect,
    pub(super) detail: Rect,
    pub(super) footer: Rect,
    /// Whether lists have headings for their columns.
    pub(super) has_headings: bool,
}

impl Areas {
    pub(super) const fn of(&self, pane: Focus) -> Rect {
        match pane {
            Focus::Requests => self.requests,
            Focus::Members => self.members,
            Focus::Board => self.board,
            Focus::Events => self.events,
            Focus::Detail => self.detail,
        }
    }

    /// The number of rows for the content of a pane, and their width.
    pub(super) fn content(&self, pane: Focus) -> (usize, usize) {
        let area = self.of(pane);
        let rows = area.height.saturating_sub(self.rows_above(pane));
        (usize::from(area.width), usize::from(rows))
    }

    /// The number of rows above the content: the title, and the headings of columns.
    pub(super) fn rows_above(&self, pane: Focus) -> u16 {
        1 + u16::from(self.has_headings && pane.has_columns())
    }
}

impl Screen {
    /// What waits for a person comes first, then the members; the rest is for the board, the events and the
    /// conversation. On a small terminal these share one place, in which the one with the focus is shown.
    pub(super) fn areas(&self, area: Rect) -> Areas {
        let has_headings = area.height >= TALL;
        let above = 1 + u16::from(has_headings);
        let body = area.height.saturating_sub(2);
        let rows = |count: usize, most: u16| {
            let count = u16::try_from(count).unwrap_or(u16::MAX);
            count.clamp(1, most.max(1)).saturating_add(above)
        };
        let requests = match self.snapshot.requests.len() {
            0 => 0,
            count => rows(count, body / 6),
        };
        let members = rows(
            self.snapshot.members.len(),
            (body / 3).saturating_sub(above),
        );
        let [header, requests, members, rest, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(requests),
            Constraint::Length(members),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let areas = Areas {
            header,
            requests,
            members,
            footer,
            has_headings,
            ..Areas::default()
        };
        self.rest(areas, rest, above)
    }

    fn rest(&self, areas: Areas, rest: Rect, above: u16) -> Areas {
        if rest.width < MEDIUM || rest.height < MIN_REST {
            let mut areas = areas;
            match self.focus {
                Focus::Board => areas.board = rest,
                Focus::Events => areas.events = rest,
                Focus::Members | Focus::Requests | Focus::Detail => areas.detail = rest,
            }
            return areas;
        }
        if rest.width < WIDE {
            let [lists, detail] =
                Layout::vertical([Constraint::Fill(2), Constraint::Fill(3)]).areas(rest);
            let columns = [Constraint::Fill(4), Constraint::Fill(5)];
            let [board, events] = Layout::horizontal(columns).spacing(1).areas(lists);
            return Areas {
                board,
                events,
                detail,
                ..areas
            };
        }
        let columns = [Constraint::Fill(2), Constraint::Fill(3)];
        let [lists, detail] = Layout::horizontal(columns).spacing(1).areas(rest);
        let tasks = u16::try_from(self.snapshot.tasks.len()).unwrap_or(u16::MAX);
        let board = tasks.max(1).saturating_add(above).min(lists.height / 2);
        let [board, events] =
            Layout::vertical([Constraint::Length(board), Constraint::Fill(1)]).areas(lists);
        Areas {
            board,
            events,
            detail,
            ..areas
        }
    }
}
