//! Balances a run: a pure function of the facts.

mod print;
#[cfg(test)]
mod tests;

use crate::tags::{Mark, Verb};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many problems are listed.
const MOST_PROBLEMS: usize = 60;

/// What the sender of a message knows about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The sender was killed before it knew.
    Unknown,
    Failed,
}

/// One attempt to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub mark: Mark,
    pub to: String,
    pub outcome: Outcome,
}

/// The traces of a message with its recipient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// How often it is recorded in the journal.
    pub recorded: usize,
    /// How often the journal says that it was shown to the model.
    pub said: usize,
    /// How often it occurred at most in one request to the model.
    pub shown: usize,
    /// How often it is among the dead letters.
    pub dead_lettered: usize,
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
    /// Its owner, if it is not completed.
    pub held_by: Option<String>,
}

/// The faults that were injected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FaultCounts {
    pub members_killed: usize,
    pub leads_killed: usize,
    pub commands_killed: usize,
    /// Processes stopped and continued.
    pub stopped: usize,
    /// How often the disk was full.
    pub disk_full: usize,
    /// Requests that the server answered with an error, or not to the end.
    pub server_errors: usize,
    /// Lines of garbage.
    pub garbage: usize,
    /// Shutdown requests during the run.
    pub shutdowns: usize,
}

/// Everything that is known at the end.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub faults: FaultCounts,
    /// Incarnations after the first, of all members and the lead.
    pub restarts: usize,
    pub attempts: Vec<Attempt>,
    /// What is in the journals, by owner.
    pub found: BTreeMap<(String, Mark), Found>,
    /// Mail of any kind that was recorded or shown more than once.
    pub repeated: Vec<String>,
    /// Dead letters of any kind.
    pub dead_letters: usize,
    /// Orders that were recorded by their recipient.
    pub orders: BTreeSet<(String, Mark)>,
    /// Orders that were followed by the note or the plan they asked for.
    pub carried_out: BTreeSet<(String, Mark)>,
    /// The tasks whose creation was reported as done.
    pub tasks: Vec<TaskFact>,
    /// What was not finished, such as unanswered requests and members that did not become idle.
    pub stranded: Vec<String>,
    /// Processes that still ran at the end.
    pub orphans: Vec<String>,
    /// Differences between the replayed events and the files.
    pub history: Vec<String>,
    /// Faults that are not possible on this machine.
    pub left_out: Vec<String>,
}

/// The messages in the balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Messages that were reported as sent.
    pub sent: usize,
    /// Messages whose sender was killed before it knew.
    pub unknown: usize,
    /// Those of them that arrived.
    pub unknown_arrived: usize,
    /// Messages that were recorded and shown to the model.
    pub injected: usize,
    /// Dead letters of any kind.
    pub dead_lettered: usize,
    /// Messages that were sent and not recorded, or recorded and not shown.
    pub lost: usize,
    /// Messages that were recorded or shown more than once.
    pub duplicated: usize,
    /// Messages that arrived although nobody sent them there, or although their send failed.
    pub astray: usize,
}

/// The tasks in the balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tasks {
    /// Completed once, by their last owner.
    pub once: usize,
    /// Completed more than once, or not by their last owner.
    pub twice: usize,
    /// Not completed.
    pub never: usize,
    /// Tasks whose work was done again after a kill in the middle of it.
    pub reworked: usize,
}

/// The balance of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ledger {
    pub faults: FaultCounts,
    /// Incarnations after the first.
    pub restarts: usize,
    pub messages: Messages,
    pub tasks: Tasks,
    /// Orders, requests, tasks and members that were left undone.
    pub stranded: usize,
    /// Processes that still ran at the end.
    pub orphans: usize,
    /// Differences between the replayed events and the files.
    pub history: usize,
    /// Faults that are not possible on this machine.
    pub left_out: Vec<String>,
    /// The first problems.
    pub problems: Vec<String>,
}

impl Ledger {
    /// The balance of these facts.
    pub fn of(facts: &Facts) -> Self {
        let mut ledger = Self {
            faults: facts.faults,
            restarts: facts.restarts,
            left_out: facts.left_out.clone(),
            ..Self::default()
        };
        ledger.messages.dead_lettered = facts.dead_letters;
        ledger.count_messages(facts);
        ledger.messages.duplicated += facts.repeated.len();
        ledger.problems.extend(facts.repeated.iter().cloned());
        ledger.count_tasks(facts);
        for (owner, order) in facts.orders.difference(&facts.carried_out) {
            ledger.strand(format!("{owner} never carried out {order}"));
        }
        for what in &facts.stranded {
            ledger.strand(what.clone());
        }
        ledger.orphans = facts.orphans.len();
        let orphans = facts.orphans.iter();
        ledger
            .problems
            .extend(orphans.map(|orphan| format!("left: {orphan}")));
        ledger.history = facts.history.len();
        let history = facts.history.iter();
        ledger
            .problems
            .extend(history.map(|line| format!("history: {line}")));
        ledger.problems.truncate(MOST_PROBLEMS);
        ledger
    }

    /// Whether nothing was lost, duplicated, stranded or left, and the event log agrees with the files.
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

    fn strand(&mut self, what: String) {
        self.stranded += 1;
        self.problems.push(format!("stranded: {what}"));
    }

    fn count_messages(&mut self, facts: &Facts) {
        let mut known: BTreeMap<(String, Mark), Outcome> = BTreeMap::new();
        for (key, outcome) in facts
            .attempts
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
            self.problems
                .push(format!("astray: {mark} arrived at {owner}"));
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
            dead_lettered,
        } = found;
        let seen = format!(
            "{recorded} recorded, {said} said, {shown} shown, {dead_lettered} dead-lettered"
        );
        if recorded > 1 || said > 1 || shown > 1 {
            messages.duplicated += 1;
            self.problems
                .push(format!("duplicated: {mark} to {to}: {seen}"));
        } else if recorded == 1 && said == 1 && shown == 1 {
            messages.injected += 1;
            if outcome == Outcome::Failed {
                messages.astray += 1;
                self.problems.push(format!(
                    "astray: {mark} to {to} arrived though it was reported as not sent"
                ));
            }
        } else if recorded == 1 || outcome == Outcome::Done {
            messages.lost += 1;
            self.problems.push(format!("lost: {mark} to {to}: {seen}"));
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
                self.problems.push(format!("never done: {name}"));
            } else if *completed > 1 || !by_owner || task.worked == 0 {
                tasks.twice += 1;
                let worked = task.worked;
                self.problems.push(format!("not done once: {name}: completed {completed} times, by its last owner: {by_owner}, worked on {worked} times"));
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

/// The stronger of two outcomes: a message that was sent once was sent.
fn stronger(one: Outcome, other: Outcome) -> Outcome {
    match (one, other) {
        (Outcome::Done, _) | (_, Outcome::Done) => Outcome::Done,
        (Outcome::Unknown, _) | (_, Outcome::Unknown) => Outcome::Unknown,
        (Outcome::Failed, Outcome::Failed) => Outcome::Failed,
    }
}

/// The note that an order asks for.
pub(crate) fn note_of(order: &Mark) -> Mark {
    Mark::new(Verb::Note, &order.id)
}
