//! What the chart shows of a report.

use crate::measure::report::{Report, Row, Value};

/// What a bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Ours,
    Limit,
    Alternative,
}

impl Role {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Limit => "limit",
            Self::Alternative => "alternative",
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Ours => "team-lead",
            Self::Limit => "the limit: bare system calls",
            Self::Alternative => "what a user could pick instead",
        }
    }
}

/// One contestant, with one bar or several.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) label: String,
    pub(super) role: Role,
    pub(super) values: Vec<Value>,
    /// Where a thin line goes to.
    pub(super) far: Option<Value>,
}

impl Lane {
    /// The numbers.
    pub(super) fn words(&self) -> String {
        let values: Vec<String> = self.values.iter().map(Value::to_string).collect();
        let far = self.far.iter().map(|far| format!("p99 {far}"));
        values.into_iter().chain(far).collect::<Vec<_>>().join(", ")
    }
}

/// Bars that share a scale.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) about: String,
    pub(super) lanes: Vec<Lane>,
}

impl Panel {
    /// A number in the unit of this panel.
    pub(super) fn unit(&self, number: f64) -> Value {
        let first = self.lanes.first().and_then(|lane| lane.values.first());
        match first {
            Some(Value::PerSecond(_)) => Value::PerSecond(number),
            Some(Value::Bytes(_)) => Value::Bytes(number),
            Some(Value::Count(_)) => Value::Count(number),
            Some(Value::Share(_)) => Value::Share(number),
            Some(Value::Seconds(_)) | None => Value::Seconds(number),
        }
    }
}

/// One way, median and p99: the section, the two rows, the title.
const WAYS: [[&str; 4]; 2] = [
    [
        "synced: one way, p50",
        "synced: one way, p99",
        "Wake-up latency, synced: a message survives a power cut",
        "from before the send until the reader shows it, 300 bytes, two processes; bar p50, line p99",
    ],
    [
        "one way, p50",
        "one way, p99",
        "Wake-up latency, not synced",
        "the same; a message survives at most the death of processes",
    ],
];

/// How many writers, with a prefix.
const RATES: [[&str; 3]; 2] = [
    [
        "synced: ",
        "Messages per second, synced: a message survives a power cut",
        "accepted into one inbox whose owner drains it; bars from the top: 1, 8, 32 writers",
    ],
    [
        "",
        "Messages per second, not synced",
        "the same; the tutorial's mailbox loses messages at this rate",
    ],
];
const WRITERS: [&str; 3] = ["1 writer ", "8 writers ", "32 writers "];

/// What happens to a teammate: section, row, words.
const LIVES: [[&str; 3]; 4] = [
    ["spawn", "spawn to ready, p50", "spawn to ready"],
    ["restart", "restart to working, p50", "restart to working"],
    [
        "deaths",
        "kill to task back, p50",
        "kill -9 to task back on the board",
    ],
    [
        "deaths",
        "kill to noticed, p50",
        "kill -9 to the lead's notice",
    ],
];

/// The rows that are told in words: section, row, words.
const FACTS: [[&str; 3]; 6] = [
    [
        "hosts",
        "teammates at once",
        "teammates at once, all reached by mail",
    ],
    [
        "teammates",
        "private memory of one, most",
        "private memory of an idle teammate, at most",
    ],
    [
        "teammates",
        "processor time of one, per minute",
        "its processor time per minute",
    ],
    [
        "teammates",
        "wake-ups of one, per minute",
        "its wake-ups per minute",
    ],
    [
        "tokens",
        "sent: coordination per task",
        "tokens of coordination per small finished task",
    ],
    [
        "tokens",
        "sent: share of coordination",
        "share of all tokens sent",
    ],
];

/// All that is drawn. What a report does not have is left out.
pub(super) fn panels(report: &Report) -> Vec<Panel> {
    let ways = WAYS.iter().filter_map(|way| latency(report, way));
    let rates = RATES.iter().filter_map(|rate| throughput(report, rate));
    ways.chain(rates).chain(incarnations(report)).collect()
}

/// The lines below the bars.
pub(super) fn facts(report: &Report) -> Vec<String> {
    let mut facts = Vec::new();
    for [section, what, words] in FACTS {
        if let Some(row) = row(report, section, what) {
            facts.push(format!("{words}: {}", row.ours));
        }
    }
    let pairs = facts.chunks(2);
    let pairs = pairs.map(|pair| pair.join("; "));
    pairs.collect()
}

/// The row that is called so, or begins so where the end is a number that changes.
pub(super) fn row<'a>(report: &'a Report, section: &str, what: &str) -> Option<&'a Row> {
    let section = report.sections.iter().find(|found| found.name == section)?;
    let is_it =
        |row: &&Row| row.what == what || (what.ends_with(' ') && row.what.starts_with(what));
    section.rows.iter().find(is_it)
}

/// The numbers of a row, each with who has it: ours, the limit, the alternatives.
fn numbers(row: &Row) -> Vec<(String, Role, Value)> {
    let ours = [("team-lead".to_owned(), Role::Ours, row.ours)];
    let limit = row
        .bare
        .map(|bare| ("bare system calls".to_owned(), Role::Limit, bare.value));
    let others = row.alternatives.iter().map(|other| {
        let role = match other.name.as_str() {
            "Unix socket" => Role::Limit,
            _ => Role::Alternative,
        };
        (other.name.clone(), role, other.value)
    });
    ours.into_iter().chain(limit).chain(others).collect()
}

fn latency(report: &Report, [p50, p99, title, about]: &[&str; 4]) -> Option<Panel> {
    let near = numbers(row(report, "latency", p50)?);
    let far = row(report, "latency", p99).map(numbers).unwrap_or_default();
    let lanes = near.into_iter().map(|(label, role, value)| {
        let far = far.iter().find(|(name, ..)| *name == label);
        Lane {
            far: far.map(|(_, _, far)| *far),
            label,
            role,
            values: vec![value],
        }
    });
    Some(Panel {
        title: (*title).to_owned(),
        about: (*about).to_owned(),
        lanes: lanes.collect(),
    })
}

fn throughput(report: &Report, [prefix, title, about]: &[&str; 3]) -> Option<Panel> {
    let mut lanes: Vec<Lane> = Vec::new();
    for writers in WRITERS {
        let what = format!("{prefix}{writers}");
        for (label, role, value) in numbers(row(report, "throughput", &what)?) {
            match lanes.iter_mut().find(|lane| lane.label == label) {
                Some(lane) => lane.values.push(value),
                None => lanes.push(Lane {
                    label,
                    role,
                    values: vec![value],
                    far: None,
                }),
            }
        }
    }
    Some(Panel {
        title: (*title).to_owned(),
        about: (*about).to_owned(),
        lanes,
    })
}

fn incarnations(report: &Report) -> Option<Panel> {
    let mut lanes = Vec::new();
    for [section, what, words] in LIVES {
        let Some(row) = row(report, section, what) else {
            continue;
        };
        for (label, role, value) in numbers(row) {
            lanes.push(Lane {
                label: match role {
                    Role::Ours => words.to_owned(),
                    Role::Limit => "its bare limit".to_owned(),
                    Role::Alternative => label,
                },
                role,
                values: vec![value],
                far: None,
            });
        }
    }
    (!lanes.is_empty()).then(|| Panel {
        title: "Life and death of a teammate, synced".to_owned(),
        about: "p50; heartbeats are computed, not measured: one a second, dead after 5 s without"
            .to_owned(),
        lanes,
    })
}

/// Every row the chart shows, as section and name.
#[cfg(test)]
pub(super) fn shown() -> Vec<(&'static str, String)> {
    let ways = WAYS.iter().flat_map(|[p50, p99, ..]| [*p50, *p99]);
    let ways = ways.map(|what| ("latency", what.to_owned()));
    let rates = RATES.iter().flat_map(|[prefix, ..]| {
        WRITERS.map(|writers| ("throughput", format!("{prefix}{writers}")))
    });
    let rest = LIVES.iter().chain(&FACTS);
    let rest = rest.map(|[section, what, _]| (*section, (*what).to_owned()));
    ways.chain(rates).chain(rest).collect()
}
