//! Reads an instruction: one [`Clause`] for each verb in it.

use crate::names::Known;
use crate::pattern::captures;
use crate::table::{ROWS, Verb};
use crate::words::{Kind, MOST_TOKENS, Token, clauses, covered, tokens};

/// A verb with what the clause says about it.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) verb: Verb,
    pub(crate) names: Vec<String>,
    /// The roles of new teammates, in the order of their names.
    pub(crate) roles: Vec<String>,
    /// What the other slots of the pattern took. All free texts are in slots `TEXT`.
    slots: Vec<(&'static str, String)>,
}

/// What was understood of an instruction, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) unclear: Vec<String>,
}

/// Reads an instruction. `known` has who was named before, and learns who is named now.
pub(crate) fn parse(text: &str, known: &mut Known) -> Parsed {
    let mut parsed = Parsed::default();
    let tokens = tokens(text);
    if tokens.len() > MOST_TOKENS {
        parsed.unclear.push(text.to_owned());
        return parsed;
    }
    for clause in clauses(&tokens) {
        let clause = without_courtesy(&clause, known);
        if clause.is_empty() || slot_of(SMALL_TALK, clause, known).is_some() {
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
            names: Vec::new(),
            roles: Vec::new(),
            slots: Vec::new(),
        };
        for (slot, taken) in captures(pattern, tokens, known)? {
            let first = taken.first()?;
            let plain = covered(text, taken).to_owned();
            match slot {
                "NAMES" => clause.names = known.list(taken)?,
                "WHOSE" => clause.names = known.owner(first)?,
                "LIST" if *verb == Verb::Spawn => clause.members(text, taken)?,
                "LIST" => {
                    let subjects = subjects(text, taken).into_iter();
                    clause.slots.extend(subjects.map(|text| ("TEXT", text)));
                }
                "NUM" => clause.slots.push((slot, first.number()?.to_string())),
                "REST" | "WORK" => clause.slots.push(("TEXT", plain)),
                _ => clause.slots.push((slot, plain)),
            }
        }
        let is_empty = clause.texts().any(|text| text.trim().is_empty());
        (!is_empty).then_some(clause)
    }

    pub(crate) fn get(&self, slot: &str) -> Option<&str> {
        let mut slots = self.slots.iter().filter(|(name, _)| *name == slot);
        slots.next().map(|(_, text)| text.as_str())
    }

    /// The free texts in their order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = self.slots.iter().filter(|(name, _)| *name == "TEXT");
        texts.map(|(_, text)| text.as_str())
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.get("TEXT")
    }

    pub(crate) fn path(&self) -> &str {
        self.get("FILE").or(self.get("DIR")).unwrap_or(".")
    }

    /// Reads a list of new teammates: `alice (coder)`, `bob as a tester`, `a writer named eve`, `a
    /// backend teammate`.
    fn members(&mut self, text: &str, list: &[Token<'_>]) -> Option<()> {
        const ITEMS: [&str; 6] = [
            "[a|teammate|named|called] NAMES ( [role|:] LIST )",
            "[a|teammate|named|called] NAMES as [a|an|the] REST",
            "[a|teammate] named|called NAMES",
            "[a|an|the] TEXT named|called NAMES",
            "a|an|the TEXT [teammate|agent]",
            "NAMES",
        ];
        for item in list.split(Token::separates).filter(|item| !item.is_empty()) {
            let fits = |pattern: &&'static str| captures(pattern, item, &Known::default());
            let (mut name, mut role) = (None, None);
            for (slot, taken) in ITEMS.iter().find_map(fits)? {
                let part = if slot == "NAMES" {
                    &mut name
                } else {
                    &mut role
                };
                *part = Some(covered(text, taken).to_owned());
            }
            let role = role.unwrap_or_else(|| "generalist".to_owned());
            let name = name.unwrap_or_else(|| role.to_lowercase().replace(' ', "-"));
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

/// Sentences that ask for nothing.
const SMALL_TALK: &[&str] = &["thanks|hello|hi [REST]", "thank|you you|are [REST]"];

/// Words before the verb that change nothing.
const COURTESY: &[&str] = &[
    "please|now|first|next|finally|also|and|just REST",
    "could|can|would you REST",
    "you should|must REST",
    "your task is to REST",
    "review and REST",
];

fn without_courtesy<'c, 'a>(clause: &'c [Token<'a>], known: &Known) -> &'c [Token<'a>] {
    let mut rest = clause;
    loop {
        rest = match rest {
            [mark, rest @ ..] if mark.kind == Kind::Mark => rest,
            [rest @ .., last] if last.is_mark(",:") || last.is_any("and") => rest,
            _ => match slot_of(COURTESY, rest, known) {
                Some(rest) => rest,
                None => return rest,
            },
        }
    }
}

/// What the last slot of the first pattern takes that the tokens match.
fn slot_of<'c, 'a>(
    patterns: &[&'static str],
    tokens: &'c [Token<'a>],
    known: &Known,
) -> Option<&'c [Token<'a>]> {
    let mut patterns = patterns.iter();
    let slots = patterns.find_map(|pattern| captures(pattern, tokens, known))?;
    Some(slots.last().map_or(&[], |(_, taken)| *taken))
}

#[cfg(test)]
mod tests;
