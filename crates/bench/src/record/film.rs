//! What a terminal showed, as a row of screens.

use std::num::NonZeroU16;
use std::time::{Duration, Instant};
use vt100::{Cell, Color, Parser, Screen};

/// Changes that follow each other faster are one.
const SHORTEST: Duration = Duration::from_millis(110);
/// Nobody wants to look at one screen for longer.
const LONGEST: Duration = Duration::from_millis(4500);
/// How long the last screen stays.
const END: Duration = Duration::from_secs(6);

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Look {
    /// The number of its colour, if it is not the usual one.
    pub(super) colour: Option<u8>,
    /// The number of the colour behind it.
    pub(super) behind: Option<u8>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) inverse: bool,
}

/// A piece of a line that looks the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    /// The column where it begins.
    pub(super) at: u16,
    /// How many columns it takes.
    pub(super) width: u16,
    pub(super) text: String,
    pub(super) look: Look,
}

/// A line of the screen, without what is blank.
pub(super) type Row = Vec<Run>;

/// A screen, and how long it was seen.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) rows: Vec<Row>,
    pub(super) time: Duration,
}

/// A screen on which something is being shown.
pub(super) struct Film {
    parser: Parser,
    /// When each screen began.
    taken: Vec<(Instant, Vec<Row>)>,
}

impl Film {
    pub(super) fn new(rows: u16, columns: u16) -> Self {
        let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        Self {
            parser: Parser::new(cells(rows), cells(columns), 0),
            taken: Vec::new(),
        }
    }

    /// Takes in what was shown.
    pub(super) fn add(&mut self, when: Instant, bytes: &[u8]) {
        self.parser.process(bytes);
        let now = rows(self.parser.screen());
        match self.taken.last_mut() {
            Some((_, last)) if *last == now => {}
            Some((began, last)) if when.duration_since(*began) < SHORTEST => *last = now,
            _ => self.taken.push((when, now)),
        }
    }

    /// The screen as it is.
    pub(super) fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    /// How many columns there are.
    pub(super) fn columns(&self) -> u16 {
        self.screen().size().1.get()
    }

    /// All screens, in order.
    pub(super) fn frames(&self) -> Vec<Frame> {
        let ends = self.taken.iter().skip(1).map(|(when, _)| Some(*when));
        let times = ends.chain([None]);
        let frames = self.taken.iter().zip(times);
        let frames = frames.map(|((began, rows), end)| Frame {
            rows: rows.clone(),
            time: end.map_or(END, |end| end.duration_since(*began).min(LONGEST)),
        });
        frames.collect()
    }
}

/// The lines of a screen.
pub(super) fn rows(screen: &Screen) -> Vec<Row> {
    let (rows, columns) = screen.size();
    (0..rows.get())
        .map(|row| {
            let cells = (0..columns.get()).filter_map(|at| Some((at, screen.cell(row, at)?)));
            line(cells)
        })
        .collect()
}

fn line<'a>(cells: impl Iterator<Item = (u16, &'a Cell)>) -> Row {
    let mut runs: Row = Vec::new();
    for (at, cell) in cells.filter(|(_, cell)| !cell.is_wide_continuation()) {
        let look = look(cell);
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        let width = if cell.is_wide() { 2 } else { 1 };
        match runs.last_mut() {
            Some(last) if last.look == look && last.at + last.width == at => {
                last.text.push_str(text);
                last.width += width;
            }
            _ => runs.push(Run {
                at,
                width,
                text: text.to_owned(),
                look,
            }),
        }
    }
    runs.retain(|run| run.look.is_filled() || !run.text.trim().is_empty());
    runs.iter_mut().for_each(trim);
    runs
}

/// Leaves blanks at both ends of a piece out, if nothing is behind them.
fn trim(run: &mut Run) {
    if run.look.is_filled() {
        return;
    }
    let count = |text: &str| u16::try_from(text.chars().count()).unwrap_or_default();
    let rest = run.text.trim_start();
    run.at += count(&run.text) - count(rest);
    run.width -= count(&run.text) - count(rest.trim_end());
    run.text = rest.trim_end().to_owned();
}

impl Look {
    /// Whether blanks of it can be seen.
    pub(super) fn is_filled(self) -> bool {
        self.inverse || self.behind.is_some()
    }
}

fn look(cell: &Cell) -> Look {
    Look {
        colour: number(cell.fgcolor()),
        behind: number(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        inverse: cell.inverse(),
    }
}

/// The programs here use numbered colours only.
fn number(colour: Color) -> Option<u8> {
    match colour {
        Color::Idx(number) => Some(number),
        Color::Default | Color::Rgb(..) => None,
    }
}
