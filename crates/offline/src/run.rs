//! Carries out one instruction as far as the conversation goes.
//!
//! The code of an instruction is plain: it makes a call, uses the result, makes the next call. It is
//! run from its start at every request. Each call takes its result from the conversation, and each
//! wait its mail; the first that finds nothing pauses the run.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::awaited::Awaited;
use crate::conversation::{Event, Mail, Outcome};
use crate::identity::Identity;
use crate::instruction::{End, Instruction};
use crate::report;

/// How many plans are submitted for one instruction.
const MOST_PLANS: u32 = 4;

/// A call of a tool.
pub(crate) struct Call(pub(crate) &'static str, pub(crate) Value);

/// Why an instruction does not go on.
pub(crate) enum Pause {
    /// It needs the result of this call, which is to be made.
    Call(Call),
    /// It needs this mail.
    Mail(Awaited),
    /// Its last plan was rejected.
    GivenUp,
}

pub(crate) struct Run<'a> {
    pub(crate) me: &'a Identity<'a>,
    pub(crate) instruction: &'a Instruction,
    pub(crate) events: &'a [Event],
    /// The events that this instruction and those before it used.
    pub(crate) taken: &'a mut HashSet<usize>,
    /// The latest event that was used.
    pub(crate) now: usize,
    pub(crate) report: Vec<String>,
    /// What has to come before the next step that may depend on it.
    pub(crate) waits: Vec<Awaited>,
    /// The ids of the tasks that were created; `None` if a result was cleared.
    pub(crate) tasks: Vec<Option<i64>>,
    /// How many plans were submitted.
    pub(crate) plans: u32,
}

impl<'a> Run<'a> {
    /// Follows the clauses, and ends the instruction also if the work was given up.
    pub(crate) fn carry_out(&mut self) -> Result<(), Pause> {
        let end = &self.instruction.end;
        if let End::Complete { id, subject } = end {
            self.say(format!("Task #{id}: {subject}"));
        }
        match self.follow(&self.instruction.clauses) {
            Err(Pause::GivenUp) => self.say("My plan was not approved, so I give the work up."),
            followed => followed?,
        }
        self.report.extend(self.instruction.notes.iter().cloned());
        let report = report::reply(&self.report);
        match end {
            End::Silent => {}
            End::Reply(to) => {
                self.call("send_message", json!({"to": to, "content": report}))?;
            }
            End::Complete { id, .. } => {
                let input = json!({"task_id": id, "status": "completed", "result": report});
                self.act("task_update", input)?;
            }
            End::Leave(id) => {
                let reason = "Nothing is in hand.";
                let input = json!({"request_id": id, "approve": true, "reason": reason});
                self.act("shutdown_response", input)?;
            }
        }
        Ok(())
    }

    /// Adds a line to the report.
    pub(crate) fn say(&mut self, line: impl Into<String>) {
        self.report.push(line.into());
    }

    /// Makes a call and reports its result.
    pub(crate) fn act(&mut self, tool: &'static str, input: Value) -> Result<Outcome, Pause> {
        let outcome = self.call(tool, input)?;
        if !outcome.failed {
            self.say(report::outcome(&outcome));
        }
        Ok(outcome)
    }

    /// Makes a call and reports its failure. A call that is refused until a plan is approved is made
    /// again after the approval, and an interrupted one once. A file that is to be replaced is read first
    /// where that is asked for.
    pub(crate) fn call(&mut self, tool: &'static str, input: Value) -> Result<Outcome, Pause> {
        let (mut was_interrupted, mut has_read) = (false, false);
        loop {
            let outcome = self.ask(tool, &input)?;
            if self.is_gated(&outcome) {
                let step = report::describe(&outcome);
                self.submit(&report::plan(self.me, self.instruction.topic(), &step))?;
            } else if !was_interrupted && may_repeat(&outcome) {
                was_interrupted = true;
            } else if !has_read && wants_reading(&outcome) {
                has_read = true;
                self.ask("read_file", &json!({"path": outcome.text("path")}))?;
            } else {
                self.report
                    .extend(outcome.failed.then(|| report::outcome(&outcome)));
                return Ok(outcome);
            }
        }
    }

    fn ask(&mut self, tool: &'static str, input: &Value) -> Result<Outcome, Pause> {
        if self.me.has(tool) {
            let result = self.take_result(tool, &[tool]).cloned();
            return result.ok_or_else(|| Pause::Call(Call(tool, input.clone())));
        }
        Ok(Outcome {
            tool: tool.to_owned(),
            input: input.clone(),
            content: format!("I have no tool {tool} here, so that step is left out."),
            failed: true,
        })
    }

    /// The next result in this turn of one of these tools that no other instruction took, if it is of
    /// this tool.
    pub(crate) fn take_result(&mut self, tool: &str, among: &[&str]) -> Option<&'a Outcome> {
        let later = self.events.iter().enumerate().skip(self.now + 1);
        let turn = later.take_while(|(_, event)| !matches!(event, Event::Said { .. }));
        let results = turn.filter_map(|(at, event)| Some((at, event.result()?)));
        let mut open = results.filter(|(at, _)| !self.taken.contains(at));
        let (at, result) = open.find(|(_, result)| among.contains(&result.tool.as_str()))?;
        if result.tool != tool {
            return None;
        }
        self.taken.insert(at);
        self.now = at;
        Some(result)
    }

    /// Submits a plan until it is approved. It is revised after each rejection.
    pub(crate) fn submit(&mut self, plan: &str) -> Result<(), Pause> {
        let mut text = plan.to_owned();
        loop {
            self.plans += 1;
            let outcome = self.ask("plan_approval", &json!({"plan": text}))?;
            self.say(report::outcome(&outcome));
            if outcome.failed {
                return Ok(());
            }
            let id = report::request_id(&outcome.content);
            let decision = self.wait(Awaited::Decision(id.to_owned()))?;
            if decision.approve {
                return Ok(());
            }
            if self.plans >= MOST_PLANS {
                return Err(Pause::GivenUp);
            }
            let feedback = report::short(&decision.text);
            text = format!("{plan}\nRevised after the feedback: {feedback}");
        }
    }

    /// Whether a tool was refused because a plan has to be approved first.
    fn is_gated(&self, outcome: &Outcome) -> bool {
        let text = outcome.content.to_lowercase();
        let says = text.contains("plan") && (text.contains("approv") || text.contains("submit"));
        let may = self.me.has("plan_approval") && !self.me.is_lead && self.plans < MOST_PLANS;
        outcome.failed && says && may && outcome.tool != "plan_approval"
    }

    /// Waits before the next step that may depend on a call, if the call worked. Only the lead
    /// waits for teammates.
    pub(crate) fn wait_later(&mut self, call: &Outcome, awaited: Awaited) {
        if !call.failed && (self.me.is_lead || matches!(awaited, Awaited::Background)) {
            let words = awaited.in_words();
            self.waits.retain(|other| other.in_words() != words);
            self.waits.push(awaited);
        }
    }

    pub(crate) fn wait_now(&mut self) -> Result<(), Pause> {
        let mut waits = std::mem::take(&mut self.waits).into_iter();
        waits.try_for_each(|awaited| self.wait(awaited).map(drop))
    }

    /// Waits for mail and reports it: the last that is there by now, or else the first that comes.
    pub(crate) fn wait(&mut self, awaited: Awaited) -> Result<&'a Mail, Pause> {
        let (past, future) = self.events.split_at(self.now + 1);
        let fits = |(at, event): (usize, &'a Event)| {
            let mail = event.mail().filter(|mail| !is_decided(mail, past))?;
            let is_open = !self.taken.contains(&at);
            (is_open && awaited.is_met_by(at, mail)).then_some((at, mail))
        };
        let last = past.iter().enumerate().rev().find_map(fits);
        let found = last.or_else(|| (past.len()..).zip(future).find_map(fits));
        let Some((at, mail)) = found else {
            return Err(Pause::Mail(awaited));
        };
        self.now = self.now.max(at);
        // A plan is used when it is decided about.
        if !mail.is_plan() {
            self.taken.insert(at);
        }
        self.say(awaited.report(mail));
        Ok(mail)
    }
}

/// Whether one of the events decides about the plan in a message.
pub(crate) fn is_decided(mail: &Mail, events: &[Event]) -> bool {
    let mut calls = events.iter().filter_map(Event::result);
    let decides = |call: &Outcome| call.text("request_id") == mail.request_id;
    mail.is_plan() && calls.any(|call| call.tool == "plan_approval" && decides(call))
}

/// Whether a file was not replaced because it was not read before.
fn wants_reading(outcome: &Outcome) -> bool {
    outcome.failed && outcome.tool == "write_file" && outcome.content.contains("not read it")
}

/// Whether a call was interrupted before it had an effect, or can be made twice without harm.
fn may_repeat(outcome: &Outcome) -> bool {
    let harmless = ["read_file", "write_file", "task_list", "list_teammates"];
    let says = outcome.content.to_lowercase();
    let early = says.contains("interrupted before") || harmless.contains(&outcome.tool.as_str());
    outcome.failed && says.contains("interrupted") && early
}
