//! Collects the facts from the files after the end of the run.

use crate::history;
use crate::ledger::{Attempt, Facts, Found, Outcome, TaskFact, note_of};
use crate::tags::{Mark, Tag, Verb};
use crate::team_model::view::{ToolOutcome, tool_outcome};
use crate::world::World;
use protocol::{JournalLine, JournalRecord, Recipient, RequestStatus, TaskStatus};
use serde_json::Value;
use std::collections::BTreeMap;

/// The contents of one journal.
#[derive(Debug, Default)]
struct Journal {
    /// The tags in each message, in the order of the journal.
    mail: Vec<Vec<Tag>>,
    /// How often each message was shown to the model, by its number.
    said: BTreeMap<usize, usize>,
    /// How often each message was recorded, by sender and id.
    ids: BTreeMap<(String, String), usize>,
    /// The tool calls that have no result yet, by id: the tool and its purposes.
    uses: BTreeMap<String, (String, Vec<(Mark, String)>)>,
    /// The outcome of each tool call: tool, mark, recipient.
    outcomes: Vec<(String, Mark, String, ToolOutcome)>,
}

/// Collects all facts. No process of the team runs any more.
pub(crate) fn gather(world: &World) -> anyhow::Result<Facts> {
    let notes = world.notes().clone();
    let mut facts = Facts {
        faults: notes.faults,
        attempts: notes.attempts,
        ..Facts::default()
    };
    facts.faults.server_errors = world.model.errors();
    for owner in world.recipients().chain([Recipient::Lead]) {
        let journal = Journal::read(world, &owner)?;
        journal.add_to(&owner.to_string(), &mut facts);
    }
    for (key, count) in world.model.shown() {
        facts.found.entry(key).or_default().shown = count;
    }
    dead_letters(world, &mut facts)?;
    tasks(world, &notes.tasks, &mut facts)?;
    for request in world.team.requests()? {
        match request {
            Ok(request) if request.status() == RequestStatus::Pending => {
                let (id, to) = (&request.id, &request.to);
                facts.stranded.push(format!("request {id} waits for {to}"));
            }
            Ok(_) => {}
            Err(error) => facts
                .stranded
                .push(format!("a request cannot be read: {error}")),
        }
    }
    let roster = world.team.roster()?;
    let members = roster.members.iter().map(|member| member.incarnation.0);
    let incarnations: u64 = members
        .chain([roster.lead_incarnation.0])
        .map(|incarnations| incarnations.saturating_sub(1))
        .sum();
    facts.restarts = usize::try_from(incarnations)?;
    facts.history = history::differences(&world.team)?;
    Ok(facts)
}

impl Journal {
    fn read(world: &World, owner: &Recipient) -> anyhow::Result<Self> {
        let mut journal = Self::default();
        world.team.read_history(owner, |bytes, line| match line {
            JournalLine::Known(JournalRecord::Mail(record)) => {
                for entry in &record.mail {
                    journal.take(entry.id.as_str(), &serde_json::json!(entry)["line"]);
                }
            }
            JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {}
            JournalLine::Known(_) => {
                let record: Value = serde_json::from_slice(bytes).unwrap_or_default();
                journal.record(&record);
            }
        })?;
        Ok(journal)
    }

    /// Adds a message.
    fn take(&mut self, id: &str, line: &Value) {
        let text = match line {
            Value::String(text) => text.as_str(),
            object => object["content"].as_str().unwrap_or(""),
        };
        self.mail.push(Tag::all(text));
        let from = line["from"].as_str().unwrap_or("").to_owned();
        *self.ids.entry((from, id.to_owned())).or_default() += 1;
    }

    /// Adds a record of the conversation.
    fn record(&mut self, record: &Value) {
        match record["kind"].as_str() {
            Some("user") => {
                for message in record["messages"].as_array().into_iter().flatten() {
                    let number = message["source"]["mail"].as_u64();
                    if let Some(number) = number.and_then(|number| usize::try_from(number).ok()) {
                        *self.said.entry(number).or_default() += 1;
                    }
                }
            }
            Some("assistant") => {
                for block in record["blocks"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_use" {
                        self.used(block);
                    }
                }
            }
            Some("result") => {
                let id = record["result"]["tool_use_id"].as_str().unwrap_or("");
                let outcome = tool_outcome(&record["result"]);
                self.over(id, outcome);
            }
            _ => {}
        }
    }

    fn used(&mut self, block: &Value) {
        let (id, tool) = (&block["id"], &block["name"]);
        let id = id.as_str().unwrap_or("").to_owned();
        let tool = tool.as_str().unwrap_or("").to_owned();
        let input = &block["input"];
        let text = input["content"]
            .as_str()
            .or(input["plan"].as_str())
            .unwrap_or("");
        let to = input["to"].as_str().unwrap_or("").to_owned();
        let purposes = Tag::all(text).into_iter().map(|tag| (tag.mark, to.clone()));
        self.uses.insert(id, (tool, purposes.collect()));
    }

    fn over(&mut self, id: &str, outcome: ToolOutcome) {
        if let Some((tool, purposes)) = self.uses.remove(id) {
            for (mark, to) in purposes {
                self.outcomes.push((tool.clone(), mark, to, outcome));
            }
        }
    }

    fn add_to(mut self, owner: &str, facts: &mut Facts) {
        // Tool calls without a result belong to a last incarnation that ended in the middle of them.
        let open: Vec<String> = self.uses.keys().cloned().collect();
        for id in open {
            self.over(&id, ToolOutcome::Unknown);
        }
        for (at, tags) in self.mail.iter().enumerate() {
            let said = self.said.get(&(at + 1)).copied().unwrap_or_default();
            if said > 1 {
                facts.repeated.push(format!(
                    "duplicated: message {} of {owner} was shown {said} times",
                    at + 1
                ));
            }
            for tag in tags {
                let key = (owner.to_owned(), tag.mark.clone());
                let found: &mut Found = facts.found.entry(key.clone()).or_default();
                found.recorded += 1;
                found.said += said;
                if matches!(tag.mark.verb, Verb::Order | Verb::Plan) {
                    facts.orders.insert(key);
                }
            }
        }
        for ((from, id), count) in self.ids.iter().filter(|(_, count)| **count > 1) {
            facts.repeated.push(format!(
                "duplicated: message {id} of {from} is {count} times in the journal of {owner}"
            ));
        }
        for (tool, mark, to, outcome) in self.outcomes {
            count_tool_use(owner, (&tool, &mark), &to, outcome, facts);
        }
    }
}

/// Counts the outcome of a tool call.
fn count_tool_use(
    owner: &str,
    (tool, mark): (&str, &Mark),
    to: &str,
    outcome: ToolOutcome,
    facts: &mut Facts,
) {
    let order = match tool {
        "send_message" => Mark::new(Verb::Order, &mark.id),
        "plan_approval" => mark.clone(),
        _ => return,
    };
    if outcome != ToolOutcome::Bad {
        facts.carried_out.insert((owner.to_owned(), order.clone()));
    }
    if tool == "send_message" {
        let sent = match outcome {
            ToolOutcome::Good => Outcome::Done,
            ToolOutcome::Unknown => Outcome::Unknown,
            ToolOutcome::Bad => Outcome::Failed,
        };
        let (mark, to) = (note_of(&order), to.to_owned());
        facts.attempts.push(Attempt {
            mark,
            to,
            outcome: sent,
        });
    }
}

fn dead_letters(world: &World, facts: &mut Facts) -> anyhow::Result<()> {
    world.team.read_dead_letters(|dead_letter| {
        facts.dead_letters += 1;
        let text = serde_json::json!(dead_letter).to_string();
        for tag in Tag::all(&text) {
            let key = (dead_letter.inbox.to_string(), tag.mark);
            facts.found.entry(key).or_default().dead_lettered += 1;
        }
    })?;
    Ok(())
}

fn tasks(world: &World, created: &[(Mark, u64)], facts: &mut Facts) -> anyhow::Result<()> {
    let log = std::fs::read(world.runner.workspace.join("work.log")).unwrap_or_default();
    let mut worked: BTreeMap<Mark, usize> = BTreeMap::new();
    for tag in Tag::all(&String::from_utf8_lossy(&log)) {
        *worked.entry(tag.mark).or_default() += 1;
    }
    let mut board = BTreeMap::new();
    for task in world.team.tasks()? {
        match task {
            Ok(task) => {
                board.insert(task.id.0, task);
            }
            Err(error) => facts
                .stranded
                .push(format!("a task cannot be read: {error}")),
        }
    }
    for (mark, number) in created {
        let worked = worked.get(mark).copied().unwrap_or_default();
        let name = format!("#{number} {mark}");
        let Some(task) = board.remove(number) else {
            facts.tasks.push(TaskFact {
                name,
                worked,
                ..TaskFact::default()
            });
            continue;
        };
        let completions = task
            .history
            .iter()
            .filter(|entry| entry.action.as_str() == "completed");
        let by: Vec<&str> = completions.map(|entry| entry.by.as_str()).collect();
        let owner = task.owner.0.as_ref().map(|owner| owner.as_str().to_owned());
        facts.tasks.push(TaskFact {
            name,
            completed: by.len(),
            is_done: task.status == TaskStatus::Completed,
            by_owner: by.last().copied() == owner.as_deref(),
            worked,
            held_by: owner.filter(|_| task.status != TaskStatus::Completed),
        });
    }
    Ok(())
}
