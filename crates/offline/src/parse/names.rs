//! Names of teammates, and the words that stand for them.

use std::sync::LazyLock;

use regex::Regex;

use super::items;
use super::pattern::{VERBS, regex};

/// Words that are never a name.
const NO_NAMES: &str = "a|about|all|an|and|any|as|at|background|by|down|each|every|everybody|\
    everyone|file|files|for|from|i|inbox|instructions|into|is|it|message|messages|my|new|no|now|on|or|\
    our|plan|shutdown|some|task|tasks|team|teammate|teammates|that|the|then|these|this|to|up|we|with|you";

pub(crate) fn is_name(word: &str) -> bool {
    static NO_NAME: LazyLock<Regex> = LazyLock::new(|| regex(&format!("{NO_NAMES}|{}", *VERBS)));
    let allowed = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    (1..=64).contains(&word.len()) && word.chars().all(allowed) && !NO_NAME.is_match(word)
}

/// The teammates that were named so far.
#[derive(Debug, Default)]
pub(crate) struct Known {
    last: Vec<String>,
    all: Vec<String>,
    /// Whoever gives the instruction, if it can be written to.
    pub(crate) speaker: Option<String>,
}

impl Known {
    pub(crate) fn mention(&mut self, names: &[String]) {
        for name in names {
            if !self.all.contains(name) {
                self.all.push(name.clone());
            }
        }
        if !names.is_empty() {
            self.last = names.to_vec();
        }
    }

    /// The names in `alice, bob's and the frontend teammate`; none if a word stands for nobody.
    pub(crate) fn list(&self, text: &str) -> Option<Vec<String>> {
        let names: Option<Vec<_>> = items(text).map(|item| self.one(item)).collect();
        names.map(|names| names.concat())
    }

    fn one(&self, item: &str) -> Option<Vec<String>> {
        let item = item.strip_prefix("the ").unwrap_or(item);
        let item = item.trim_end_matches(" teammate").trim_end_matches(" both");
        match item.to_lowercase().as_str() {
            "me" | "us" => Some(vec![self.speaker.clone()?]),
            "them" | "they" | "their" | "both" if self.last.len() > 1 => Some(self.last.clone()),
            "them" | "they" | "their" | "both" if self.all.is_empty() => None,
            "them" | "they" | "their" | "both" => Some(self.all.clone()),
            "her" | "him" | "she" | "he" | "his" | "its" | "it" | "this" | "the" => {
                Some(vec![self.last.last()?.clone()])
            }
            _ => {
                let name = item.trim_end_matches("'s").trim_end_matches("\u{2019}s");
                // Case does not tell names apart: a name stays as it was first written.
                let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
                let known = self.all.iter().find(same).map_or(name, String::as_str);
                is_name(name).then(|| vec![known.to_owned()])
            }
        }
    }
}
