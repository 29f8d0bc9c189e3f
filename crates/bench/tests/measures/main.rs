//! The machinery of the measurements: it runs, and it sees what it should. No test here says how
//! fast anything is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use test_support::report_skip;

/// Runs this package's program in a folder of its own, unless the real programs are not built: they
/// belong to another package, which a test of this one alone does not build.
fn bench(arguments: &[&str]) -> Option<(String, TempDir)> {
    let program = Path::new(env!("CARGO_BIN_EXE_bench"));
    if !program.with_file_name("teammate").exists() || !program.with_file_name("team-lead").exists()
    {
        report_skip(
            "a measurement",
            "the programs are not built: run `cargo test`",
        );
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .args(["--json", "report.json", "--dir", "teams"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Some((text, dir))
}

fn report(dir: &TempDir, text: &str) -> Value {
    let report = std::fs::read(dir.path().join("report.json"));
    let report = report.unwrap_or_else(|error| panic!("no report ({error}):\n{text}"));
    serde_json::from_slice(&report).unwrap()
}

#[test]
fn a_short_soak_loses_nothing_and_leaks_no_descriptor() {
    let arguments = [
        "soak",
        "--teammates",
        "5",
        "--minutes",
        "0.33",
        "--every",
        "2",
    ];
    let Some((text, dir)) = bench(&arguments) else {
        return;
    };
    let report = report(&dir, &text);
    assert_eq!(report["lost"], 0, "{text}");
    assert!(report["sent"].as_u64().unwrap() >= 10, "{text}");
    assert!(report["samples"].as_array().unwrap().len() >= 5, "{text}");
    let verdicts = report["verdicts"].as_array().unwrap();
    for verdict in verdicts {
        let what = verdict["what"].as_str().unwrap();
        // Times are for a machine that has nothing else to do.
        let is_time = what.starts_with("latency");
        assert!(is_time || verdict["ok"] == true, "{what}:\n{text}");
    }
    // A descriptor may be open for a moment; a leak is open in every sample from then on.
    let samples = report["samples"].as_array().unwrap();
    let (early, late) = samples.split_at(samples.len() / 2);
    let least = |samples: &[Value]| {
        let open = samples
            .iter()
            .map(|sample| sample["descriptors"].as_f64().unwrap());
        open.fold(f64::MAX, f64::min)
    };
    assert!(least(late) <= least(early), "{text}");
}

#[test]
fn searches_are_measured_beside_ripgrep() {
    let Some((text, dir)) = bench(&["measure", "--quick", "search"]) else {
        return;
    };
    let report = report(&dir, &text);
    let section = &report["sections"][0];
    let rows = section["rows"].as_array().unwrap().len();
    let is_left_out = section["notes"].to_string().contains("left out");
    assert_eq!(rows, if is_left_out { 0 } else { 2 }, "{text}");
}

#[test]
fn deaths_restarts_and_tokens_are_measured() {
    let arguments = ["measure", "--quick", "restart", "deaths", "tokens", "trees"];
    let Some((text, dir)) = bench(&arguments) else {
        return;
    };
    let report = report(&dir, &text);
    let sections = report["sections"].as_array().unwrap();
    let names: Vec<&str> = sections
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["restart", "deaths", "tokens", "trees"], "{text}");
    for section in sections {
        assert!(!section["rows"].as_array().unwrap().is_empty(), "{text}");
    }
    assert!(text.contains("share of coordination"), "{text}");
    // The prefix of the requests of an agent never changes, byte by byte.
    assert_eq!(value(&report, "requests with other tools"), 0.0, "{text}");
}

#[test]
fn coordination_is_less_than_15_percent_of_what_no_cache_has() {
    let Some((text, dir)) = bench(&["measure", "tokens"]) else {
        return;
    };
    let report = report(&dir, &text);
    for what in ["uncached:", "uncached, once the team is there:"] {
        let share = value(&report, &format!("{what} share of coordination"));
        assert!(share > 0.0 && share < 0.15, "{what} {share}\n{text}");
    }
    assert_eq!(value(&report, "requests with other tools"), 0.0, "{text}");
}

/// The number in the first row whose name begins so.
fn value(report: &Value, begins: &str) -> f64 {
    let sections = report["sections"].as_array().unwrap().iter();
    let mut rows = sections.flat_map(|section| section["rows"].as_array().unwrap());
    let row = rows.find(|row| row["what"].as_str().unwrap().starts_with(begins));
    row.unwrap_or_else(|| panic!("no row {begins}"))["ours"]["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn a_team_does_every_task_of_a_graph_once_also_under_kills() {
    let Some((text, dir)) = bench(&["measure", "--quick", "team"]) else {
        return;
    };
    let report = report(&dir, &text);
    let makespans = report["sections"][0]["rows"].as_array().unwrap().iter();
    let makespans = makespans.filter(|row| row["what"].as_str().unwrap().starts_with("makespan"));
    assert_eq!(makespans.count(), 4, "{text}");
    assert_eq!(value(&report, "tasks left open"), 0.0, "{text}");
}
