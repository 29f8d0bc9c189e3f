//! Tables whose columns use the width that there is.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use terminal_text::{fit, fit_name, fit_right, width};

/// The cells between two columns.
const GAP: usize = 2;
/// No column is wider than this, so that the columns after it stay near.
const WIDEST: usize = 100;

/// How a column gets its width and shows a text that is longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// As wide as its longest text, but no wider than this; texts are cut at their end.
    Text(usize),
    /// As wide as its longest name. Names are shortened in their middle where they would take more than a
    /// fifth of the width and others need the room.
    Name,
    /// The same for numbers, which stand at the right.
    Number(usize),
    /// What the others leave, up to [`WIDEST`].
    Rest,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) fit: Fit,
    /// Columns with higher numbers are left out first where there is no room; those with 0 never are.
    pub(super) rank: u8,
}

/// A row: a text and its style for each column.
pub(super) type Cells = Vec<(String, Style)>;

/// A column that is shown.
#[derive(Debug)]
struct Shown {
    /// Its place among all columns.
    at: usize,
    column: Column,
    width: usize,
    /// The width of its longest text.
    longest: usize,
}

/// A table that fits into a width.
#[derive(Debug)]
pub(super) struct Table {
    shown: Vec<Shown>,
}

impl Table {
    /// Chooses the columns. One without any text is left out.
    pub(super) fn new(columns: &[Column], rows: &[Cells], cells: usize, least_rest: usize) -> Self {
        let all = columns.iter().enumerate().map(|(at, column)| {
            let texts = rows.iter().filter_map(|row| row.get(at));
            let longest = texts.map(|(text, _)| width(text)).max().unwrap_or(0);
            let width = match column.fit {
                Fit::Rest => least_rest,
                Fit::Name => longest.min(cells / 5).max(width(column.heading)),
                Fit::Text(most) | Fit::Number(most) => longest.min(most).max(width(column.heading)),
            };
            Shown {
                at,
                column: *column,
                width,
                longest,
            }
        });
        let has_text = |shown: &Shown| shown.longest > 0 || shown.column.fit == Fit::Rest;
        let mut shown: Vec<Shown> = all.filter(has_text).collect();
        while total(&shown) > cells {
            let ranks = shown.iter().map(|shown| shown.column.rank);
            let Some(rank) = ranks.max().filter(|rank| *rank > 0) else {
                break;
            };
            shown.retain(|shown| shown.column.rank != rank);
        }
        spread(&mut shown, cells);
        Self { shown }
    }

    pub(super) fn headings(&self) -> Line<'static> {
        let cells = self.shown.iter().map(|shown| {
            let column = shown.column;
            Span::raw(padded(column.fit, column.heading, shown.width))
        });
        let style = Style::new().add_modifier(Modifier::DIM);
        joined(cells).style(style)
    }

    pub(super) fn row(&self, row: &Cells) -> Line<'static> {
        let cells = self.shown.iter().map(|shown| {
            let (text, style) = row.get(shown.at).cloned().unwrap_or_default();
            Span::styled(padded(shown.column.fit, &text, shown.width), style)
        });
        joined(cells)
    }
}

/// Gives what is left of the width to the column for it. What that does not need is first for names that are
/// longer than a fifth of the width.
fn spread(shown: &mut [Shown], cells: usize) {
    let missing = total(shown).saturating_sub(cells);
    let needed = shown
        .iter()
        .filter(|shown| shown.column.fit == Fit::Rest)
        .map(|rest| rest.longest.min(WIDEST).saturating_sub(rest.width));
    let mut left = cells.saturating_sub(total(shown) + needed.sum::<usize>());
    let is_name = |shown: &&mut Shown| shown.column.fit == Fit::Name;
    for name in shown.iter_mut().filter(is_name) {
        let more = name.longest.saturating_sub(name.width).min(left);
        name.width += more;
        left -= more;
    }
    let left = cells.saturating_sub(total(shown));
    let is_rest = |shown: &&mut Shown| shown.column.fit == Fit::Rest;
    for rest in shown.iter_mut().filter(is_rest) {
        rest.width = (rest.width + left).saturating_sub(missing).min(WIDEST);
    }
}

fn total(shown: &[Shown]) -> usize {
    let widths = shown.iter().map(|shown| shown.width);
    widths.sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

fn padded(how: Fit, text: &str, cells: usize) -> String {
    match how {
        Fit::Text(_) | Fit::Rest => fit(text, cells),
        Fit::Name => fit_name(text, cells),
        Fit::Number(_) => fit_right(text, cells),
    }
}

fn joined(cells: impl Iterator<Item = Span<'static>>) -> Line<'static> {
    let mut spans = Vec::new();
    for cell in cells {
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        spans.push(cell);
    }
    Line::from(spans)
}
