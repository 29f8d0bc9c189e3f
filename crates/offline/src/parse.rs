//! Reads an instruction: cuts it into clauses with one verb each, and finds their rows in the table.

mod names;
mod pattern;
mod quotes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::iter::once;
use std::sync::LazyLock;

use regex::Regex;

use crate::table::Verb;
pub(crate) use names::Known;
use names::is_name;
use pattern::{Pattern, TABLE, VERBS, regex};
use quotes::{HIDDEN, Hidden, is_hidden};

/// A verb with what the clause says about it.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) verb: Verb,
    pub(crate) names: Vec<String>,
    /// The roles of new teammates, in the order of their names.
    pub(crate) roles: Vec<String>,
    /// The subjects of new tasks.
    pub(crate) subjects: Vec<String>,
    slots: HashMap<&'static str, String>,
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
    let Some(hidden) = Hidden::new(text) else {
        parsed.unclear.push(text.to_owned());
        return parsed;
    };
    for clause in SENTENCE_END.split(&hidden.text).flat_map(clauses) {
        let clause = without_courtesy(&clause);
        if clause.is_empty() || SMALL_TALK.is_match(clause) {
            continue;
        }
        let mut rows = TABLE.iter();
        match rows.find_map(|row| Clause::read(row, clause, &hidden, known)) {
            Some(read) => {
                known.mention(&read.names);
                parsed.clauses.push(read);
            }
            None => parsed.unclear.push(hidden.show(clause)),
        }
    }
    parsed
}

impl Clause {
    /// Reads a clause by a row of the table, if the row fits.
    fn read(row: &(Verb, Pattern), clause: &str, hidden: &Hidden, known: &Known) -> Option<Self> {
        let (verb, pattern) = row;
        let taken = pattern.captures(clause)?;
        let mut clause = Self {
            verb: *verb,
            names: Vec::new(),
            roles: Vec::new(),
            subjects: Vec::new(),
            slots: HashMap::new(),
        };
        for slot in pattern.slots() {
            let Some(part) = taken.name(slot).map(|part| part.as_str()) else {
                continue;
            };
            match slot {
                "NAMES" | "WHOSE" => clause.names = known.list(&hidden.show(part))?,
                "LIST" if *verb == Verb::Spawn => clause.members(part, hidden)?,
                "LIST" => clause.subjects = items(part).map(|item| hidden.show(item)).collect(),
                _ => {
                    let text = Some(hidden.show(part)).filter(|text| !text.trim().is_empty());
                    clause.slots.insert(slot, text?);
                }
            }
        }
        if let (Verb::CreateTasks, Some(subject)) = (verb, clause.text()) {
            clause.subjects.push(subject.to_owned());
        }
        Some(clause)
    }

    pub(crate) fn get(&self, slot: &str) -> Option<&str> {
        self.slots.get(slot).map(String::as_str)
    }

    /// The free text of the clause.
    pub(crate) fn text(&self) -> Option<&str> {
        let mut slots = ["TEXT", "REST", "WORK"].into_iter();
        slots.find_map(|slot| self.get(slot))
    }

    pub(crate) fn path(&self) -> &str {
        self.get("FILE").or(self.get("DIR")).unwrap_or(".")
    }

    /// Reads a list of new teammates: `alice (coder)`, `bob as a tester`, `a writer named eve`, `a
    /// backend teammate`.
    fn members(&mut self, list: &str, hidden: &Hidden) -> Option<()> {
        static ITEMS: [Pattern; 6] = [
            Pattern::new("[a|teammate|named|called] NAME QUOTED"),
            Pattern::new("[a|teammate|named|called] NAME as [a|an|the] TEXT"),
            Pattern::new("[a|teammate] named|called NAME"),
            Pattern::new("[a|an|the] TEXT named|called NAME"),
            Pattern::new("a|an|the TEXT [teammate|agent]"),
            Pattern::new("NAME"),
        ];
        for item in items(list) {
            let taken = ITEMS.iter().find_map(|pattern| pattern.captures(item))?;
            let shown = |slot: &str| taken.name(slot).map(|part| hidden.show(part.as_str()));
            let role = shown("QUOTED").or_else(|| shown("TEXT"));
            let role = role.unwrap_or_else(|| "generalist".to_owned());
            let role = role.trim_start_matches("role:");
            let role = role.trim_matches([' ', '"', '\'']);
            let name = shown("NAME").unwrap_or_else(|| role.to_lowercase().replace(' ', "-"));
            self.names.push(is_name(&name).then_some(name)?);
            self.roles.push(role.to_owned());
        }
        Some(())
    }
}

static SENTENCE_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[.;!?…]+(?:\s+|$)|\n+|\bthen\b").expect("a test compiles it")
});
/// What stands between the items of a list, and between clauses of one sentence.
static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\s*,\s*(?:and\s+)?|\s+and\s+").expect("a test compiles it"));
/// Sentences that ask for nothing.
static SMALL_TALK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:thanks|hello|hi|thank you|you are)\b.*"));
/// Words before the verb that change nothing.
static COURTESY: LazyLock<Regex> = LazyLock::new(|| {
    let words = "please|now|first|next|finally|also|and|just|(?:could|can|would) you|\
        you (?:should|must)|your task is to|review and";
    Regex::new(&format!(r"(?i)^(?:(?:{words})\b|[\s:,])+")).expect("a test compiles it")
});

/// The items of a list.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let items = SEPARATOR.split(list).map(str::trim);
    items.filter(|item| !item.is_empty())
}

fn without_courtesy(clause: &str) -> &str {
    let start = COURTESY.find(clause).map_or(0, |found| found.end());
    let rest = clause.get(start..).unwrap_or_default();
    let rest = rest.trim_end_matches([' ', ',', ':']);
    rest.strip_suffix(" and").unwrap_or(rest)
}

/// Cuts a sentence into clauses, each with one verb.
fn clauses(sentence: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let joints = SEPARATOR.find_iter(sentence).map(|found| found.as_str());
    for (joint, part) in once("").chain(joints).zip(SEPARATOR.split(sentence)) {
        let verb = all.last().map_or(Some(""), |open| verb_of_next(open, part));
        match (verb, all.last_mut()) {
            (None, Some(open)) => *open += &format!("{joint}{part}"),
            (verb, _) => all.push(format!("{}{part}", verb.unwrap_or_default())),
        }
    }
    all
}

/// Whether a clause ends before `next`, and the verb that the next one leaves out, as in `ask
/// alice to read a.txt and bob to run ls`.
fn verb_of_next(open: &str, next: &str) -> Option<&'static str> {
    static VERB: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"(?:{})\b.*", *VERBS)));
    static TEAM_VERB: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?:spawn|hire|ask|tell|have|broadcast|approve|reject|request|shut|review)\b.*")
    });
    static PATH: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"[{HIDDEN}]|\S*[./]\S*")));
    let open = without_courtesy(open);
    let (verb, said) = open.split_once(' ')?;
    let has = |words: &[&str]| said.split(' ').any(|word| words.contains(&word));
    let (name, work) = next.split_once(' ').unwrap_or((next, ""));
    match verb.to_lowercase().as_str() {
        _ if TEAM_VERB.is_match(next) => Some(""),
        "ask" | "tell" if is_name(name) => {
            let work = work.strip_prefix("to ").filter(|_| has(&["to"]))?;
            VERB.is_match(work).then_some("ask ")
        }
        "have" | "let" if is_name(name) => VERB.is_match(work).then_some("have "),
        "ask" | "tell" | "have" | "let" => None,
        "read" if PATH.is_match(next) => Some("read "),
        // The subjects of tasks may begin with any verb, and so may the work of a new teammate.
        "create" | "add" | "make" if has(&["tasks", "tasks:"]) && !open.contains(is_hidden) => None,
        "spawn" | "hire" | "launch" if has(&["to"]) => None,
        _ => VERB.is_match(next).then_some(""),
    }
}
