//! No decision is made on a text that people or models read: program state has a type.

use crate::sources::{crates, sources};

/// Calls that compare a text with a literal, up to the literal's opening quote.
const COMPARISONS: [&str; 7] = [
    ".starts_with(\"",
    ".ends_with(\"",
    ".contains(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    "== \"",
    "!= \"",
];

/// Where texts of others are read, which have no type.
const FOREIGN_TEXTS: [&str; 2] = [
    // Errors of model servers say what is wrong in their texts alone.
    "crates/llm/src/failure",
    // The offline model reads instructions in plain English.
    "crates/offline/src",
];

/// Crates that are no part of the product.
const TEST_CRATES: [&str; 3] = ["bench", "chaos", "test-support"];

#[test]
fn no_decision_is_made_on_a_readable_text() {
    let names = crates().into_iter();
    let folders = names
        .filter(|name| !TEST_CRATES.contains(&name.as_str()))
        .map(|name| format!("crates/{name}/src"))
        .chain(["bin".to_owned()]);
    let mut found = Vec::new();
    for source in folders.flat_map(|folder| sources(&folder)) {
        if FOREIGN_TEXTS
            .iter()
            .any(|text| source.path.starts_with(text))
        {
            continue;
        }
        for (number, line) in source.code() {
            if compared(line).any(is_readable) {
                found.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert_eq!(found, [""; 0], "give the state a field or a variant");
}

/// The literals that a line compares something with.
fn compared(line: &str) -> impl Iterator<Item = &str> {
    let starts = COMPARISONS.iter().flat_map(|call| line.split(call).skip(1));
    starts.filter_map(|rest| rest.split('"').next())
}

/// Whether a literal has two words, as a text for readers has and a name of a format has not.
fn is_readable(literal: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    literal.split(' ').filter(is_word).count() > 1
        || literal.ends_with(' ') && literal.trim().contains(' ')
}

#[test]
fn a_comparison_with_a_readable_text_is_found() {
    for line in [
        r#"let rest = result.strip_prefix("Background task ")?;"#,
        r#"reason == "The lead is leaving.""#,
    ] {
        assert!(compared(line).any(is_readable), "{line}");
    }
    for line in [
        r#"name.strip_suffix(".jsonl")"#,
        r#"kind == "user""#,
        r#"format!("two words")"#,
    ] {
        assert!(!compared(line).any(is_readable), "{line}");
    }
}
