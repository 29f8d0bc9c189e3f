//! The figures of `docs/bench.md` and its chart, from the report of one run as JSON. No figure is typed by hand.

mod chart;

use super::report::{Report, Row, Value};
use anyhow::{Context as _, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Between these lines the page is generated.
const BEGIN: &str = "<!-- The figures from here on are written by `scripts/bench --publish`. -->";
const END: &str = "<!-- The end of the figures. -->";

/// The place of the chart, where the report has something to draw.
const CHART: &str = "![Wake-ups and rates of mailboxes on logarithmic axes, and the time of teams of 1 to 16 members \
                     for random graphs of tasks over the least possible](bench.svg)\n\n";

/// What to make of a report.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The report, as `measure --json` writes it.
    report: PathBuf,
    /// The page whose figures are replaced. The chart is put beside it.
    page: PathBuf,
}

/// A table: the rows whose names begin so, with what they are called on the page.
struct Table {
    title: &'static str,
    rows: &'static [(&'static str, &'static str, &'static str)],
}

const TABLES: [Table; 6] = [
    Table {
        title: "synced: survives a power cut",
        rows: &[
            ("latency", "synced: one way, p50", "wake-up, p50"),
            ("latency", "synced: one way, p99", "wake-up, p99"),
            ("throughput", "synced: 1 writer", "messages, 1 writer"),
            ("throughput", "synced: 8 writers", "messages, 8 writers"),
            ("throughput", "synced: 32 writers", "messages, 32 writers"),
        ],
    },
    Table {
        title: "not synced",
        rows: &[
            ("latency", "one way, p50", "wake-up, p50"),
            ("latency", "one way, p99", "wake-up, p99"),
            ("throughput", "1 writer", "messages, 1 writer"),
            ("throughput", "8 writers", "messages, 8 writers"),
            ("throughput", "32 writers", "messages, 32 writers"),
        ],
    },
    Table {
        title: "synced, the reader killed again and again",
        rows: &[
            ("team", "synced: mailboxes: messages lost", "lost per kill"),
            (
                "team",
                "synced: mailboxes: messages given",
                "given twice per kill",
            ),
            (
                "team",
                "synced: mailboxes: messages, 4",
                "messages, 4 writers",
            ),
            (
                "team",
                "synced: mailboxes: one way",
                "wake-up without kills, p50",
            ),
            (
                "team",
                "synced: mailboxes: idle",
                "processor time of an idle one, a minute",
            ),
        ],
    },
    Table {
        title: "not synced, the reader killed again and again",
        rows: &[
            ("team", "mailboxes: messages lost", "lost per kill"),
            ("team", "mailboxes: messages given", "given twice per kill"),
            ("team", "mailboxes: messages, 4", "messages, 4 writers"),
            ("team", "mailboxes: one way", "wake-up without kills, p50"),
            (
                "team",
                "mailboxes: idle",
                "processor time of an idle one, a minute",
            ),
        ],
    },
    Table {
        title: "a teammate",
        rows: &[
            ("spawn", "spawn to ready, p50", "spawn to ready, p50"),
            (
                "request",
                "synced",
                "a message to the model's request with it, p50",
            ),
            (
                "permission",
                "answer to start, synced",
                "a person's answer to the start of the tool, p50",
            ),
            (
                "restart",
                "restart to working, p50, bare with syncs",
                "`team-lead restart` to its first request, p50",
            ),
            (
                "deaths",
                "kill to task back, p50, bare with syncs",
                "`kill -9` to its task back on the board, p50",
            ),
            (
                "deaths",
                "kill to noticed, p50, bare with syncs",
                "`kill -9` to the notice in the lead's inbox, p50",
            ),
            (
                "teammates",
                "private memory",
                "private memory of an idle one",
            ),
            (
                "teammates",
                "processor time",
                "processor time of an idle one, a minute",
            ),
        ],
    },
    Table {
        title: "input of a session of 200 requests, in tokens at full price",
        rows: &[
            ("context", "Messages API", "Messages API"),
            (
                "context",
                "Chat Completions, cached at 0.5",
                "Chat Completions, cached input at half",
            ),
            (
                "context",
                "Chat Completions, cached at 0.1",
                "Chat Completions, cached input at a tenth",
            ),
        ],
    },
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let bytes =
        std::fs::read(&args.report).with_context(|| format!("read {}", args.report.display()))?;
    let report: Report = serde_json::from_slice(&bytes).context("read the report")?;
    let page = std::fs::read_to_string(&args.page)
        .with_context(|| format!("read {}", args.page.display()))?;
    write(&args.page, &with_figures(&page, &figures(&report))?)?;
    write(&args.page.with_extension("svg"), &chart::draw(&report))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// The page with other figures.
fn with_figures(page: &str, figures: &str) -> anyhow::Result<String> {
    let (before, rest) = page
        .split_once(BEGIN)
        .context("the page has no place for figures")?;
    let (_, after) = rest
        .split_once(END)
        .context("the figures of the page have no end")?;
    ensure!(
        !after.contains(BEGIN),
        "the page has two places for figures"
    );
    Ok(format!("{before}{BEGIN}\n\n{figures}\n{END}{after}"))
}

/// All of the generated text.
fn figures(report: &Report) -> String {
    let has_chart = rows(report, "team").next().is_some();
    let mut text = if has_chart { CHART } else { "" }.to_owned();
    for line in report.machine.iter().chain([&report.machine_after]) {
        let _ = writeln!(text, "- {line}");
    }
    for table in &TABLES {
        text.push_str(&render(report, table));
    }
    text.push_str(&makespans(report));
    text.push_str(&tokens(report));
    text.push_str(&promises(report));
    text.push_str(&missed(report));
    text
}

fn find<'a>(report: &'a Report, section: &str, begins: &str) -> Option<&'a Row> {
    let mut rows = rows(report, section);
    rows.find(|row| row.what.starts_with(begins))
}

fn rows<'a>(report: &'a Report, section: &str) -> impl Iterator<Item = &'a Row> {
    let section = report.sections.iter().find(|found| found.name == section);
    section.into_iter().flat_map(|section| section.rows.iter())
}

/// A table with a column for everything that one of its rows is compared with.
fn render(report: &Report, table: &Table) -> String {
    let found = table
        .rows
        .iter()
        .filter_map(|(section, begins, label)| Some((*label, find(report, section, begins)?)));
    let found: Vec<(&str, &Row)> = found.collect();
    if found.is_empty() {
        return String::new();
    }
    let mut others: Vec<&str> = Vec::new();
    for name in found
        .iter()
        .flat_map(|(_, row)| row.alternatives.iter())
        .map(|other| &other.name)
    {
        if !others.contains(&name.as_str()) {
            others.push(name);
        }
    }
    let has_bare = found.iter().any(|(_, row)| row.bare.is_some());
    let mut head = vec![table.title.to_owned(), "team-lead".to_owned()];
    head.extend(has_bare.then(|| "the least that the system asks for".to_owned()));
    head.extend(others.iter().map(|name| (*name).to_owned()));
    let lines = found.iter().map(|(label, row)| {
        let mut cells = vec![(*label).to_owned(), format!("**{}**", row.ours)];
        if has_bare {
            cells.push(
                row.bare
                    .map_or_else(dash, |bare| beside(bare.value, bare.ratio)),
            );
        }
        cells.extend(others.iter().map(|name| {
            let other = row.alternatives.iter().find(|other| other.name == **name);
            other.map_or_else(dash, |other| beside(other.value, other.ratio))
        }));
        cells
    });
    in_markdown(&head, lines)
}

fn dash() -> String {
    "-".to_owned()
}

/// What ours is compared with, and how often ours is that.
fn beside(value: Value, ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => format!("{value} ({ratio:.2}x)"),
        None => value.to_string(),
    }
}

fn in_markdown(head: &[String], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!(
        "\n| {} |\n|{}\n",
        head.join(" | "),
        "---|".repeat(head.len())
    );
    for line in lines {
        let _ = writeln!(text, "| {} |", line.join(" | "));
    }
    text
}

fn makespans(report: &Report) -> String {
    let found: Vec<&Row> = rows(report, "team")
        .filter(|row| row.what.starts_with("makespan"))
        .collect();
    if found.is_empty() {
        return String::new();
    }
    let head = [
        "a random graph of tasks",
        "team-lead",
        "max(longest chain, work / members)",
        "times that",
        "members that cost nothing",
    ];
    let lines = found.into_iter().map(|row| {
        let bare = row.bare;
        let free = row.alternatives.first();
        vec![
            row.what.clone(),
            format!("**{}**", row.ours),
            bare.map_or_else(dash, |bare| bare.value.to_string()),
            bare.and_then(|bare| bare.ratio)
                .map_or_else(dash, |ratio| format!("{ratio:.3}x")),
            free.map_or_else(dash, |free| beside(free.value, free.ratio)),
        ]
    });
    in_markdown(&head.map(str::to_owned), lines)
}

fn tokens(report: &Report) -> String {
    let shares = [
        ("sent: share", "all that was sent"),
        (
            "uncached: share",
            "uncached, cold: the cache is empty when the team starts",
        ),
        (
            "uncached, once the team is there: share",
            "uncached, warm: without the first request of each agent",
        ),
    ];
    let lines: Vec<Vec<String>> = shares
        .iter()
        .filter_map(|(begins, label)| {
            let row = find(report, "tokens", begins)?;
            Some(vec![(*label).to_owned(), format!("**{}**", row.ours)])
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let head = ["share of coordination in input tokens", "team-lead"];
    in_markdown(&head.map(str::to_owned), lines.into_iter())
}

/// What each contestant promises, and who was left out.
fn promises(report: &Report) -> String {
    let mut text = "\nWhat an accepted message is promised:\n\n".to_owned();
    for line in &report.contestants {
        let _ = writeln!(text, "- {line}");
    }
    for line in &report.skipped {
        let _ = writeln!(text, "- left out: {line}");
    }
    text
}

/// The bars that were not reached in this run.
fn missed(report: &Report) -> String {
    let mut lines = Vec::new();
    for section in &report.sections {
        for row in &section.rows {
            if let Some(bar) = row.bar.as_ref().filter(|bar| !bar.ok) {
                let ratio = row.bare.and_then(|bare| bare.ratio);
                let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2}x"));
                lines.push(format!(
                    "- {}, {}: {}{ratio} ({})\n",
                    section.name, row.what, row.ours, bar.wanted
                ));
            }
        }
    }
    if lines.is_empty() {
        return "\nEvery bar was reached in this run.\n".to_owned();
    }
    format!(
        "\nBars that were not reached in this run:\n\n{}",
        lines.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::report::Section;

    fn report() -> Report {
        let mut report = Report::new(vec!["a machine".to_owned()]);
        let mut latency = Section::new("latency", "");
        let row = Row::new("synced: one way, p50", Value::Seconds(2e-4));
        latency.rows.push(
            row.bare(Value::Seconds(1e-4), 2.0)
                .beside("Other", Value::Seconds(4e-4)),
        );
        let mut team = Section::new("team", "");
        let row =
            Row::new("makespan, 4 members", Value::Seconds(12.0)).bare(Value::Seconds(10.0), 1.2);
        team.rows.push(row.bar("at most 1.1x", false));
        let row = Row::new("synced: mailboxes: one way, p50", Value::Seconds(2e-4));
        team.rows.push(row.beside("<Other>", Value::Seconds(4e-4)));
        report.sections.extend([latency, team]);
        report
    }

    #[test]
    fn figures_replace_figures_and_nothing_else() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let page = with_figures(&page, &figures(&report())).unwrap();
        assert!(page.starts_with("before\n") && page.ends_with("\nafter\n"));
        assert!(
            page.contains("| wake-up, p50 | **200 us** | 100 us (2.00x) | 400 us (0.50x) |"),
            "{page}"
        );
        assert!(
            page.contains("- team, makespan, 4 members: 12.0 s, 1.20x (at most 1.1x)"),
            "{page}"
        );
        assert!(!page.contains("old"));
        assert!(page.contains("](bench.svg)"), "{page}");
        let empty = figures(&Report::new(Vec::new()));
        assert!(!empty.contains("bench.svg"), "{empty}");
        assert!(with_figures("nothing", "").is_err());
    }

    #[test]
    fn the_chart_has_axes_and_no_foreign_markup() {
        let chart = chart::draw(&report());
        assert!(
            chart.contains("&lt;Other&gt;") && !chart.contains("<Other>"),
            "{chart}"
        );
        for label in ["wake-up, p50", "members", "times the least"] {
            assert!(chart.contains(label), "{label}: {chart}");
        }
    }
}
