//! Matches the tokens of a clause against a pattern.
//!
//! A pattern is a line of elements. A word stands for itself, `a|b` for one of several, `[a|b]`
//! for any number of them, and a word in capitals is a slot, which `[SLOT]` makes optional:
//!
//! - `NAMES`: one or more teammates, `WHOSE`: `her`, `bob's`, `it`;
//! - `FILE`: a path, `DIR`: a path that may be a plain word, `NUM`: a number, `ID`: a request's id;
//! - `TEXT`: a quoted text or some words, `LIST`: any tokens with their brackets closed;
//! - `REST`: everything that follows, `WORK`: the same if it begins with a verb.
//!
//! Words that change nothing, such as `the`, are skipped where no element takes them.

use std::collections::HashSet;

use crate::names::Known;
use crate::table::is_verb;
use crate::words::{Kind, Token};

/// The slots of a pattern in order, with the tokens that each took.
pub(crate) type Captures<'c, 'a> = Vec<(&'static str, &'c [Token<'a>])>;

const FILLERS: &str =
    "the a an my your our of all new some any short simple small me please now too";

/// A list of names longer than this is not one.
const MOST_NAME_TOKENS: usize = 100;

/// What the slots of a pattern take, if the tokens match it.
pub(crate) fn captures<'c, 'a>(
    pattern: &'static str,
    tokens: &'c [Token<'a>],
    known: &Known,
) -> Option<Captures<'c, 'a>> {
    let elements: Vec<&'static str> = pattern.split(' ').collect();
    let mut search = Search {
        known,
        captures: Vec::new(),
        failed: HashSet::new(),
    };
    let matches = search.matches(&elements, tokens);
    matches.then_some(search.captures)
}

struct Search<'k, 'c, 'a> {
    known: &'k Known,
    captures: Captures<'c, 'a>,
    /// How many elements and tokens were left where no match was found, to look there once only.
    failed: HashSet<(usize, usize)>,
}

impl<'c, 'a> Search<'_, 'c, 'a> {
    fn matches(&mut self, elements: &[&'static str], tokens: &'c [Token<'a>]) -> bool {
        let place = (elements.len(), tokens.len());
        let matches = !self.failed.contains(&place) && self.matches_here(elements, tokens);
        if !matches {
            self.failed.insert(place);
        }
        matches
    }

    fn matches_here(&mut self, elements: &[&'static str], tokens: &'c [Token<'a>]) -> bool {
        let Some((element, later)) = elements.split_first() else {
            return tokens.iter().all(is_filler);
        };
        let (inner, again) = match element.strip_prefix('[') {
            Some(inner) => (inner.trim_end_matches(']'), elements),
            None => (*element, later),
        };
        if inner.bytes().all(|byte| byte.is_ascii_uppercase()) {
            if self.slot(inner, later, tokens) {
                return true;
            }
        } else if let Some((first, rest)) = tokens.split_first()
            && first.kind != Kind::Quoted
            && inner
                .split('|')
                .any(|word| word.eq_ignore_ascii_case(first.text))
            && self.matches(again, rest)
        {
            return true;
        }
        let skips = tokens.split_first().filter(|(first, _)| is_filler(first));
        element.starts_with('[') && self.matches(later, tokens)
            || skips.is_some_and(|(_, rest)| self.matches(elements, rest))
    }

    /// Tries all lengths of a slot, the shortest first.
    fn slot(
        &mut self,
        name: &'static str,
        later: &[&'static str],
        tokens: &'c [Token<'a>],
    ) -> bool {
        let all = tokens.len();
        let (least, most) = match name {
            "REST" | "WORK" => (all.max(1), all),
            "TEXT" | "LIST" => (1, all),
            "NAMES" => (1, all.min(MOST_NAME_TOKENS)),
            _ => (1, all.min(1)),
        };
        for length in least..=most {
            let (taken, rest) = tokens.split_at(length);
            if fits(name, taken, self.known) {
                self.captures.push((name, taken));
                if self.matches(later, rest) {
                    return true;
                }
                self.captures.pop();
            }
        }
        false
    }
}

fn is_filler(token: &Token<'_>) -> bool {
    token.is_any(FILLERS) || token.kind == Kind::Word && token.number().is_some()
}

fn fits(slot: &str, taken: &[Token<'_>], known: &Known) -> bool {
    let Some(first) = taken.first() else {
        return false;
    };
    let count = |mark: &str| taken.iter().filter(|token| token.is_mark(mark)).count();
    match slot {
        "NAMES" => known.list(taken).is_some(),
        "WHOSE" => known.owner(first).is_some(),
        "FILE" => first.is_path(),
        "DIR" => first.kind != Kind::Mark,
        "NUM" => first.number().is_some(),
        "ID" => {
            let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
            first.text.contains(char::is_numeric) && first.text.chars().all(allowed)
        }
        // Words around a quoted text are not part of it.
        "TEXT" => taken.len() == 1 || taken.iter().all(|token| token.kind != Kind::Quoted),
        "LIST" => count("(") == count(")"),
        "WORK" => is_verb(first),
        _ => true,
    }
}
