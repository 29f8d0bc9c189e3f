//! Tables whose columns use the width that there is.

use super::text::{fit, fit_name, fit_right, width};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// The cells between two columns.
const GAP: usize = 2;
/// No column is wider than this, so that the columns after it stay near.
const WIDEST: usize = 100;

/// How a column gets its width and shows a text that is longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// As wide as its longest text, but no wider than this; texts are cut at their end.
    Text(usize),
    /// The same for names, which are shortened in their middle, and to a fifth of the width.
    Name(usize),
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

/// A table that fits into a width.
#[derive(Debug)]
pub(super) struct Table {
    /// The columns that are shown: their place among all, and their width.
    shown: Vec<(usize, Column, usize)>,
}

impl Table {
    /// Chooses the columns. One without any text is left out.
    pub(super) fn new(columns: &[Column], rows: &[Cells], cells: usize, least_rest: usize) -> Self {
        let mut shown: Vec<(usize, Column, usize)> = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let texts = rows.iter().filter_map(|row| row.get(at));
            let longest = texts.map(|(text, _)| width(text)).max().unwrap_or(0);
            let wide = match column.fit {
                Fit::Rest => least_rest,
                Fit::Name(most) => {
                    let most = most.min(cells / 5);
                    longest.min(most).max(width(column.heading))
                }
                Fit::Text(most) | Fit::Number(most) => longest.min(most).max(width(column.heading)),
            };
            if longest > 0 || column.fit == Fit::Rest {
                shown.push((at, *column, wide));
            }
        }
        while total(&shown) > cells {
            let ranks = shown.iter().map(|(_, column, _)| column.rank);
            let Some(rank) = ranks.max().filter(|rank| *rank > 0) else {
                break;
            };
            shown.retain(|(_, column, _)| column.rank != rank);
        }
        let left = cells.saturating_sub(total(&shown));
        let missing = total(&shown).saturating_sub(cells);
        for (_, column, wide) in &mut shown {
            if column.fit == Fit::Rest {
                *wide = (*wide + left).saturating_sub(missing).min(WIDEST);
            }
        }
        Self { shown }
    }

    pub(super) fn headings(&self) -> Line<'static> {
        let cells = self.shown.iter().map(|(_, column, wide)| {
            let text = padded(column.fit, column.heading, *wide);
            Span::raw(text)
        });
        let style = Style::new().add_modifier(Modifier::DIM);
        joined(cells).style(style)
    }

    pub(super) fn row(&self, row: &Cells) -> Line<'static> {
        let cells = self.shown.iter().map(|(at, column, wide)| {
            let (text, style) = row.get(*at).cloned().unwrap_or_default();
            Span::styled(padded(column.fit, &text, *wide), style)
        });
        joined(cells)
    }
}

fn total(shown: &[(usize, Column, usize)]) -> usize {
    let widths = shown.iter().map(|(_, _, wide)| wide);
    widths.sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

fn padded(how: Fit, text: &str, cells: usize) -> String {
    match how {
        Fit::Text(_) | Fit::Rest => fit(text, cells),
        Fit::Name(_) => fit_name(text, cells),
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
