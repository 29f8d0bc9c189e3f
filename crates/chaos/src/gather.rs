//! The facts, as the files have them when everything is over.

use crate::ledger::{Facts, Found, Outcome, TaskFact, Try, letter_of};
use crate::picture;
use crate::words::{Mark, Verb, Word};
use crate::worker_model::view::{Came, came};
use crate::world::World;
use protocol::{JournalLine, JournalRecord, Recipient, RequestStatus, TaskStatus};
use serde_json::Value;
use std::collections::BTreeMap;

/// What one journal tells.
#[derive(Debug, Default)]
struct Journal {
    /// The words in each letter, in the order of the journal.
    letters: Vec<Vec<Word>>,
    /// How often each letter was said to the model, by its number.
    said: BTreeMap<usize, usize>,
    /// How often each message is there, by sender and id.
    ids: BTreeMap<(String, String), usize>,
    /// The uses of tools that are not over: by their id, the tool, and what it is for.
    uses: BTreeMap<String, (String, Vec<(Mark, String)>)>,
    /// What came of tools: tool, mark, recipient.
    came: Vec<(String, Mark, String, Came)>,
}

/// Collects all facts. Nothing runs any more.
pub(crate) fn gather(world: &World) -> anyhow::Result<Facts> {
    let notes = world.notes().clone();
    let mut facts = Facts {
        blows: notes.blows,
        tries: notes.tries,
        ..Facts::default()
    };
    facts.blows.server_errors = world.brain.errors();
    for owner in world.recipients().chain([Recipient::Lead]) {
        let journal = Journal::read(world, &owner)?;
        journal.tell(&owner.to_string(), &mut facts);
    }
    for (key, count) in world.brain.shown() {
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
    facts.history = picture::differences(&world.team)?;
    Ok(facts)
}

impl Journal {
    fn read(world: &World, owner: &Recipient) -> anyhow::Result<Self> {
        let mut journal = Self::default();
        world.team.read_journal(owner, |bytes, line| match line {
            JournalLine::Known(JournalRecord::Mail(record)) => {
                for entry in &record.mail {
                    journal.take(entry.id.as_str(), &serde_json::json!(entry)["line"]);
                }
            }
            JournalLine::Known(_) | JournalLine::Corrupt { .. } => {}
            JournalLine::Other { .. } => {
                let record: Value = serde_json::from_slice(bytes).unwrap_or_default();
                journal.record(&record);
            }
        })?;
        Ok(journal)
    }

    /// Takes in a letter.
    fn take(&mut self, id: &str, line: &Value) {
        let text = match line {
            Value::String(text) => text.as_str(),
            object => object["content"].as_str().unwrap_or(""),
        };
        self.letters.push(Word::all(text));
        let from = line["from"].as_str().unwrap_or("").to_owned();
        *self.ids.entry((from, id.to_owned())).or_default() += 1;
    }

    /// Takes in a record of the conversation.
    fn record(&mut self, record: &Value) {
        match record["kind"].as_str() {
            Some("user") => {
                for message in record["messages"].as_array().into_iter().flatten() {
                    let number = message["id"]
                        .as_str()
                        .and_then(|id| id.strip_prefix("mail:"));
                    if let Some(number) = number.and_then(|number| number.parse().ok()) {
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
                let came = came(&record["result"]);
                self.over(id, came);
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
        let purposes = Word::all(text)
            .into_iter()
            .map(|word| (word.mark, to.clone()));
        self.uses.insert(id, (tool, purposes.collect()));
    }

    fn over(&mut self, id: &str, came: Came) {
        if let Some((tool, purposes)) = self.uses.remove(id) {
            for (mark, to) in purposes {
                self.came.push((tool.clone(), mark, to, came));
            }
        }
    }

    fn tell(mut self, owner: &str, facts: &mut Facts) {
        // A life that ended in the middle of a tool and was followed by none.
        let open: Vec<String> = self.uses.keys().cloned().collect();
        for id in open {
            self.over(&id, Came::Unknown);
        }
        for (at, words) in self.letters.iter().enumerate() {
            let said = self.said.get(&(at + 1)).copied().unwrap_or_default();
            if said > 1 {
                facts.repeated.push(format!(
                    "duplicated: letter {} of {owner} was said {said} times",
                    at + 1
                ));
            }
            for word in words {
                let key = (owner.to_owned(), word.mark.clone());
                let found: &mut Found = facts.found.entry(key.clone()).or_default();
                found.recorded += 1;
                found.said += said;
                if matches!(word.mark.verb, Verb::Order | Verb::Plan) {
                    facts.options.insert(key);
                }
            }
        }
        for ((from, id), count) in self.ids.iter().filter(|(_, count)| **count > 1) {
            facts.repeated.push(format!(
                "duplicated: message {id} of {from} is {count} times in the journal of {owner}"
            ));
        }
        for (tool, mark, to, came) in self.came {
            obey(owner, (&tool, &mark), &to, came, facts);
        }
    }
}

/// What the use of a tool means for the balance.
fn obey(owner: &str, (tool, mark): (&str, &Mark), to: &str, came: Came, facts: &mut Facts) {
    let order = match tool {
        "send_message" => Mark::new(Verb::Order, &mark.id),
        "plan_approval" => mark.clone(),
        _ => return,
    };
    if came != Came::Bad {
        facts.obeyed.insert((owner.to_owned(), order.clone()));
    }
    if tool == "send_message" {
        let outcome = match came {
            Came::Good => Outcome::Done,
            Came::Unknown => Outcome::Unknown,
            Came::Bad => Outcome::Failed,
        };
        let (mark, to) = (letter_of(&order), to.to_owned());
        facts.tries.push(Try { mark, to, outcome });
    }
}

fn dead_letters(world: &World, facts: &mut Facts) -> anyhow::Result<()> {
    world.team.read_dead_letters(|letter| {
        facts.dead_letters += 1;
        let text = serde_json::json!(letter).to_string();
        for word in Word::all(&text) {
            let key = (letter.inbox.to_string(), word.mark);
            facts.found.entry(key).or_default().buried += 1;
        }
    })?;
    Ok(())
}

fn tasks(world: &World, created: &[(Mark, u64)], facts: &mut Facts) -> anyhow::Result<()> {
    let log = std::fs::read(world.office.workspace.join("work.log")).unwrap_or_default();
    let mut worked: BTreeMap<Mark, usize> = BTreeMap::new();
    for word in Word::all(&String::from_utf8_lossy(&log)) {
        *worked.entry(word.mark).or_default() += 1;
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
