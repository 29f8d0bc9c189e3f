//! Names of teammates, and the words that stand for them.

use crate::table::is_verb;
use crate::words::{Kind, Token};

/// Words that are never a name.
const NO_NAMES: &str = "a about all an and any as at background by down each every everybody \
    everyone file files for from further i inbox instructions into is it message messages my new \
    no now on or other our plan please saying shutdown some task tasks team teammates that the then \
    these this to up we with you teammate agent member";
const AROUND: &str = "the teammate agent member";
const PRONOUNS: &str = "her him she he his hers its them they their both";

pub(crate) fn is_name(token: &Token<'_>) -> bool {
    let allowed = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let fits = (1..=64).contains(&token.text.len()) && token.text.chars().all(allowed);
    fits && token.kind != Kind::Mark && !token.is_any(NO_NAMES) && !is_verb(token)
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

    /// The names in `alice, bob and the frontend teammate`; none if a word stands for nobody.
    pub(crate) fn list(&self, tokens: &[Token<'_>]) -> Option<Vec<String>> {
        if tokens.last()?.separates() {
            return None;
        }
        let parts = tokens.split(Token::separates);
        let parts = parts.filter(|part| !part.is_empty());
        let names: Option<Vec<_>> = parts.map(|part| self.one(part)).collect();
        names.map(|names| names.concat())
    }

    fn one(&self, tokens: &[Token<'_>]) -> Option<Vec<String>> {
        let words = tokens.iter().filter(|token| !token.is_any(AROUND));
        match words.collect::<Vec<_>>().as_slice() {
            [word] if word.is_any("me us") => Some(vec![self.speaker.clone()?]),
            [word] if is_name(word) && !word.is_any(PRONOUNS) => Some(vec![self.known(word.text)]),
            [word] => self.owner(word),
            [word, both] if both.is_any("both") => self.owner(word),
            _ => None,
        }
    }

    /// Whose, as in `her`, `their`, `bob's` or `it`.
    pub(crate) fn owner(&self, token: &Token<'_>) -> Option<Vec<String>> {
        if token.is_any("them they their both") {
            let several = [&self.last, &self.all]
                .into_iter()
                .find(|names| names.len() > 1);
            return Some(several.unwrap_or(&self.all).clone()).filter(|names| !names.is_empty());
        }
        if token.is_any("her him she he his hers its the this it") {
            return Some(vec![self.last.last()?.clone()]);
        }
        let owner = token.text.strip_suffix('s')?;
        let owner = owner.strip_suffix(['\'', '\u{2019}'])?;
        Some(vec![self.known(owner)])
    }

    /// The name as it was first written: case does not tell names apart.
    fn known(&self, name: &str) -> String {
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        let known = self.all.iter().find(same);
        known.cloned().unwrap_or_else(|| name.to_owned())
    }
}
