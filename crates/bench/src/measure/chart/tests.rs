use super::panels::{row, shown};
use super::*;
use crate::measure::report::{Row, Section};

const REPORT: &str = include_str!("../../../../../docs/bench.json");
const CHART: &str = include_str!("../../../../../docs/bench.svg");

/// Checks that a text is XML whose elements are closed in the right order, and returns how many
/// elements of each name there are.
fn elements(svg: &str) -> std::collections::BTreeMap<String, usize> {
    let mut open: Vec<String> = Vec::new();
    let mut counts = std::collections::BTreeMap::new();
    let mut rest = svg;
    while let Some((before, tag)) = rest.split_once('<') {
        assert!(!before.contains('>'), "a stray > in {before:?}");
        let (tag, after) = tag.split_once('>').expect("a tag has an end");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        let name = tag.split([' ', '/']).next().unwrap_or("").to_owned();
        *counts.entry(name.clone()).or_insert(0) += 1;
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    for entity in rest.split('&').skip(1).chain(svg.split('&').skip(1)) {
        let known = ["amp;", "lt;", "gt;", "quot;"];
        assert!(
            known.iter().any(|known| entity.starts_with(known)),
            "{entity}"
        );
    }
    counts
}

#[test]
fn the_chart_of_the_kept_report_has_every_row_it_should() {
    let report: Report = serde_json::from_str(REPORT).unwrap();
    let drawn = draw(&report);
    let counts = elements(&drawn);
    assert!(counts["rect"] > 40, "{counts:?}");
    for (section, what) in shown() {
        let row = row(&report, section, &what);
        let row = row.unwrap_or_else(|| panic!("docs/bench.json has no {section}, {what}"));
        let words = [Some(row.ours), row.bare.map(|bare| bare.value)];
        let words = words
            .into_iter()
            .flatten()
            .take(if row.alternatives.is_empty() { 1 } else { 2 });
        for value in words.chain(row.alternatives.iter().map(|other| other.value)) {
            let is_told = drawn.contains(&value.to_string()) || section == "teammates";
            assert!(is_told, "{section}, {what}: {value} is not drawn");
        }
        assert!(drawn.contains(&row.ours.to_string()), "{section}, {what}");
    }
}

#[test]
fn the_chart_beside_the_kept_report_is_its_own() {
    let report: Report = serde_json::from_str(REPORT).unwrap();
    assert!(
        draw(&report) == CHART,
        "run: bench chart docs/bench.json > docs/bench.svg"
    );
}

#[test]
fn what_was_not_measured_is_not_drawn_and_words_stay_words() {
    let mut report = Report::new(vec!["2 < 3 & \"so\"".to_owned()]);
    let empty = draw(&report);
    elements(&empty);
    let mut section = Section::new("latency", "x");
    let row = Row::new("one way, p50", Value::Seconds(5e-5)).bare(Value::Seconds(1e-5), 5.0);
    section.rows.push(row.beside("<b>", Value::Seconds(1e-3)));
    report.sections.push(section);
    let drawn = draw(&report);
    let more = elements(&drawn)["rect"] - elements(&empty)["rect"];
    assert_eq!(more, 3, "ours, the limit and one alternative");
    assert!(drawn.contains("&lt;b&gt;"));
}
