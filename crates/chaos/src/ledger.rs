//! The balance: facts in, a verdict out. Nothing here looks at the team.

mod print;
#[cfg(test)]
mod tests;

use crate::words::{Mark, Verb};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many faults are told in words.
const MOST_WORDS: usize = 60;

/// What its sender was told of a try to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was sent.
    Done,
    /// Nobody can say: the sender was killed on the way.
    Unknown,
    /// It was not sent.
    Failed,
}

/// One try to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// Which message.
    pub mark: Mark,
    /// To whom.
    pub to: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What became of a message with its recipient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// How often it is recorded in the journal.
    pub recorded: usize,
    /// How often it was said to the model, by the journal.
    pub said: usize,
    /// The most often that it stood in one request to the model.
    pub shown: usize,
    /// How often it is among the dead letters.
    pub buried: usize,
}

/// A task at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFact {
    /// Its number, or its mark if it is not on the board.
    pub name: String,
    /// How often its history says that it was completed.
    pub completed: usize,
    /// Whether its file says that it is completed.
    pub is_done: bool,
    /// Whether the last owner is the one who completed it.
    pub by_owner: bool,
    /// How often its work was done.
    pub worked: usize,
    /// Who has it in hand though it is not done.
    pub held_by: Option<String>,
}

/// What was done to the team.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Blows {
    /// Members killed.
    pub members_killed: usize,
    /// Leads killed.
    pub leads_killed: usize,
    /// Commands killed.
    pub commands_killed: usize,
    /// Processes stopped and continued.
    pub stopped: usize,
    /// How often the disk was full.
    pub disk_full: usize,
    /// Requests that the server answered with an error, or not to the end.
    pub server_errors: usize,
    /// Lines of garbage.
    pub garbage: usize,
    /// Shutdowns asked for on the way.
    pub shutdowns: usize,
}

/// All that is known at the end.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What was done to the team.
    pub blows: Blows,
    /// Lives that began after the first of each member and of the lead.
    pub restarts: usize,
    /// Everything that anybody tried to send.
    pub tries: Vec<Try>,
    /// What is in the journals, by owner.
    pub found: BTreeMap<(String, Mark), Found>,
    /// Mail of any kind that was recorded or said more than once, in words.
    pub repeated: Vec<String>,
    /// Dead letters of any kind.
    pub dead_letters: usize,
    /// StartOptions that were said to their reader.
    pub options: BTreeSet<(String, Mark)>,
    /// StartOptions of which something came: a letter sent, or a plan submitted.
    pub obeyed: BTreeSet<(String, Mark)>,
    /// The tasks whose creation was reported as done.
    pub tasks: Vec<TaskFact>,
    /// What was left lying: requests without an answer, members that did not come to rest.
    pub stranded: Vec<String>,
    /// Processes that were left.
    pub orphans: Vec<String>,
    /// Differences between the replayed events and the files.
    pub history: Vec<String>,
    /// What could not be done on this machine.
    pub left_out: Vec<String>,
}

/// The messages in the balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Messages that their senders were told to be sent.
    pub sent: usize,
    /// Messages of which nobody can say whether they were sent.
    pub unknown: usize,
    /// Those of them that were.
    pub unknown_arrived: usize,
    /// Messages that are recorded and were said to their model.
    pub injected: usize,
    /// Dead letters of any kind.
    pub dead_lettered: usize,
    /// Messages that were sent and not recorded, or recorded and not said.
    pub lost: usize,
    /// Messages that were recorded or said more than once.
    pub duplicated: usize,
    /// Messages that came to somebody to whom nobody sent them, or were sent though it was said that
    /// they were not.
    pub astray: usize,
}

/// The tasks in the balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tasks {
    /// Completed once, by their last owner.
    pub once: usize,
    /// Completed more than once, or by somebody else than their last owner.
    pub twice: usize,
    /// Not completed.
    pub never: usize,
    /// Tasks whose work was done again after a kill in the middle of it.
    pub reworked: usize,
}

/// The balance of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ledger {
    /// What was done to the team.
    pub blows: Blows,
    /// Lives after the first.
    pub restarts: usize,
    /// The messages.
    pub messages: Messages,
    /// The tasks.
    pub tasks: Tasks,
    /// StartOptions, requests, tasks and members that were left lying.
    pub stranded: usize,
    /// Processes that were left.
    pub orphans: usize,
    /// Differences between the replayed events and the files.
    pub history: usize,
    /// What could not be done on this machine.
    pub left_out: Vec<String>,
    /// The faults in words, the first of them.
    pub faults: Vec<String>,
}

impl Ledger {
    /// The balance of these facts.
    pub fn of(facts: &Facts) -> Self {
        let mut ledger = Self {
            blows: facts.blows,
            restarts: facts.restarts,
            left_out: facts.left_out.clone(),
            ..Self::default()
        };
        ledger.messages.dead_lettered = facts.dead_letters;
        ledger.count_messages(facts);
        ledger.messages.duplicated += facts.repeated.len();
        ledger.faults.extend(facts.repeated.iter().cloned());
        ledger.count_tasks(facts);
        for (owner, order) in facts.options.difference(&facts.obeyed) {
            ledger.strand(format!("{owner} never carried out {order}"));
        }
        for words in &facts.stranded {
            ledger.strand(words.clone());
        }
        ledger.orphans = facts.orphans.len();
        let orphans = facts.orphans.iter();
        ledger
            .faults
            .extend(orphans.map(|orphan| format!("left: {orphan}")));
        ledger.history = facts.history.len();
        let history = facts.history.iter();
        ledger
            .faults
            .extend(history.map(|line| format!("history: {line}")));
        ledger.faults.truncate(MOST_WORDS);
        ledger
    }

    /// Whether nothing was lost, repeated, stranded or left, and the events tell all of it.
    pub fn is_balanced(&self) -> bool {
        let Messages {
            lost,
            duplicated,
            astray,
            ..
        } = self.messages;
        let Tasks { twice, never, .. } = self.tasks;
        let kept = self.stranded + self.orphans + self.history;
        lost + duplicated + astray + twice + never + kept == 0
    }

    fn strand(&mut self, words: String) {
        self.stranded += 1;
        self.faults.push(format!("stranded: {words}"));
    }

    fn count_messages(&mut self, facts: &Facts) {
        let mut known: BTreeMap<(String, Mark), Outcome> = BTreeMap::new();
        for (key, outcome) in facts
            .tries
            .iter()
            .map(|t| ((t.to.clone(), t.mark.clone()), t.outcome))
        {
            let known = known.entry(key).or_insert(outcome);
            *known = stronger(*known, outcome);
        }
        for (key, outcome) in &known {
            let found = facts.found.get(key).copied().unwrap_or_default();
            self.count_message(key, *outcome, found);
        }
        for (owner, mark) in facts.found.keys().filter(|key| !known.contains_key(*key)) {
            self.messages.astray += 1;
            self.faults.push(format!("astray: {mark} came to {owner}"));
        }
    }

    fn count_message(&mut self, key: &(String, Mark), outcome: Outcome, found: Found) {
        let (to, mark) = key;
        let messages = &mut self.messages;
        match outcome {
            Outcome::Done => messages.sent += 1,
            Outcome::Unknown => {
                messages.unknown += 1;
                messages.unknown_arrived += usize::from(found.recorded > 0);
            }
            Outcome::Failed => {}
        }
        let Found {
            recorded,
            said,
            shown,
            buried,
        } = found;
        let seen = format!("{recorded} recorded, {said} said, {shown} shown, {buried} buried");
        if recorded > 1 || said > 1 || shown > 1 {
            messages.duplicated += 1;
            self.faults
                .push(format!("duplicated: {mark} to {to}: {seen}"));
        } else if recorded == 1 && said == 1 && shown == 1 {
            messages.injected += 1;
            if outcome == Outcome::Failed {
                messages.astray += 1;
                self.faults.push(format!(
                    "astray: {mark} to {to} arrived though its sender was told that it was not sent"
                ));
            }
        } else if recorded == 1 || outcome == Outcome::Done {
            messages.lost += 1;
            self.faults.push(format!("lost: {mark} to {to}: {seen}"));
        }
    }

    fn count_tasks(&mut self, facts: &Facts) {
        for task in &facts.tasks {
            let TaskFact {
                name,
                completed,
                is_done,
                by_owner,
                ..
            } = task;
            let tasks = &mut self.tasks;
            if !is_done || *completed == 0 {
                tasks.never += 1;
                self.faults.push(format!("never done: {name}"));
            } else if *completed > 1 || !by_owner || task.worked == 0 {
                tasks.twice += 1;
                let worked = task.worked;
                self.faults.push(format!("not done once: {name}: completed {completed} times, by its last owner: {by_owner}, worked on {worked} times"));
            } else {
                tasks.once += 1;
            }
            self.tasks.reworked += usize::from(task.worked > 1);
            if let Some(owner) = &task.held_by {
                self.strand(format!("task {name} is held by {owner}"));
            }
        }
    }
}

/// Of several tries the one that binds most: a message that was sent once was sent.
fn stronger(one: Outcome, other: Outcome) -> Outcome {
    match (one, other) {
        (Outcome::Done, _) | (_, Outcome::Done) => Outcome::Done,
        (Outcome::Unknown, _) | (_, Outcome::Unknown) => Outcome::Unknown,
        (Outcome::Failed, Outcome::Failed) => Outcome::Failed,
    }
}

/// The letter that an order asks for.
pub(crate) fn letter_of(order: &Mark) -> Mark {
    Mark::new(Verb::MailItem, &order.id)
}
