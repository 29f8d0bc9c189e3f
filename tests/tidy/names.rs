//! Names and texts are plain: no metaphor stands for a thing that has a technical name.

use crate::sources::{crates, root};
use std::fs;
use std::path::Path;

/// A metaphor, and what to write instead.
const METAPHORS: &[(&str, &str)] = &[
    ("attic", "trash"),
    ("blow", "fault"),
    ("blows", "faults"),
    ("boss", "operator"),
    ("brain", "model"),
    ("chair", "permit"),
    ("checkup", "doctor"),
    ("clerk", "handler"),
    ("crew", "processes"),
    ("dealings", "team"),
    ("desk", "member"),
    ("diary", "log"),
    ("farewell", "shutdown"),
    ("keepsake", "member file"),
    ("keepsakes", "member files"),
    ("letter", "message, or dead letter"),
    ("letters", "mail, or dead letters"),
    ("life", "incarnation"),
    ("mate", "teammate"),
    ("mates", "teammates"),
    ("mourn", "reap"),
    ("mourned", "reaped"),
    ("mourning", "reaping"),
    ("nurse", "restarter"),
    ("obituary", "death notice"),
    ("purse", "budget"),
    ("seat", "handle"),
    ("toil", "work"),
    ("untold", "pending"),
    ("yardstick", "baseline"),
];

/// Pairs of words that are plain though the second is a metaphor elsewhere.
const PLAIN: &[(&str, &str)] = &[
    ("capital", "letter"),
    ("capital", "letters"),
    ("dead", "letter"),
    ("dead", "letters"),
    ("first", "letter"),
    // Names are made of letters, digits and two signs.
    ("name", "letters"),
    ("to", "letters"),
];

/// The words of a line in lower case; identifiers are split where their parts meet.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for next in line.chars() {
        let begins = before.is_lowercase() && next.is_uppercase();
        if begins || !next.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && next.is_alphabetic()
        {
            word.extend(next.to_lowercase());
        }
        before = next;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The metaphors of a text, each with its line and what to write instead. A pair may cross a line.
fn metaphors(text: &str) -> Vec<(usize, String, &'static str)> {
    let mut found = Vec::new();
    let mut before = String::new();
    for (number, line) in text.lines().enumerate() {
        for word in words(line) {
            let is_plain = PLAIN.contains(&(before.as_str(), word.as_str()));
            let metaphor = METAPHORS.iter().find(|(metaphor, _)| *metaphor == word);
            if let Some((_, instead)) = metaphor.filter(|_| !is_plain) {
                found.push((number + 1, word.clone(), *instead));
            }
            before = word;
        }
    }
    found
}

fn check(path: &Path, found: &mut Vec<String>) {
    let is_text = ["rs", "md", "toml", "py"];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let is_script = path
        .parent()
        .is_some_and(|parent| parent.ends_with("scripts"));
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            check(&entry.path(), found);
        }
    } else if is_script || is_text.contains(&extension.as_ref()) && name != "names.rs" {
        let text = fs::read_to_string(path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap_or(path).display();
        for (line, word, instead) in metaphors(&text) {
            found.push(format!("{shown}:{line}: `{word}`: write {instead}"));
        }
    }
}

#[test]
fn no_metaphors() {
    let mut found = Vec::new();
    for place in ["README.md", "bin", "docs", "scripts", "tests/e2e"] {
        check(&root().join(place), &mut found);
    }
    for name in crates() {
        check(&root().join("crates").join(name), &mut found);
    }
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
}

#[test]
fn words_are_found_in_identifiers_and_dead_letters_are_plain() {
    assert_eq!(
        words("fn dead_letters(MailItem2)"),
        ["fn", "dead", "letters", "mail", "item"]
    );
    assert!(metaphors("a DeadLetter, dead\n/// letters").is_empty());
    let found = metaphors("ok\nthe letter of a template");
    assert_eq!(found, [(2, "letter".to_owned(), "message, or dead letter")]);
}
