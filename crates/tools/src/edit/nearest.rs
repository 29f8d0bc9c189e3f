//! Finds the passage of a file that is most like a text that does not occur in it.

use std::fmt::Write as _;

use similar::TextDiff;

/// In longer files no passage is looked for.
const MOST_LINES: usize = 20_000;
/// Of a longer text only so many lines are compared.
const MOST_COMPARED: usize = 100;
/// Lines longer than this are compared by their start, in bytes.
const LONGEST_LINE: usize = 300;
/// Passages that are less alike are not worth showing.
const LEAST: f32 = 0.6;

/// The most similar passage with the numbers of its lines, if any is similar. If only white space
/// differs, that is said.
pub(super) fn nearest(content: &str, wanted: &str) -> Option<String> {
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = wanted.lines().take(MOST_COMPARED).collect();
    if lines.len() > MOST_LINES || wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let at = same_but_for_space(&lines, &wanted);
    let (at, remark) = match at {
        Some(at) => (at, "where only white space differs"),
        None => (most_similar(&lines, &wanted)?, "similar"),
    };
    let shown = lines.get(at..(at + wanted.len()).min(lines.len()))?;
    let mut text = format!("at line {} ({remark}):", at + 1);
    for line in shown {
        let _ = write!(text, "\n{line}");
    }
    Some(text)
}

fn same_but_for_space(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut starts = lines.windows(wanted.len());
    starts.position(|window| {
        let mut pairs = window.iter().zip(wanted);
        pairs.all(|(line, wanted)| line.split_whitespace().eq(wanted.split_whitespace()))
    })
}

/// The start of the passage whose first line resembles the wanted one most.
fn most_similar(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let anchor = wanted.iter().position(|line| !line.trim().is_empty())?;
    let first = wanted.get(anchor)?;
    let mut best = None;
    for (at, line) in lines.iter().enumerate() {
        let likeness = likeness(line, first);
        if likeness >= LEAST && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(anchor))
}

fn likeness(one: &str, other: &str) -> f32 {
    let (one, other) = (start(one.trim()), start(other.trim()));
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if long == 0 || short * 2 < long {
        return 0.0;
    }
    TextDiff::from_chars(one, other).ratio()
}

fn start(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LONGEST_LINE))
        .unwrap_or(line)
}
