//! Names of teammates, and the words that stand for them.

use crate::table::is_verb;
use crate::words::{Kind, Token};

/// Words that are never a name.
const NO_NAMES: &str = "a about all an and any as at background by down each every everybody \
    everyone file files for from further i inbox instructions into is it message messages my new \
    no now on or other our plan please saying shutdown some task tasks team teammates that the then \
    these this to up we with you teammate agent member";
const AROUND: &str = "the teammate agent member";
const ONE: &str = "her him she he his hers its";
const SEVERAL: &str = "them they their both";

/// A mention of a teammate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mention<'a> {
    Name(&'a str),
    /// The teammate that was named last.
    Last,
    /// The teammates that were named last.
    LastSeveral,
    /// Whoever gave the instruction.
    Speaker,
}

pub(crate) fn is_name(token: &Token<'_>) -> bool {
    let allowed = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let fits = (1..=64).contains(&token.text.len()) && token.text.chars().all(allowed);
    fits && token.kind != Kind::Mark && !token.is_any(NO_NAMES) && !is_verb(token)
}

/// Several teammates, as in `alice, bob and the frontend teammate`.
pub(crate) fn list<'a>(tokens: &[Token<'a>]) -> Option<Vec<Mention<'a>>> {
    if tokens.last()?.separates() {
        return None;
    }
    let parts = tokens.split(Token::separates);
    parts.filter(|part| !part.is_empty()).map(one).collect()
}

fn one<'a>(tokens: &[Token<'a>]) -> Option<Mention<'a>> {
    let words = tokens.iter().filter(|token| !token.is_any(AROUND));
    match words.collect::<Vec<_>>().as_slice() {
        [word] if word.is_any(ONE) => Some(Mention::Last),
        [word] if word.is_any("me us") => Some(Mention::Speaker),
        [word] if word.is_any(SEVERAL) => Some(Mention::LastSeveral),
        [word, both] if word.is_any(SEVERAL) && both.is_any("both") => Some(Mention::LastSeveral),
        [word] if is_name(word) => Some(Mention::Name(word.text)),
        _ => None,
    }
}

/// Whose, as in `her`, `bob's` or `it`.
pub(crate) fn owner<'a>(token: &Token<'a>) -> Option<Mention<'a>> {
    if token.is_any(ONE) || token.is_any("the this it") {
        return Some(Mention::Last);
    }
    if token.is_any(SEVERAL) {
        return Some(Mention::LastSeveral);
    }
    let owner = token.text.strip_suffix('s')?;
    let owner = owner.strip_suffix(['\'', '\u{2019}'])?;
    Some(Mention::Name(owner))
}

/// The teammates that were named so far.
#[derive(Clone, Debug, Default)]
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

    /// The names; none if a word stands for nobody.
    pub(crate) fn resolve(&self, mentions: &[Mention<'_>]) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for mention in mentions {
            match mention {
                Mention::Name(name) => names.push(self.as_written(name)),
                Mention::Last => names.push(self.last.last()?.clone()),
                Mention::Speaker => names.push(self.speaker.clone()?),
                Mention::LastSeveral if self.last.len() > 1 => names.extend_from_slice(&self.last),
                Mention::LastSeveral => names.extend_from_slice(&self.all),
            }
        }
        (!names.is_empty()).then_some(names)
    }

    /// The name as it was first written: case does not tell names apart.
    fn as_written(&self, name: &str) -> String {
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        let known = self.all.iter().find(same);
        known.cloned().unwrap_or_else(|| name.to_owned())
    }
}
