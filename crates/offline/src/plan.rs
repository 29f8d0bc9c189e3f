//! From intents to steps.

use serde_json::{Value, json};

use super::intent::{Hire, Intent, Who};
use super::step::{Awaited, Call, Reading, Step};
use super::who::Me;

/// The prompt of a teammate that is spawned without work. It answers with
/// [`READY`].
pub(super) const STAND_BY: &str = "Wait for instructions.";

/// How the report of a teammate begins that has nothing to do yet.
pub(super) const READY: &str = "Ready.";

/// Builds the plan for some intents.
pub(super) fn steps(intents: &[Intent], me: &Me<'_>) -> Vec<Step> {
    let mut plan = Plan {
        me,
        steps: Vec::new(),
        waits: Vec::new(),
    };
    for (place, intent) in intents.iter().enumerate() {
        let later = intents.get(place + 1..).unwrap_or_default();
        plan.add(intent, intents, later);
    }
    plan.flush();
    plan.steps
}

struct Plan<'a> {
    me: &'a Me<'a>,
    steps: Vec<Step>,
    /// What to wait for before the next step that may need it.
    waits: Vec<Awaited>,
}

impl Plan<'_> {
    fn call(&mut self, tool: &'static str, input: Value) {
        self.steps.push(Step::Call(Call { tool, input }));
    }

    fn flush(&mut self) {
        self.steps.extend(self.waits.drain(..).map(Step::Await));
    }

    fn wait(&mut self, awaited: Awaited) {
        if self.me.is_lead() && !self.waits.contains(&awaited) {
            self.waits.push(awaited);
        }
    }

    fn add(&mut self, intent: &Intent, all: &[Intent], later: &[Intent]) {
        let goes_on = matches!(
            intent,
            Intent::Spawn(_)
                | Intent::Delegate { .. }
                | Intent::Send { .. }
                | Intent::Broadcast { .. }
                | Intent::Decide { .. }
                | Intent::AwaitPlan { .. }
                | Intent::CreateTasks { .. }
                | Intent::ChainTasks
                | Intent::RunBackground { .. }
        );
        let own_work = self.waits.iter().all(|wait| *wait == Awaited::Background)
            && !matches!(intent, Intent::WaitFor { .. } | Intent::CheckBackground);
        if !goes_on && !own_work {
            self.flush();
        }
        match intent {
            Intent::Spawn(hires) => hires.iter().for_each(|hire| self.spawn(hire, all)),
            Intent::Delegate { .. } | Intent::Send { .. } | Intent::Broadcast { .. } => {
                self.say(intent, later)
            }
            Intent::Shutdown { .. }
            | Intent::AwaitPlan { .. }
            | Intent::Decide { .. }
            | Intent::SubmitPlan { .. } => {
                self.protocol(intent, all);
            }
            Intent::CreateTasks { .. }
            | Intent::ChainTasks
            | Intent::ListTasks
            | Intent::ShowTask { .. }
            | Intent::ClaimTask { .. }
            | Intent::CompleteTask { .. } => self.board(intent, later),
            Intent::WaitFor { names } => {
                self.waits.extend(names.iter().cloned().map(Awaited::Idle));
                self.flush();
            }
            Intent::CheckInbox => self.call("read_inbox", json!({})),
            Intent::ListTeammates => self.call("list_teammates", json!({})),
            Intent::Standby if all.len() == 1 => {
                let text = format!(
                    "{READY} I am {}, and I wait for instructions.",
                    self.me.introduction()
                );
                self.steps.push(Step::Note(text));
            }
            Intent::Standby => {}
            Intent::Topic { text }
                if !all
                    .iter()
                    .any(|intent| matches!(intent, Intent::SubmitPlan { .. })) =>
            {
                self.steps.push(Step::Note(not_understood(text)));
            }
            Intent::Topic { .. } => {}
            _ => self.own_work(intent),
        }
    }

    fn spawn(&mut self, hire: &Hire, all: &[Intent]) {
        let reviewed = all.iter().any(|intent| match intent {
            Intent::AwaitPlan { from }
            | Intent::Decide {
                from: Some(from), ..
            } => *from == hire.name,
            _ => false,
        });
        let asked = all
            .iter()
            .any(|intent| matches!(intent, Intent::Delegate { to, .. } if to.contains(&hire.name)));
        let mut prompt = match &hire.work {
            Some(work) if is_order(work) => format!("{}.", sentence(work)),
            Some(work) => format!("Your task is: {}.", work.trim_end_matches('.')),
            None => STAND_BY.to_owned(),
        };
        if reviewed && !asked {
            let task = if hire.work.is_some() {
                prompt.as_str()
            } else {
                ""
            };
            prompt = format!("{task} Submit a plan for it before you change anything.")
                .trim()
                .to_owned();
        }
        let mut input = json!({"name": hire.name, "role": hire.role, "prompt": prompt});
        if reviewed && self.me.takes("spawn_teammate", "require_plan") {
            input["require_plan"] = json!(true);
        }
        self.call("spawn_teammate", input);
        if hire.work.is_some() && !reviewed {
            self.wait(Awaited::Idle(hire.name.clone()));
        }
    }

    fn say(&mut self, intent: &Intent, later: &[Intent]) {
        match intent {
            Intent::Delegate { to, work } => {
                for name in to {
                    let content = format!("{}.", sentence(work));
                    self.call("send_message", json!({"to": name, "content": content}));
                    let decided = later.iter().any(|later| {
                        matches!(later, Intent::AwaitPlan { from } | Intent::Decide { from: Some(from), .. } if from == name)
                    });
                    if !decided {
                        self.wait(Awaited::Idle(name.clone()));
                    }
                }
            }
            Intent::Send { to, text } => {
                for name in to {
                    let hello = || format!("Hello {name}, this is {}.", self.me.introduction());
                    let content = text.clone().unwrap_or_else(hello);
                    self.call("send_message", json!({"to": name, "content": content}));
                }
            }
            Intent::Broadcast { text } => self.call("broadcast", json!({"content": text})),
            _ => {}
        }
    }

    fn protocol(&mut self, intent: &Intent, all: &[Intent]) {
        match intent {
            Intent::Shutdown {
                who: Who::Names(names),
            } => {
                for name in names {
                    self.call("shutdown_request", json!({"teammate": name}));
                    self.wait(Awaited::Shutdown(name.clone()));
                }
            }
            Intent::Shutdown { who: Who::All } => {
                self.call("list_teammates", json!({}));
                self.steps.push(Step::ShutdownListed);
            }
            Intent::AwaitPlan { from } => self.steps.push(Step::Await(Awaited::Plan(from.clone()))),
            Intent::Decide {
                id: Some(id),
                approve,
                feedback,
                ..
            } => {
                let feedback = feedback
                    .clone()
                    .unwrap_or_else(|| default_feedback(*approve));
                self.call(
                    "plan_approval",
                    json!({"request_id": id, "approve": approve, "feedback": feedback}),
                );
            }
            Intent::Decide {
                from: Some(from),
                approve,
                feedback,
                ..
            } => {
                let (from, feedback) = (from.clone(), feedback.clone());
                self.steps.push(Step::Decide {
                    from,
                    approve: *approve,
                    feedback,
                });
            }
            Intent::SubmitPlan { about } => {
                let topic = all.iter().find_map(|intent| match intent {
                    Intent::Topic { text } => Some(text.clone()),
                    _ => None,
                });
                let about = about.clone().or(topic);
                self.call(
                    "plan_approval",
                    json!({"plan": plan_text(self.me, about.as_deref(), &[])}),
                );
                self.steps.push(Step::Await(Awaited::Decision));
                if let Some(about) = about {
                    self.steps.push(Step::Note(not_understood(&about)));
                }
            }
            _ => {}
        }
    }

    fn board(&mut self, intent: &Intent, later: &[Intent]) {
        match intent {
            Intent::CreateTasks { subjects, chained } => {
                for subject in subjects {
                    self.call("task_create", json!({"subject": subject}));
                }
                if *chained {
                    self.steps.push(Step::Chain);
                }
                if !later.contains(&Intent::ChainTasks) && subjects.len() > 1 {
                    self.call("task_list", json!({}));
                }
            }
            Intent::ChainTasks => {
                self.steps.push(Step::Chain);
                self.call("task_list", json!({}));
            }
            Intent::ListTasks => self.call("task_list", json!({})),
            Intent::ShowTask { id } => self.call("task_get", json!({"task_id": id})),
            Intent::ClaimTask { id } => self.call("claim_task", json!({"task_id": id})),
            Intent::CompleteTask { id } => self.steps.push(Step::Complete { id: *id }),
            _ => {}
        }
    }

    fn own_work(&mut self, intent: &Intent) {
        match intent {
            Intent::WriteFile { path, content } => {
                self.call("write_file", json!({"path": path, "content": content}))
            }
            Intent::EditFile { path, old, new } => {
                self.call(
                    "edit_file",
                    json!({"path": path, "old_text": old, "new_text": new}),
                );
            }
            Intent::ReadFile { path } => self.call("read_file", json!({"path": path})),
            Intent::ReadEvery { ending, dir } => {
                let reading = Reading {
                    ending: ending.clone(),
                    dir: dir.clone(),
                    ..Reading::default()
                };
                self.steps.push(Step::ReadEvery(reading));
            }
            Intent::Run { command } => self.call("bash", json!({"command": command})),
            Intent::RunBackground { command } => {
                self.call("background_run", json!({"command": command}));
                self.waits.push(Awaited::Background);
            }
            Intent::CheckBackground => self.call("check_background", json!({})),
            Intent::Compact => self.call("compact", json!({})),
            _ => {}
        }
    }
}

/// Whether a text for a new teammate is an order in itself.
fn is_order(work: &str) -> bool {
    let mut known = super::names::Known::default();
    let parsed = super::grammar::parse(work, &mut known);
    !parsed.intents.is_empty() && parsed.unclear.is_empty()
}

/// The text with a capital at its start and no dot at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.trim().trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// What a lead says about a plan if it was given no words.
pub(super) fn default_feedback(approve: bool) -> String {
    let text = if approve {
        "Approved: go ahead as planned."
    } else {
        "Rejected: the plan is too risky. Revise it: smaller steps, each with a test and a way back."
    };
    text.to_owned()
}

/// A plan in words, for the lead to decide about.
pub(super) fn plan_text(me: &Me<'_>, about: Option<&str>, steps: &[Step]) -> String {
    let mut lines = vec![match about {
        Some(about) => format!("Plan of {} for: {about}", me.introduction()),
        None => format!("Plan of {}", me.introduction()),
    }];
    for text in steps.iter().filter_map(describe).take(20) {
        lines.push(format!("{}. {text}", lines.len()));
    }
    if lines.len() == 1 {
        lines.push("1. Look at what is there and change nothing yet.".to_owned());
        lines.push("2. Make the change in small steps, and test after each.".to_owned());
        lines.push("3. Report what was done.".to_owned());
    }
    lines.join("\n")
}

fn describe(step: &Step) -> Option<String> {
    match step {
        Step::Call(call) if call.tool != "plan_approval" => {
            let input = &call.input;
            let main = ["path", "command", "to", "subject"]
                .iter()
                .find_map(|key| input.get(key)?.as_str());
            Some(
                format!("{} {}", call.tool, main.unwrap_or_default())
                    .trim()
                    .to_owned(),
            )
        }
        Step::ReadEvery(reading) => Some(format!("read the files in {}", reading.dir)),
        _ => None,
    }
}

/// What is said about work that is not understood.
pub(super) fn not_understood(text: &str) -> String {
    format!(
        "I did not understand \"{}\" and did nothing about it: I am the offline model, which follows plain instructions and is no LLM.",
        text.trim()
    )
}
