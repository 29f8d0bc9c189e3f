//! Cuts an instruction into tokens, and the tokens into clauses with one verb each.

use crate::names::is_name;
use crate::table::{is_team_verb, is_verb};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Quoted,
    Mark,
}

/// A word, a quoted text without its quotes, or one punctuation mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The place of the token with its quotes.
    start: usize,
    end: usize,
}

impl Token<'_> {
    pub(crate) fn is_mark(&self, marks: &str) -> bool {
        self.kind == Kind::Mark && marks.contains(self.text)
    }

    /// Whether the token is one of these words, which are separated by spaces.
    pub(crate) fn is_any(&self, words: &str) -> bool {
        let mut words = words.split(' ');
        self.kind == Kind::Word && words.any(|word| word.eq_ignore_ascii_case(self.text))
    }

    /// Whether the token stands between the items of a list.
    pub(crate) fn separates(&self) -> bool {
        self.is_mark(",") || self.is_any("and")
    }

    pub(crate) fn is_path(&self) -> bool {
        match self.kind {
            Kind::Quoted => !self.text.trim().is_empty() && !self.text.contains('\n'),
            Kind::Word => self.text.contains(['.', '/']) || self.is_any("makefile readme license"),
            Kind::Mark => false,
        }
    }

    /// The number in digits or as a small word.
    pub(crate) fn number(&self) -> Option<i64> {
        let words = ["one", "two", "three", "four", "five", "six", "seven"];
        let place = (1..).zip(words).find(|(_, word)| self.is_any(word));
        let digits = || self.text.trim_start_matches('#').parse().ok();
        place.map(|(number, _)| number).or_else(digits)
    }
}

/// An instruction of more tokens is not read.
pub(crate) const MOST_TOKENS: usize = 500;

pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    while found.len() <= MOST_TOKENS
        && let Some(rest) = text.get(start..)
        && let Some(first) = rest.chars().next()
    {
        let (kind, inner, length) = if let Some((inner, length)) = quoted(rest) {
            (Kind::Quoted, inner, length)
        } else if is_mark(rest) {
            let length = first.len_utf8();
            (Kind::Mark, rest.get(..length).unwrap_or_default(), length)
        } else if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        } else {
            let ends = |at: &usize| {
                let rest = rest.get(*at..).unwrap_or_default();
                is_mark(rest) || rest.starts_with(char::is_whitespace)
            };
            let mut places = rest.char_indices().skip(1).map(|(at, _)| at);
            let length = places.find(ends).unwrap_or(rest.len());
            (Kind::Word, rest.get(..length).unwrap_or_default(), length)
        };
        let (text, end) = (inner, start + length);
        found.push(Token {
            kind,
            text,
            start,
            end,
        });
        start = end;
    }
    found
}

/// Whether a mark begins here that is no part of a word, as it is in `a.txt` or `./run.sh`.
fn is_mark(rest: &str) -> bool {
    let marks = ['.', ',', ';', ':', '!', '?', '(', ')', '\u{2026}'];
    let mut next = rest.chars().take(8).skip_while(|char| marks.contains(char));
    let is_last = next.next().is_none_or(char::is_whitespace);
    rest.starts_with(['(', ')', ',', ';', '\n']) || rest.starts_with(marks) && is_last
}

/// The quoted text that begins here, and its length with the quotes.
fn quoted(rest: &str) -> Option<(&str, usize)> {
    let open = rest.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '\u{201c}' => '\u{201d}',
        '\u{2018}' => '\u{2019}',
        '\u{ab}' => '\u{bb}',
        _ => return None,
    };
    let inside = rest.get(open.len_utf8()..)?;
    // An apostrophe inside a word closes nothing.
    let closes = |end: &usize| {
        let next = inside.get(end + close.len_utf8()..).unwrap_or_default();
        !matches!(close, '\'' | '\u{2019}') || !next.starts_with(char::is_alphanumeric)
    };
    let mut ends = inside.match_indices(close).map(|(end, _)| end);
    let end = ends.find(closes)?;
    Some((inside.get(..end)?, open.len_utf8() + end + close.len_utf8()))
}

/// The part of the text that neighbouring tokens cover. A single quoted text comes without quotes.
pub(crate) fn covered<'a>(text: &'a str, tokens: &[Token<'a>]) -> &'a str {
    match tokens {
        [] => "",
        [only] => only.text,
        [first, .., last] => text.get(first.start..last.end).unwrap_or_default(),
    }
}

/// Cuts an instruction into clauses, each with one verb.
pub(crate) fn clauses<'a>(tokens: &[Token<'a>]) -> Vec<Vec<Token<'a>>> {
    let mut all = Vec::new();
    let mut open: Vec<Token<'a>> = Vec::new();
    let mut rest = tokens;
    while let [token, later @ ..] = rest {
        rest = later;
        let next = match later {
            [and, later @ ..] if token.is_mark(",") && and.is_any("and") => later,
            _ => later,
        };
        if token.separates()
            && let Some(verb) = cut(&open, next)
        {
            all.push(std::mem::take(&mut open));
            open.extend(verb);
            rest = next;
        } else if token.is_mark(".;!?\n\u{2026}") || token.is_any("then") {
            all.push(std::mem::take(&mut open));
        } else {
            open.push(*token);
        }
    }
    all.push(open);
    all
}

/// Whether a clause ends before `rest`, and the verb that the next one leaves out, as in `ask
/// alice to read a.txt and bob to run ls`.
fn cut<'a>(open: &[Token<'a>], rest: &[Token<'a>]) -> Option<Option<Token<'a>>> {
    let next = rest.first()?;
    let at = open.iter().position(is_verb)?;
    let verb = open.get(at)?;
    // Nothing follows the verb yet, as in `review and reject his plan`.
    if at + 1 == open.len() {
        return None;
    }
    if is_team_verb(next) {
        return Some(None);
    }
    let is_verb_at = |place: usize| rest.get(place).is_some_and(is_verb);
    if verb.is_any("ask tell have let get") {
        let given = open.iter().filter(|token| is_verb(token)).count() > 1;
        let to = rest.get(1).is_some_and(|second| second.is_any("to"));
        let works = if to { is_verb_at(2) } else { is_verb_at(1) };
        let same = to != verb.is_any("have let");
        return (given && is_name(next) && works && same).then_some(Some(*verb));
    }
    if verb.is_any("read") && next.is_path() {
        return Some(Some(*verb));
    }
    // The subjects of tasks may begin with any verb, and so may the work of a new teammate.
    let has = |words: &str| open.iter().any(|token| token.is_any(words));
    let lists = has("tasks") && open.iter().all(|token| token.kind != Kind::Quoted);
    let spawns = verb.is_any("spawn hire launch") && has("to who");
    (is_verb(next) && !lists && !spawns).then_some(None)
}
