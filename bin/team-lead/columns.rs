//! Tables and long lines for a terminal of a given width.

use crate::colour::Colour;
use clap::builder::styling::Style;
use terminal_text::{fit_name, fit_right, width, wrap_beside};

const BETWEEN: &str = "  ";

/// A column is not made narrower than this, and the last one is left out before that.
const MIN_WIDTH: usize = 8;

/// How the cells of a column fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// To the left. Where there is no room, its middle is left out: names often differ at their ends.
    Text,
    /// To the right, and never shortened.
    Number,
    /// The last column, which is left out where there is no room for it.
    Details,
}

pub(crate) struct Column {
    pub(crate) heading: &'static str,
    pub(crate) fit: Fit,
}

/// A text on one line, and how it looks.
#[derive(Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::new())
    }

    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        Self { text, style }
    }
}

/// A heading and a line for each row, none of which is wider than `limit` as long as the numbers leave room
/// for the names. A column without any text is left out.
pub(crate) fn table<const N: usize>(
    columns: &[Column; N],
    rows: &[[Cell; N]],
    limit: usize,
    colour: Colour,
) -> Vec<String> {
    let widths = widths(columns, rows, limit);
    let bold = Style::new().bold();
    let headings = columns.each_ref().map(|column| match column.fit {
        Fit::Details => Cell::default(),
        Fit::Text | Fit::Number => Cell::new(column.heading, bold),
    });
    let all = std::iter::once(&headings).chain(rows);
    all.map(|cells| line(columns, cells, &widths, colour))
        .collect()
}

/// The cells of a row. Each is padded before it is painted, and the last one is not padded.
fn line<const N: usize>(
    columns: &[Column; N],
    cells: &[Cell; N],
    widths: &[usize],
    colour: Colour,
) -> String {
    let shown = columns.iter().zip(cells).zip(widths);
    let shown: Vec<_> = shown.filter(|(_, width)| **width > 0).collect();
    let last = shown
        .iter()
        .rposition(|((_, cell), _)| !cell.text.is_empty());
    let shown = shown.iter().take(last.map_or(0, |last| last + 1));
    let padded = shown.enumerate().map(|(at, ((column, cell), width))| {
        let text = match column.fit {
            Fit::Number => fit_right(&cell.text, **width),
            Fit::Text | Fit::Details => fit_name(&cell.text, **width),
        };
        let text = match Some(at) == last {
            true => text.trim_end(),
            false => &text,
        };
        colour.paint(cell.style, text)
    });
    padded.collect::<Vec<String>>().join(BETWEEN)
}

/// How wide each column is; 0 for one that is left out.
fn widths<const N: usize>(columns: &[Column; N], rows: &[[Cell; N]], limit: usize) -> Vec<usize> {
    let widest = |(at, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        match cells.map(|cell| width(&cell.text)).max().unwrap_or(0) {
            0 => 0,
            widest => widest.max(width(column.heading)),
        }
    };
    let mut widths: Vec<usize> = columns.iter().enumerate().map(widest).collect();
    while taken(columns, &widths) > limit {
        let texts = widths.iter_mut().zip(columns);
        let texts = texts.filter(|(width, column)| column.fit == Fit::Text && **width > MIN_WIDTH);
        // The widest gives way first.
        let Some((widest, _)) = texts.max_by_key(|(width, _)| **width) else {
            break;
        };
        *widest -= 1;
    }
    let left = limit.saturating_sub(taken(columns, &widths) + BETWEEN.len());
    for (width, column) in widths.iter_mut().zip(columns) {
        if column.fit == Fit::Details {
            *width = if left < MIN_WIDTH {
                0
            } else {
                left.min(*width)
            };
        }
    }
    widths
}

/// How wide a line is without the details, which get what is left.
fn taken<const N: usize>(columns: &[Column; N], widths: &[usize]) -> usize {
    let shown = widths.iter().zip(columns);
    let shown = shown.filter(|(width, column)| **width > 0 && column.fit != Fit::Details);
    let sum: usize = shown.map(|(width, _)| width + BETWEEN.len()).sum();
    sum.saturating_sub(BETWEEN.len())
}

/// A text of several lines, none of which is wider than `limit`. What does not fit goes on in a line below,
/// under the beginning of the text, which is after its label or its indentation.
pub(crate) fn wrapped(label: &str, text: &str, limit: usize) -> String {
    let lines = text.lines().flat_map(|line| {
        let words = line.trim_start_matches(' ');
        let indent = line.get(..line.len() - words.len()).unwrap_or_default();
        wrap_beside(&format!("{label}{indent}"), words, limit)
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column {
            heading: "NAME",
            fit: Fit::Text,
        },
        Column {
            heading: "STATE",
            fit: Fit::Text,
        },
        Column {
            heading: "COST",
            fit: Fit::Number,
        },
        Column {
            heading: "",
            fit: Fit::Details,
        },
    ];

    fn shown(names: &[&str], limit: usize) -> Vec<String> {
        let row = |name: &&str| [*name, "idle", "12", "restarted 2x"].map(Cell::plain);
        let rows: Vec<[Cell; 4]> = names.iter().map(row).collect();
        table(&COLUMNS, &rows, limit, Colour::Off)
    }

    #[test]
    fn columns_use_the_width_and_no_more() {
        let names = ["al", "backend-reviewer-2"];
        let whole = [
            "NAME                STATE  COST",
            "al                  idle     12  restarted 2x",
            "backend-reviewer-2  idle     12  restarted 2x",
        ];
        assert_eq!(shown(&names, 300), whole);
        assert_eq!(shown(&names, 45), whole);
        let shorter = [
            "NAME                STATE  COST",
            "al                  idle     12  resta…d 2x",
            "backend-reviewer-2  idle     12  resta…d 2x",
        ];
        assert_eq!(shown(&names, 43), shorter);
        let narrow = [
            "NAME        STATE  COST",
            "al          idle     12",
            "backe…er-2  idle     12",
        ];
        assert_eq!(shown(&names, 23), narrow);
        for limit in 21..60 {
            let lines = shown(&names, limit);
            assert!(lines.iter().all(|line| width(line) <= limit), "{lines:?}");
        }
        // A column without any text is left out.
        let empty = [["al", "", "1", ""].map(Cell::plain)];
        let lines = table(&COLUMNS, &empty, 80, Colour::Off);
        assert_eq!(lines, ["NAME  COST", "al       1"]);
    }

    #[test]
    fn a_long_line_goes_on_under_its_beginning() {
        let text = "    one two three four five\nsix";
        let lines = "    one two three\n    four five\nsix";
        assert_eq!(wrapped("", text, 18), lines);
        let labelled = "al | one two three\n     four";
        assert_eq!(wrapped("al | ", "one two three four", 18), labelled);
    }
}
