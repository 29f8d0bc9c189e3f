//! The notation of the table, and the regular expression that each pattern becomes.
//!
//! A pattern is a line of elements. A word stands for itself, `a|b` for one of several, `[a|b]`
//! for any number of them, and a word in capitals is a slot, which `[SLOT]` makes optional:
//!
//! - `NAMES`: one or more teammates, `NAME`: a new one, `WHOSE`: `her`, `bob's`, `it`;
//! - `FILE`: a path, `DIR`: a path that may be a plain word, `NUM`: a number, `ID`: a request's id;
//! - `TEXT`: a quoted text or some words, `QUOTED`: a quoted text, `LIST`: items with commas or `and`;
//! - `REST`: everything that follows, `WORK`: the same if it begins with a verb.
//!
//! Words that change nothing, such as `the`, are skipped where no element takes them.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex};

use super::quotes::HIDDEN;
use crate::table::{ROWS, Verb};

const FILLERS: &str = r"the|a|an|my|your|our|of|all|new|some|any|short|simple|small|me|please|now|too|\d+|one|two|three|four|five";

/// A pattern that is compiled when it is first tried.
pub(crate) struct Pattern {
    text: &'static str,
    regex: OnceLock<Regex>,
}

impl Pattern {
    pub(crate) const fn new(text: &'static str) -> Self {
        let regex = OnceLock::new();
        Self { text, regex }
    }

    /// What the slots take of a clause, if it matches.
    pub(crate) fn captures<'c>(&self, clause: &'c str) -> Option<Captures<'c>> {
        let first = clause.split([' ', ':', ',']).next().unwrap_or_default();
        let mut words = self.first_words().peekable();
        // Most patterns are ruled out by their first word, and need not be compiled.
        let may = words.peek().is_none() || words.any(|word| word.eq_ignore_ascii_case(first));
        let compile = || regex(&self.text.split(' ').map(element).collect::<String>());
        may.then(|| self.regex.get_or_init(compile).captures(clause))?
    }

    /// The words that the pattern may begin with, if it begins with words.
    pub(crate) fn first_words(&self) -> impl Iterator<Item = &'static str> {
        let first = self.text.split(' ').next();
        let words = first.filter(|first| !first.starts_with(['[', 'N']));
        words.into_iter().flat_map(|words| words.split('|'))
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &'static str> {
        let elements = self.text.split(' ');
        let elements = elements.map(|element| element.trim_matches(['[', ']']));
        elements.filter(|element| is_slot(element))
    }
}

pub(crate) static TABLE: LazyLock<Vec<(Verb, Pattern)>> = LazyLock::new(|| {
    let rows = ROWS.iter().map(|(verb, text)| (*verb, Pattern::new(text)));
    rows.collect()
});

/// The words that patterns of the table begin with, as alternatives.
pub(crate) static VERBS: LazyLock<String> = LazyLock::new(|| {
    let first = TABLE.iter().flat_map(|(_, pattern)| pattern.first_words());
    first.collect::<Vec<_>>().join("|")
});

/// A regular expression of this crate, which does not tell capitals apart and matches a whole text.
pub(crate) fn regex(text: &str) -> Regex {
    Regex::new(&format!("(?i)^(?:{text})$")).expect("the tests compile all patterns")
}

fn is_slot(element: &str) -> bool {
    element.starts_with(|char: char| char.is_ascii_uppercase())
}

/// The expression of one element, with what may stand between it and the next.
fn element(element: &str) -> String {
    let gap = format!(r"(?:[\s:,]+(?:(?:{FILLERS})(?:[\s:,]+|$))*?|$)");
    let inner = element.trim_matches(['[', ']']);
    match (element.starts_with('['), is_slot(inner)) {
        (false, false) => format!("(?:{inner}){gap}"),
        (false, true) => format!("(?<{inner}>{}){gap}", slot(inner)),
        (true, false) => format!("(?:(?:{inner}){gap})*"),
        (true, true) => format!("(?:(?<{inner}>{}){gap})?", slot(inner)),
    }
}

fn slot(name: &str) -> String {
    let one = r"(?:the\s+)?[^\s,:]+(?:\s+(?:teammate|both))?";
    match name {
        "NAMES" => format!(r"{one}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){one})*"),
        "WHOSE" => r"\S+['\u2019]s|her|his|him|its|it|this|their|them|both|the".to_owned(),
        "FILE" => format!(r"[{HIDDEN}]|[^\s,]*[./][^\s,]*|makefile|readme|license"),
        "DIR" | "NAME" => r"[^\s,:]+".to_owned(),
        "NUM" => r"#?\d+".to_owned(),
        "ID" => r"[a-z0-9_-]*\d[a-z0-9_-]*".to_owned(),
        "QUOTED" => format!("[{HIDDEN}]"),
        "TEXT" | "TEXT2" => format!("[{HIDDEN}]|[^{HIDDEN}]+?"),
        "WORK" => format!(r"(?:{})\b.*", *VERBS),
        "LIST" => ".+?".to_owned(),
        _ => ".+".to_owned(),
    }
}
