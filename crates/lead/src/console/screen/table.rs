//! Tables that fit on the terminal: columns as wide as they need, and cells of several lines if they must.

use super::super::colour::Style;
use super::width::{Span, columns, wrap};

const GAP: &str = " │ ";
/// Cells are not broken into narrower lines than this.
const NARROWEST: usize = 6;

/// The rows of a table. The first one is its head.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Vec<Span>>>,
    row: Vec<Vec<Span>>,
}

impl Table {
    pub(crate) fn cell(&mut self, cell: Vec<Span>) {
        self.row.push(cell);
    }

    pub(crate) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The lines of the table in this many columns.
    pub(crate) fn lines(&self, width: usize) -> Vec<Vec<Span>> {
        let widths = self.widths(width);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(row_lines(row, &widths, number == 0));
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                lines.push(vec![Span::new(Style::Dim, rule.join("─┼─"))]);
            }
        }
        lines
    }

    /// What each column needs; the widest ones give way until all of them fit.
    fn widths(&self, width: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let needed = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell_width(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..count).map(needed).collect();
        let gaps = columns(GAP) * count.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > width {
            match widths.iter_mut().max() {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                Some(_) | None => break,
            }
        }
        widths
    }
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(|span| columns(&span.text)).sum()
}

fn row_lines(row: &[Vec<Span>], widths: &[usize], is_head: bool) -> Vec<Vec<Span>> {
    let cells: Vec<Vec<Vec<Span>>> = widths
        .iter()
        .enumerate()
        .map(|(column, wide)| wrap(row.get(column).map_or(&[][..], Vec::as_slice), *wide))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut spans = Vec::new();
        for (column, (cell, wide)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(Span::new(Style::Dim, GAP));
            }
            let part = cell.get(number).cloned().unwrap_or_default();
            let missing = wide.saturating_sub(cell_width(&part));
            spans.extend(part.into_iter().map(|span| match (is_head, span.style) {
                (true, Style::Plain) => Span::new(Style::Bold, span.text),
                _ => span,
            }));
            spans.push(Span::plain(" ".repeat(missing)));
        }
        spans
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::colour::Colour;
    use super::super::markdown::render;

    const TABLE: &str =
        "| name | what it does |\n|---|---|\n| a | reads `files` and more |\n| 愛 | x |\n";

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            render(TABLE, 60, Colour::Off),
            [
                "name │ what it does        ",
                "─────┼─────────────────────",
                "a    │ reads files and more",
                "愛   │ x                   ",
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_breaks_the_widest_cells() {
        let lines = render(TABLE, 20, Colour::Off);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 20),
            "{lines:?}"
        );
        assert!(lines.iter().any(|line| line.contains("more")), "{lines:?}");
    }
}
