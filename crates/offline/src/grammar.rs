//! From sentences to intents, by a table of patterns.

use super::artefact;
use super::hire;
use super::intent::{Intent, Who};
use super::names::{self, Known, Spoken};
use super::pattern::{Captures, matches, number};
use super::tokens::{Kind, Token, clauses, covered, is_verb, tokens};

mod build;
mod table;

/// What was understood of an instruction, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) intents: Vec<Intent>,
    pub(super) unclear: Vec<String>,
}

/// Reads an instruction. `known` knows who was named before, and learns who is
/// named now.
pub(super) fn parse(text: &str, known: &mut Known) -> Parsed {
    let mut parsed = Parsed::default();
    for clause in clauses(&tokens(text)) {
        let clause = without_courtesy(&clause);
        if clause.is_empty() || is_small_talk(clause) {
            continue;
        }
        match read(text, clause, known) {
            Some(intent) => {
                known.mention(&named(&intent));
                parsed.intents.push(intent);
            }
            None => parsed.unclear.push(covered(text, clause).to_owned()),
        }
    }
    parsed
}

fn read(text: &str, clause: &[Token], known: &Known) -> Option<Intent> {
    table::ROWS.iter().find_map(|(pattern, build)| {
        let captures = matches(pattern, clause)?;
        build(&Sentence {
            text,
            captures,
            known,
        })
    })
}

/// Those whom an intent names.
fn named(intent: &Intent) -> Vec<String> {
    match intent {
        Intent::Spawn(hires) => hires.iter().map(|hire| hire.name.clone()).collect(),
        Intent::Delegate { to, .. } | Intent::Send { to, .. } => to.clone(),
        Intent::Shutdown {
            who: Who::Names(names),
        }
        | Intent::WaitFor { names } => names.clone(),
        Intent::AwaitPlan { from } => vec![from.clone()],
        Intent::Decide { from, .. } => from.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// Phrases before the verb that change nothing.
const COURTESY: &[&[&str]] = &[
    &["please"],
    &["now"],
    &["first"],
    &["next"],
    &["finally"],
    &["also"],
    &["and"],
    &["then"],
    &["afterwards"],
    &["just"],
    &["could", "you"],
    &["can", "you"],
    &["would", "you"],
    &["will", "you"],
    &["you", "should"],
    &["you", "must"],
    &["i", "want", "you", "to"],
    &["i", "would", "like", "you", "to"],
    &["your", "task", "is", "to"],
    &["your", "job", "is", "to"],
    &["go", "ahead", "and"],
    &["for", "me"],
    &["let", "us"],
    &["review", "and"],
];

fn without_courtesy(clause: &[Token]) -> &[Token] {
    let mut rest = clause;
    loop {
        let phrase = COURTESY.iter().find(|phrase| {
            phrase.len() < rest.len()
                && phrase
                    .iter()
                    .zip(rest)
                    .all(|(word, token)| token.is_word(word))
        });
        if let Some(phrase) = phrase {
            rest = rest.get(phrase.len()..).unwrap_or_default();
        } else if rest.first().is_some_and(|first| first.kind == Kind::Mark) {
            rest = rest.get(1..).unwrap_or_default();
        } else {
            break;
        }
    }
    while let Some((last, others)) = rest.split_last() {
        if last.is_any(&["please", "now", "too"]) && !others.is_empty()
            || last.kind == Kind::Mark && !last.is_mark(")")
        {
            rest = others;
        } else {
            break;
        }
    }
    rest
}

/// Sentences that ask for nothing.
fn is_small_talk(clause: &[Token]) -> bool {
    let begins = |words: &[&str]| {
        words
            .iter()
            .zip(clause)
            .all(|(word, token)| token.is_word(word))
            && words.len() <= clause.len()
    };
    begins(&["thanks"])
        || begins(&["thank", "you"])
        || begins(&["hello"])
        || begins(&["hi"])
        || begins(&["you", "are"])
}

/// A clause that fits a pattern.
pub(super) struct Sentence<'a> {
    text: &'a str,
    captures: Captures<'a>,
    known: &'a Known,
}

impl Sentence<'_> {
    fn names(&self) -> Option<Vec<String>> {
        let taken = self
            .captures
            .get("NAMES")
            .or_else(|| self.captures.get("NAME"));
        let spoken = match taken {
            Some(taken) => names::list(taken)?,
            None => vec![names::possessor(self.captures.get("POSS")?)?],
        };
        self.known.resolve(&spoken)
    }

    /// The one named, or the one named last.
    fn one(&self) -> Option<String> {
        self.names()
            .or_else(|| self.known.resolve(&[Spoken::One]))?
            .pop()
    }

    fn plain(&self, slot: &str, place: usize) -> Option<String> {
        let text = match self.captures.nth(slot, place)? {
            [only] if only.kind == Kind::Quoted => only.text.clone(),
            [open, rest @ ..] if open.is_mark(":") && !rest.is_empty() => match rest {
                [only] if only.kind == Kind::Quoted => only.text.clone(),
                _ => covered(self.text, rest).to_owned(),
            },
            taken => covered(self.text, taken).to_owned(),
        };
        (!text.is_empty()).then_some(text)
    }

    fn text(&self) -> Option<String> {
        self.plain("TEXT", 0)
    }

    fn rest(&self) -> Option<String> {
        self.plain("REST", 0)
    }

    fn file(&self) -> Option<String> {
        self.plain("FILE", 0)
    }

    fn dir(&self) -> Option<String> {
        self.plain("DIR", 0)
    }

    fn number(&self) -> Option<i64> {
        number(self.captures.get("NUM")?.first()?)
    }

    /// The subjects of tasks: quoted texts, or words between commas; and whether
    /// they are to be done in order.
    fn subjects(&self) -> Option<(Vec<String>, bool)> {
        let mut taken = self.captures.get("REST")?;
        let mut chained = false;
        if let [subjects @ .., place, order] = taken
            && order.is_any(&["order", "sequence"])
        {
            let place = match place.is_word("in") {
                true => Some(subjects),
                false => subjects.split_last().map(|(_, subjects)| subjects),
            };
            (taken, chained) = (place?, true);
        }
        let quoted: Vec<String> = taken
            .iter()
            .filter(|token| token.kind == Kind::Quoted)
            .map(|token| token.text.clone())
            .collect();
        if !quoted.is_empty() {
            return Some((quoted, chained));
        }
        let parts = taken.split(|token| token.is_mark(",") || token.is_word("and"));
        let subjects: Vec<String> = parts
            .map(|part| covered(self.text, part).to_owned())
            .filter(|part| !part.is_empty())
            .collect();
        (!subjects.is_empty()).then_some((subjects, chained))
    }

    fn hires(&self, only_teammates: bool) -> Option<Intent> {
        let taken = self.captures.get("REST")?;
        let says = taken
            .iter()
            .any(|token| token.is_any(&["teammate", "teammates", "agent", "agents"]));
        if only_teammates && !says {
            return None;
        }
        hire::hires(self.text, taken).map(Intent::Spawn)
    }

    fn delegate(&self, only_verbs: bool) -> Option<Intent> {
        let taken = self.captures.get("REST")?;
        if only_verbs && !taken.first().is_some_and(is_verb) {
            return None;
        }
        let to = self.names()?;
        Some(Intent::Delegate {
            to,
            work: self.rest()?,
        })
    }

    fn decide(&self, approve: bool) -> Option<Intent> {
        let feedback = self.text().or_else(|| self.rest());
        if let Some(id) = self.plain("ID", 0) {
            return Some(Intent::Decide {
                from: None,
                id: Some(id),
                approve,
                feedback,
            });
        }
        Some(Intent::Decide {
            from: Some(self.one()?),
            id: None,
            approve,
            feedback,
        })
    }

    fn artefact(&self) -> Option<Intent> {
        let (path, content) = artefact::made(&self.text()?)?;
        Some(Intent::WriteFile { path, content })
    }

    fn every(&self) -> Option<Intent> {
        let ending = match self.text() {
            None => None,
            Some(kind) => Some(artefact::ending(&kind)?),
        };
        let dir = self.dir().unwrap_or_else(|| ".".to_owned());
        Some(Intent::ReadEvery { ending, dir })
    }
}

#[cfg(test)]
mod tests;
