//! The report: rows of ours, the bare limit and the alternative, with ratios and bars.

use super::kind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Everything that was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// What it was measured on, line by line.
    pub(super) machine: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// What each contestant that ours was compared with does and does not promise.
    pub(super) contestants: Vec<String>,
    /// What was left out, and what would have to be installed for it.
    pub(super) skipped: Vec<String>,
    /// The state of the machine after the last measurement.
    pub(super) machine_after: String,
}

/// The rows of one measurement.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Section {
    pub(super) name: String,
    /// What is measured, and what the columns mean here; `; ` begins a new line.
    pub(super) about: String,
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
}

/// One thing that was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) what: String,
    pub(super) ours: Value,
    pub(super) bare: Option<Compared>,
    pub(super) alternatives: Vec<Alternative>,
    pub(super) bar: Option<Bar>,
}

/// Something ours is compared with.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Compared {
    pub(super) value: Value,
    /// Ours divided by it; nothing if that is no number.
    pub(super) ratio: Option<f64>,
}

/// What a user could pick instead, measured in the same run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alternative {
    pub(super) name: String,
    pub(super) value: Value,
    /// Ours divided by it; nothing if that is no number.
    pub(super) ratio: Option<f64>,
}

/// What was to be reached.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Bar {
    pub(super) wanted: String,
    pub(super) ok: bool,
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub(super) enum Value {
    Seconds(f64),
    PerSecond(f64),
    Bytes(f64),
    Count(f64),
    /// A part of a whole, 1 being all of it.
    Share(f64),
}

impl Report {
    pub(super) const fn new(machine: Vec<String>) -> Self {
        Self {
            machine,
            sections: Vec::new(),
            contestants: Vec::new(),
            skipped: Vec::new(),
            machine_after: String::new(),
        }
    }
}

impl Report {
    /// Says of each mailbox that is compared what it promises, or why it is not measured.
    pub(super) fn name_contestants(&mut self) {
        if !self.contestants.is_empty() {
            return;
        }
        for kind in kind::all() {
            match kind.missing() {
                None => self.contestants.push(kind.label()),
                Some(why) => self.skipped.push(format!("{}: {why}", kind.name())),
            }
        }
    }
}

impl Section {
    pub(super) fn new(name: &str, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl Row {
    pub(super) fn new(what: impl Into<String>, ours: Value) -> Self {
        Self {
            what: what.into(),
            ours,
            bare: None,
            alternatives: Vec::new(),
            bar: None,
        }
    }

    /// Beside the bare limit, with a ratio that was taken block by block.
    pub(super) fn bare(mut self, value: Value, ratio: f64) -> Self {
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        self.bare = Some(Compared { value, ratio });
        self
    }

    /// Beside an alternative, with the ratio of the two numbers.
    pub(super) fn beside(self, name: &str, value: Value) -> Self {
        let ratio = self.ours.number() / value.number();
        self.alternative(name, value, ratio)
    }

    /// Beside an alternative, with a ratio that was taken block by block.
    pub(super) fn alternative(mut self, name: &str, value: Value, ratio: f64) -> Self {
        let name = name.to_owned();
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        self.alternatives.push(Alternative { name, value, ratio });
        self
    }

    pub(super) fn bar(mut self, wanted: impl Into<String>, ok: bool) -> Self {
        let wanted = wanted.into();
        self.bar = Some(Bar { wanted, ok });
        self
    }

    /// The line of ours and the bare limit, and one for each alternative.
    fn lines(&self) -> Vec<Cells> {
        let (bare, ratio) = self.bare.map_or_else(Default::default, |bare| {
            (bare.value.to_string(), times(bare.ratio))
        });
        let bar = self.bar.as_ref().map_or_else(String::new, |bar| {
            let verdict = if bar.ok { "ok" } else { "MISSED" };
            format!("{verdict}: {}", bar.wanted)
        });
        let what = format!("  {}", self.what);
        let none = String::new;
        let ours = [
            what,
            self.ours.to_string(),
            bare,
            ratio,
            none(),
            none(),
            bar,
        ];
        let others = self.alternatives.iter().map(|other| {
            let name = format!("      beside {}", other.name);
            let (value, ratio) = (other.value.to_string(), times(other.ratio));
            [name, none(), none(), none(), value, ratio, none()]
        });
        std::iter::once(ours).chain(others).collect()
    }
}

/// A line of a table.
type Cells = [String; 7];

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{}x", digits(ratio)))
}

impl Value {
    pub(super) const fn number(self) -> f64 {
        match self {
            Self::Seconds(number)
            | Self::PerSecond(number)
            | Self::Bytes(number)
            | Self::Count(number)
            | Self::Share(number) => number,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Seconds(number) if number < 1e-3 => write!(f, "{} us", digits(number * 1e6)),
            Self::Seconds(number) if number < 1.0 => write!(f, "{} ms", digits(number * 1e3)),
            Self::Seconds(number) => write!(f, "{} s", digits(number)),
            Self::PerSecond(number) => write!(f, "{}/s", digits(number)),
            Self::Bytes(number) => write!(f, "{} MB", digits(number / 1e6)),
            Self::Count(number) if number.fract() == 0.0 && number < 1e4 => {
                write!(f, "{number:.0}")
            }
            Self::Count(number) => f.write_str(&digits(number)),
            Self::Share(number) => write!(f, "{} %", digits(100.0 * number)),
        }
    }
}

/// About three digits that mean something.
fn digits(number: f64) -> String {
    let size = number.abs();
    if size >= 10_000.0 {
        in_thousands(number)
    } else if size >= 100.0 || size == 0.0 {
        format!("{number:.0}")
    } else if size >= 10.0 {
        format!("{number:.1}")
    } else if size >= 0.01 {
        format!("{number:.2}")
    } else {
        format!("{number:.1e}")
    }
}

/// A large number in groups of three digits.
fn in_thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.machine {
            writeln!(f, "{line}")?;
        }
        for section in &self.sections {
            write!(f, "\n{section}")?;
        }
        for (title, lines) in [
            ("WHAT EACH PROMISES", &self.contestants),
            ("NOT MEASURED", &self.skipped),
        ] {
            if !lines.is_empty() {
                writeln!(f, "\n{title}:")?;
            }
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "\nafter: {}", self.machine_after)?;
        let mut bars = 0;
        let mut missed = Vec::new();
        for section in &self.sections {
            for row in &section.rows {
                let Some(bar) = &row.bar else { continue };
                bars += 1;
                if !bar.ok {
                    missed.push(format!("{}, {} ({})", section.name, row.what, bar.wanted));
                }
            }
        }
        write!(f, "bars: {} of {bars} missed", missed.len())?;
        missed
            .iter()
            .try_for_each(|bar| write!(f, "\n  MISSED {bar}"))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.about.replace("; ", "\n  ");
        writeln!(f, "{}: {about}", self.name.to_uppercase())?;
        let head = [
            "",
            "ours",
            "bare",
            "ours/bare",
            "altern.",
            "ours/alt",
            "bar",
        ];
        let mut table = vec![head.map(str::to_owned)];
        table.extend(self.rows.iter().flat_map(Row::lines));
        let widths: Vec<usize> = (0..head.len())
            .map(|column| table.iter().filter_map(move |row| row.get(column)))
            .map(|cells| cells.map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        for row in &table {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line += &match column {
                    0 => format!("{cell:<width$}"),
                    6 => format!("   {cell}"),
                    _ => format!("  {cell:>width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        for note in &self.notes {
            writeln!(f, "  * {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kept report can still be read, and the tables of the document show its numbers.
    #[test]
    fn the_document_shows_numbers_of_the_kept_report() {
        let report: Report =
            serde_json::from_str(include_str!("../../../../docs/bench.json")).expect("a report");
        let rows = report.sections.iter().flat_map(|section| &section.rows);
        let measured: Vec<String> = rows.map(|row| row.ours.to_string()).collect();
        let document = include_str!("../../../../docs/bench.md");
        let cells = document.lines().filter(|line| line.starts_with("| "));
        let shown: Vec<&str> = cells
            .flat_map(|line| line.split("**").skip(1).step_by(2))
            .collect();
        assert!(shown.len() > 15, "{shown:?}");
        for number in shown {
            assert!(
                measured.iter().any(|measured| measured == number),
                "{number} is not in docs/bench.json"
            );
        }
    }

    #[test]
    fn a_missed_bar_is_said_clearly() {
        let mut section = Section::new("latency", "x");
        let row = Row::new("one way", Value::Seconds(5e-5)).bare(Value::Seconds(1e-5), 5.0);
        section.rows.push(row.bar("at most 3x bare", false));
        let mut report = Report::new(Vec::new());
        report.sections.push(section);
        let text = report.to_string();
        assert!(text.contains("50.0 us"), "{text}");
        assert!(text.contains("MISSED: at most 3x bare"), "{text}");
        assert!(text.contains("1 of 1 missed"), "{text}");
        assert!(
            text.ends_with("MISSED latency, one way (at most 3x bare)"),
            "{text}"
        );
    }
}
