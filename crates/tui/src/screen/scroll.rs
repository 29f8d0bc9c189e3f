//! How far the panes are scrolled.

use super::draw::wrap;
use super::{Focus, Screen};
use crate::text_line::TextLine;

/// How many rows each pane is away from where it starts. The board and the text of a request start at
/// their first row, events and conversations at their last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scroll {
    pub(super) board: usize,
    pub(super) events: usize,
    pub(super) detail: usize,
}

/// The rows of a pane that are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// The number of rows above.
    pub(super) above: usize,
    /// The number of visible rows.
    pub(super) rows: usize,
    /// The number of rows below.
    pub(super) below: usize,
}

impl Window {
    /// The rows from `from` on.
    pub(super) fn from_start(all: usize, height: usize, from: usize) -> Self {
        let above = from.min(all.saturating_sub(height));
        let rows = height.min(all);
        Self {
            above,
            rows,
            below: all - above - rows,
        }
    }

    /// The last rows, except for so many.
    pub(super) fn from_end(all: usize, height: usize, back: usize) -> Self {
        let window = Self::from_start(all, height, back);
        Self {
            above: window.below,
            rows: window.rows,
            below: window.above,
        }
    }
}

impl Screen {
    /// Scrolls a pane down by so many rows, or up. Lists with a selection move that instead.
    pub(super) fn scroll_rows(&mut self, pane: Focus, down: isize) {
        let (all, height) = self.extent(pane);
        let most = all.saturating_sub(height);
        let is_from_end = self.starts_at_end(pane);
        let Some(offset) = self.offset(pane) else {
            return;
        };
        let by = if is_from_end { -down } else { down };
        // The pane may have become smaller since it was scrolled.
        *offset = (*offset).min(most).saturating_add_signed(by).min(most);
    }

    /// Scrolls to the first or the last row.
    pub(super) fn scroll_to_end(&mut self, pane: Focus, is_last: bool) {
        let rows = isize::try_from(self.extent(pane).0).unwrap_or(isize::MAX);
        self.scroll_rows(pane, if is_last { rows } else { -rows });
    }

    /// The number of rows of a page of a pane.
    pub(super) fn page(&self, pane: Focus) -> isize {
        let (_, height) = self.extent(pane);
        isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// The pane that the page keys scroll.
    pub(super) const fn scrolled_pane(&self) -> Focus {
        match self.focus {
            // Their rows are selected one by one; a page of the selected one is read below.
            Focus::Members | Focus::Requests => Focus::Detail,
            other => other,
        }
    }

    fn starts_at_end(&self, pane: Focus) -> bool {
        pane == Focus::Events || (pane == Focus::Detail && !self.shows_request)
    }

    const fn offset(&mut self, pane: Focus) -> Option<&mut usize> {
        match pane {
            Focus::Board => Some(&mut self.scroll.board),
            Focus::Events => Some(&mut self.scroll.events),
            Focus::Detail => Some(&mut self.scroll.detail),
            Focus::Members | Focus::Requests => None,
        }
    }

    /// The number of all rows of a pane, and of those that fit.
    fn extent(&self, pane: Focus) -> (usize, usize) {
        let (width, height) = self.areas(self.size).content(pane);
        let all = match pane {
            Focus::Members => self.snapshot.members.len(),
            Focus::Requests => self.snapshot.requests.len(),
            Focus::Board => self.snapshot.tasks.len(),
            Focus::Events => self.event_rows(width).len(),
            Focus::Detail => self.detail_rows(width).len(),
        };
        (all, height)
    }

    /// A scrolled pane keeps showing the same rows when others come.
    pub(super) fn scroll_events(&mut self, lines: &[String]) {
        if self.scroll.events > 0 {
            let (width, _) = self.areas(self.size).content(Focus::Events);
            let rows = lines.iter().map(|line| wrap(line, width).len());
            self.scroll.events += rows.sum::<usize>();
        }
    }

    /// The same for the conversation or the log.
    pub(super) fn scroll_lines(&mut self, lines: &[TextLine]) {
        if self.scroll.detail > 0 && !self.shows_request {
            let (width, _) = self.areas(self.size).content(Focus::Detail);
            let rows = lines.iter().map(|line| wrap(&line.text, width).len());
            self.scroll.detail += rows.sum::<usize>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_never_leaves_what_there_is() {
        let window = |above, rows, below| Window { above, rows, below };
        assert_eq!(Window::from_start(10, 4, 0), window(0, 4, 6));
        assert_eq!(Window::from_start(10, 4, 3), window(3, 4, 3));
        assert_eq!(Window::from_start(10, 4, 99), window(6, 4, 0));
        assert_eq!(Window::from_start(2, 4, 1), window(0, 2, 0));
        assert_eq!(Window::from_end(10, 4, 0), window(6, 4, 0));
        assert_eq!(Window::from_end(10, 4, 1), window(5, 4, 1));
        assert_eq!(Window::from_end(0, 4, 7), window(0, 0, 0));
    }
}
