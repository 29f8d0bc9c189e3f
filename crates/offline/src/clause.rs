//! Reads an instruction: one [`Clause`] for each verb in it.

use crate::names::Known;
use crate::pattern::captures;
use crate::table::{ROWS, Verb};
use crate::words::{Kind, Token, clauses, covered, tokens};

/// A verb with what the clause says about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) verb: Verb,
    pub(crate) names: Vec<String>,
    /// The roles of new teammates, in the order of their names.
    pub(crate) roles: Vec<String>,
    /// Free texts in their order.
    pub(crate) texts: Vec<String>,
    pub(crate) path: Option<String>,
    pub(crate) number: i64,
    /// The id of a request.
    pub(crate) id: Option<String>,
    pub(crate) approve: bool,
}

/// What was understood of an instruction, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) unclear: Vec<String>,
}

/// Reads an instruction. `known` has who was named before, and learns who is named now.
pub(crate) fn parse(text: &str, known: &mut Known) -> Parsed {
    let mut parsed = Parsed::default();
    for clause in clauses(&tokens(text)) {
        let clause = without_courtesy(&clause);
        if clause.is_empty() || after_phrase(clause, SMALL_TALK).is_some() {
            continue;
        }
        let read = |row: &(Verb, &'static str)| Clause::read(row, text, clause, known);
        match ROWS.iter().find_map(read) {
            Some(read) => {
                known.mention(&read.names);
                parsed.clauses.push(read);
            }
            None => parsed.unclear.push(covered(text, clause).to_owned()),
        }
    }
    parsed
}

impl Clause {
    fn read(
        (verb, pattern): &(Verb, &'static str),
        text: &str,
        tokens: &[Token<'_>],
        known: &Known,
    ) -> Option<Self> {
        let mut clause = Self {
            verb: *verb,
            approve: tokens.first()?.is_any("approve"),
            ..Self::default()
        };
        for (slot, taken) in captures(pattern, tokens, known)? {
            let first = taken.first()?;
            let plain = covered(text, taken).to_owned();
            match slot {
                "NAMES" => clause.names = known.list(taken)?,
                "WHOSE" => clause.names = known.owner(first)?,
                "LIST" if *verb == Verb::Spawn => clause.members(text, taken)?,
                "LIST" => clause.texts = subjects(text, taken),
                "NUM" => clause.number = first.number()?,
                "ID" => clause.id = Some(plain),
                "FILE" | "DIR" => clause.path = Some(plain),
                _ => clause.texts.push(plain),
            }
        }
        clause.complete()
    }

    /// Fills in what the verb implies. A clause without what its verb needs is none.
    fn complete(mut self) -> Option<Self> {
        let text = self.text();
        match (self.verb, text.as_str()) {
            (Verb::Create, "server config") => self.path = Some("server_config.json".to_owned()),
            (Verb::Create, "web page") => self.path = Some("index.html".to_owned()),
            (Verb::Create, _) if self.path.is_none() => return None,
            (Verb::ReadEvery, kind) if !kind.is_empty() => self.texts = vec![ending(kind)?],
            (Verb::Spawn, work) => {
                let work = work.strip_suffix(" task").unwrap_or(work);
                self.texts = Some(work.to_owned())
                    .into_iter()
                    .filter(|t| !t.is_empty())
                    .collect();
            }
            _ => {}
        }
        let is_empty = |text: &String| text.trim().is_empty();
        (!self.texts.iter().any(is_empty)).then_some(self)
    }

    /// The first free text.
    pub(crate) fn text(&self) -> String {
        self.texts.first().cloned().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }

    /// Reads a list of new teammates: `alice (coder)`, `bob as a tester`, `a writer named eve`, `a
    /// backend teammate`. Fails if two have the same name.
    fn members(&mut self, text: &str, list: &[Token<'_>]) -> Option<()> {
        const ITEMS: [&str; 8] = [
            "[a|teammate] named|called NAMES ( [role|:] LIST )",
            "[a|teammate] named|called NAMES as [a|an|the] REST",
            "[a|teammate] named|called NAMES",
            "[a|an|the] TEXT named|called NAMES",
            "NAMES ( [role|:] LIST )",
            "NAMES as [a|an|the] REST",
            "a|an|the TEXT [teammate|agent]",
            "NAMES",
        ];
        for item in list.split(Token::separates).filter(|item| !item.is_empty()) {
            let known = Known::default();
            let mut patterns = ITEMS.iter();
            let slots = patterns.find_map(|pattern| captures(pattern, item, &known))?;
            let slot = |is_name: bool| {
                let mut slots = slots.iter();
                let found = slots.find(|(slot, _)| (*slot == "NAMES") == is_name);
                found.map(|(_, taken)| covered(text, taken).to_owned())
            };
            let role = slot(false).unwrap_or_else(|| "generalist".to_owned());
            let name = slot(true).unwrap_or_else(|| role.to_lowercase().replace(' ', "-"));
            if self
                .names
                .iter()
                .any(|other| other.to_lowercase() == name.to_lowercase())
            {
                return None;
            }
            self.names.push(name);
            self.roles.push(role);
        }
        Some(())
    }
}

/// The subjects of tasks: quoted texts, or words between commas.
fn subjects(text: &str, list: &[Token<'_>]) -> Vec<String> {
    let quoted = list.iter().filter(|token| token.kind == Kind::Quoted);
    let quoted: Vec<String> = quoted.map(|token| token.text.to_owned()).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let parts = list.split(Token::separates).filter(|part| !part.is_empty());
    parts.map(|part| covered(text, part).to_owned()).collect()
}

/// The ending of the names of files of a kind: `rs` for `Rust`, and `toml` for `toml`.
fn ending(kind: &str) -> Option<String> {
    let kind = kind.to_lowercase();
    let ending = match kind.as_str() {
        "rust" => "rs",
        "python" => "py",
        "markdown" => "md",
        "text" => "txt",
        other => other.trim_start_matches(['*', '.']),
    };
    ending
        .chars()
        .all(char::is_alphanumeric)
        .then(|| ending.to_owned())
}

/// Sentences that ask for nothing.
const SMALL_TALK: &[&str] = &["thanks", "thank you", "hello", "hi", "you are"];

/// Phrases before the verb that change nothing.
const COURTESY: &[&str] = &[
    "please",
    "now",
    "first",
    "next",
    "finally",
    "also",
    "and",
    "just",
    "could you",
    "can you",
    "would you",
    "you should",
    "you must",
    "your task is to",
    "review and",
];

fn without_courtesy<'c, 'a>(clause: &'c [Token<'a>]) -> &'c [Token<'a>] {
    let mut rest = clause;
    loop {
        rest = match (after_phrase(rest, COURTESY), rest) {
            (Some(later), _) => later,
            (None, [mark, later @ ..]) if mark.kind == Kind::Mark => later,
            (None, [before @ .., mark]) if mark.is_mark(',') || mark.is_mark(':') => before,
            (None, _) => return rest,
        }
    }
}

/// What follows the first of the phrases that the tokens begin with.
fn after_phrase<'c, 'a>(tokens: &'c [Token<'a>], phrases: &[&str]) -> Option<&'c [Token<'a>]> {
    phrases.iter().find_map(|phrase| {
        let words = phrase.split(' ');
        let (start, later) = tokens.split_at_checked(words.clone().count())?;
        let same = start
            .iter()
            .zip(words)
            .all(|(token, word)| token.is_any(word));
        same.then_some(later)
    })
}

#[cfg(test)]
mod tests;
