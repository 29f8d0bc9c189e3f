//! The chart of the page, as SVG. It brings its own background, so that it reads alike on light and on dark pages.

use super::super::report::{Report, Row, Value};
use super::{find, rows};
use std::fmt::Write as _;

const WIDTH: f64 = 880.0;
/// The space for the names of contestants.
const NAMES: f64 = 250.0;
/// The end of the axes.
const RIGHT: f64 = 800.0;
const LINE: f64 = 24.0;
const OURS: &str = "#0969da";
const OTHER: &str = "#6e7781";
const KILLS: &str = "#bc4c00";
const TEXT: &str = "#1f2328";
const GRID: &str = "#d0d7de";

/// A bar: its name, its value, and whether it is ours.
type Bar = (String, Value, bool);

/// Draws wake-ups and rates of all mailboxes, and the makespans of teams.
pub(super) fn draw(report: &Report) -> String {
    let mut body = String::new();
    let mut y = 20.0;
    let panels = [
        (
            "mailboxes: one way, p50",
            "One message to its reader",
            "wake-up, p50 (log scale)",
        ),
        (
            "mailboxes: messages, 4",
            "Messages of 4 writers while the reader is killed again and again",
            "messages a second (log scale)",
        ),
    ];
    for (row, title, axis) in panels {
        y = panel(&mut body, &bars(report, row), y, title, axis);
    }
    y = makespans(&mut body, report, y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" height=\"{y}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"{TEXT}\">\n\
         <title>team-lead beside other mailboxes, and what coordination costs a team</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#ffffff\" stroke=\"{GRID}\"/>\n{body}</svg>\n"
    )
}

/// Ours and the others, synced and not.
fn bars(report: &Report, begins: &str) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (prefix, name) in [
        ("synced: ", "team-lead, synced"),
        ("", "team-lead, not synced"),
    ] {
        let Some(row) = find(report, "team", &format!("{prefix}{begins}")) else {
            continue;
        };
        bars.push((name.to_owned(), row.ours, true));
        let others = row.alternatives.iter();
        bars.extend(others.map(|other| (other.name.clone(), other.value, false)));
    }
    bars
}

/// Bars on a logarithmic axis. Returns where the next panel begins.
fn panel(body: &mut String, bars: &[Bar], top: f64, title: &str, axis: &str) -> f64 {
    let numbers = bars
        .iter()
        .map(|(_, value, _)| value.number())
        .filter(|number| *number > 0.0);
    let (least, most) = numbers.fold((f64::MAX, f64::MIN), |(least, most), number| {
        (least.min(number), most.max(number))
    });
    if least > most {
        return top;
    }
    // Whole powers of ten around all values.
    let low = (least.log10() - 0.01).floor();
    let high = most.log10().ceil().max(low + 1.0);
    let place = |number: f64| NAMES + (RIGHT - NAMES) * (number.log10() - low) / (high - low);
    let first = top + 34.0;
    let bottom = first + LINE * bars.len() as f64 + 4.0;
    text(body, (16.0, top + 12.0), "start", true, title);
    for power in low as i32..=high as i32 {
        let number = 10_f64.powi(power);
        let x = place(number);
        line(body, (x, first - 6.0), (x, bottom), GRID);
        text(
            body,
            (x, bottom + 16.0),
            "middle",
            false,
            &with(bars, number).to_string(),
        );
    }
    for (at, bar) in bars.iter().enumerate() {
        let value = bar.1.number();
        let end = if value > 0.0 { place(value) } else { NAMES };
        draw_bar(body, bar, end, first + LINE * at as f64);
    }
    text(
        body,
        (f64::midpoint(NAMES, RIGHT), bottom + 34.0),
        "middle",
        false,
        axis,
    );
    bottom + 60.0
}

/// A bar from the axis to `end`, with its name and its value.
fn draw_bar(body: &mut String, (name, value, is_ours): &Bar, end: f64, y: f64) {
    text(body, (NAMES - 8.0, y + 13.0), "end", *is_ours, name);
    let _ = writeln!(
        body,
        "<rect x=\"{NAMES}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
        (end - NAMES).max(1.0),
        LINE - 7.0,
        if *is_ours { OURS } else { OTHER }
    );
    let value = value.to_string();
    text(body, (end + 5.0, y + 13.0), "start", *is_ours, &value);
}

/// A number with the unit of the bars.
fn with(bars: &[Bar], number: f64) -> Value {
    match bars.first().map(|(_, value, _)| *value) {
        Some(Value::Seconds(_)) => Value::Seconds(number),
        Some(Value::PerSecond(_)) => Value::PerSecond(number),
        Some(Value::Bytes(_)) => Value::Bytes(number),
        Some(Value::Share(_)) => Value::Share(number),
        Some(Value::Count(_)) | None => Value::Count(number),
    }
}

/// Makespans over the least that is possible, by the number of members. Returns where the picture ends.
fn makespans(body: &mut String, report: &Report, top: f64) -> f64 {
    let found: Vec<(u32, f64, bool)> = rows(report, "team").filter_map(makespan).collect();
    if found.is_empty() {
        return top;
    }
    let most = found.iter().map(|(_, ratio, _)| *ratio).fold(1.2, f64::max);
    let most = (most * 10.0).ceil() / 10.0;
    let (first, bottom, left) = (top + 34.0, top + 194.0, 90.0);
    let x = |members: u32| left + 60.0 + (RIGHT - left - 120.0) * f64::from(members).log2() / 4.0;
    let y = |ratio: f64| bottom - (bottom - first) * (ratio - 1.0) / (most - 1.0);
    text(
        body,
        (16.0, top + 12.0),
        "start",
        true,
        "Time of a team for a random graph of tasks",
    );
    let mut ratio = 1.0;
    while ratio <= most + 1e-9 {
        line(body, (left, y(ratio)), (RIGHT, y(ratio)), GRID);
        text(
            body,
            (left - 8.0, y(ratio) + 4.0),
            "end",
            false,
            &format!("{ratio:.1}x"),
        );
        ratio += 0.1;
    }
    for members in [1, 2, 4, 8, 16] {
        text(
            body,
            (x(members), bottom + 16.0),
            "middle",
            false,
            &members.to_string(),
        );
    }
    for (has_kills, colour, name) in [(false, OURS, "without kills"), (true, KILLS, "with kills")] {
        let of = found.iter().filter(|(_, _, kills)| *kills == has_kills);
        let points = of.map(|(members, ratio, _)| (x(*members), y(ratio.max(1.0))));
        let points: Vec<(f64, f64)> = points.collect();
        curve(body, &points, colour);
        if let Some((x, y)) = points.last() {
            let y = y + if has_kills { 18.0 } else { -10.0 };
            text(body, (*x, y), "middle", true, name);
        }
    }
    text(
        body,
        (f64::midpoint(left, RIGHT), bottom + 34.0),
        "middle",
        false,
        "members (log scale)",
    );
    let _ = writeln!(
        body,
        "<text transform=\"translate(24 {:.1}) rotate(-90)\" text-anchor=\"middle\">times the least possible</text>",
        f64::midpoint(first, bottom)
    );
    bottom + 54.0
}

fn curve(body: &mut String, points: &[(f64, f64)], colour: &str) {
    let path = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    let path: Vec<String> = path.collect();
    let _ = writeln!(
        body,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in points {
        let _ = writeln!(
            body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
        );
    }
}

/// The members, the ratio, and whether there were kills.
fn makespan(row: &Row) -> Option<(u32, f64, bool)> {
    let rest = row.what.strip_prefix("makespan, ")?;
    let members = rest.split(' ').next()?.parse().ok()?;
    Some((members, row.bare?.ratio?, rest.contains("kills")))
}

fn line(body: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(
        body,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(body: &mut String, (x, y): (f64, f64), anchor: &str, is_strong: bool, text: &str) {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let weight = if is_strong {
        " font-weight=\"600\""
    } else {
        ""
    };
    let _ = writeln!(
        body,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{weight}>{text}</text>"
    );
}
