//! The report: rows of ours, the bare limit and the alternative, with ratios and bars.

use serde::Serialize;
use std::fmt;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// What it was measured on, line by line.
    pub(super) machine: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// The state of the machine after the last measurement.
    pub(super) machine_after: String,
}

/// The rows of one measurement.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) name: &'static str,
    /// What is measured, and what the columns mean here; `; ` begins a new line.
    pub(super) about: String,
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
}

/// One thing that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) what: String,
    pub(super) ours: Value,
    pub(super) bare: Option<Compared>,
    pub(super) alternative: Option<Compared>,
    pub(super) bar: Option<Bar>,
}

/// Something ours is compared with.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Compared {
    pub(super) value: Value,
    /// Ours divided by it.
    pub(super) ratio: f64,
}

/// What was to be reached.
#[derive(Debug, Serialize)]
pub(super) struct Bar {
    pub(super) wanted: String,
    pub(super) ok: bool,
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub(super) enum Value {
    Seconds(f64),
    PerSecond(f64),
    Bytes(f64),
    Count(f64),
}

impl Report {
    pub(super) const fn new(machine: Vec<String>) -> Self {
        Self {
            machine,
            sections: Vec::new(),
            machine_after: String::new(),
        }
    }
}

impl Section {
    pub(super) fn new(name: &'static str, about: &str) -> Self {
        Self {
            name,
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
            alternative: None,
            bar: None,
        }
    }

    /// Beside the bare limit, with a ratio that was taken block by block.
    pub(super) fn bare(mut self, value: Value, ratio: f64) -> Self {
        self.bare = Some(Compared { value, ratio });
        self
    }

    /// Beside the alternative.
    pub(super) fn alternative(mut self, value: Value) -> Self {
        let ratio = self.ours.number() / value.number();
        self.alternative = Some(Compared { value, ratio });
        self
    }

    pub(super) fn bar(mut self, wanted: impl Into<String>, ok: bool) -> Self {
        let wanted = wanted.into();
        self.bar = Some(Bar { wanted, ok });
        self
    }

    fn cells(&self) -> [String; 7] {
        let (bare, bare_ratio) = compared(self.bare);
        let (alternative, alternative_ratio) = compared(self.alternative);
        let bar = self.bar.as_ref().map_or_else(String::new, |bar| {
            let verdict = if bar.ok { "ok" } else { "MISSED" };
            format!("{verdict}: {}", bar.wanted)
        });
        let what = format!("  {}", self.what);
        let ours = self.ours.to_string();
        [
            what,
            ours,
            bare,
            bare_ratio,
            alternative,
            alternative_ratio,
            bar,
        ]
    }
}

fn compared(with: Option<Compared>) -> (String, String) {
    with.map_or_else(Default::default, |with| {
        (with.value.to_string(), format!("{}x", digits(with.ratio)))
    })
}

impl Value {
    const fn number(self) -> f64 {
        match self {
            Self::Seconds(number)
            | Self::PerSecond(number)
            | Self::Bytes(number)
            | Self::Count(number) => number,
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
            Self::Count(number) => f.write_str(&digits(number)),
        }
    }
}

/// About three digits that mean something.
fn digits(number: f64) -> String {
    let size = number.abs();
    if size >= 100.0 || size == 0.0 {
        format!("{number:.0}")
    } else if size >= 10.0 {
        format!("{number:.1}")
    } else if size >= 0.01 {
        format!("{number:.2}")
    } else {
        format!("{number:.1e}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.machine {
            writeln!(f, "{line}")?;
        }
        for section in &self.sections {
            write!(f, "\n{section}")?;
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
        table.extend(self.rows.iter().map(Row::cells));
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
