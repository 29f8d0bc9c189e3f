//! From clauses to steps.

use serde_json::{Value, json};

use crate::clause::{Clause, parse};
use crate::identity::Identity;
use crate::names::Known;
use crate::report;
use crate::step::{Awaited, Call, Step};
use crate::table::Verb;

/// The prompt of a teammate that is spawned without work.
const STAND_BY: &str = "Wait for instructions.";

/// How the report of a teammate begins that has nothing to do yet.
pub(crate) const READY: &str = "Ready.";

pub(crate) fn steps(clauses: &[Clause], me: &Identity<'_>) -> Vec<Step> {
    let mut plan = Plan {
        me,
        clauses,
        steps: Vec::new(),
        waits: Vec::new(),
    };
    for (at, clause) in clauses.iter().enumerate() {
        plan.add(clause, clauses.get(at + 1..).unwrap_or_default());
    }
    plan.flush();
    plan.steps
}

struct Plan<'a> {
    me: &'a Identity<'a>,
    clauses: &'a [Clause],
    steps: Vec<Step>,
    /// What has to come before the next step that may depend on it.
    waits: Vec<Awaited>,
}

impl Plan<'_> {
    fn call(&mut self, tool: &'static str, input: Value) {
        self.steps.push(Step::Call(Call(tool, input)));
    }

    fn wait(&mut self, awaited: Awaited) {
        if self.me.is_lead() && !self.waits.contains(&awaited) {
            self.waits.push(awaited);
        }
    }

    fn flush(&mut self) {
        self.steps.extend(self.waits.drain(..).map(Step::Await));
    }

    fn add(&mut self, clause: &Clause, later: &[Clause]) {
        if self.needs_waits(clause.verb) {
            self.flush();
        }
        match clause.verb {
            Verb::Ask | Verb::Send => self.write(clause, later),
            Verb::ChainTasks => {
                self.steps.push(Step::Chain);
                self.call("task_list", json!({}));
            }
            Verb::CompleteTask => self.steps.push(Step::Complete(clause.number)),
            Verb::CreateChain | Verb::CreateTask | Verb::CreateTasks => self.create(clause, later),
            Verb::Decide => self.decide(clause),
            Verb::ReadEvery => {
                let step = list_files(clause.path(), clause.texts.first());
                self.steps.push(step);
            }
            Verb::ReviewPlan => {
                let plans = clause.names.iter().cloned().map(Awaited::Plan);
                self.steps.extend(plans.map(Step::Await));
            }
            Verb::RunInBackground => {
                self.call("background_run", json!({"command": clause.text()}));
                self.waits.push(Awaited::Background);
            }
            Verb::Shutdown => {
                for name in &clause.names {
                    self.call("shutdown_request", json!({"teammate": name}));
                    self.wait(Awaited::Shutdown(name.clone()));
                }
            }
            Verb::ShutdownAll => {
                self.call("list_teammates", json!({}));
                self.steps.push(Step::ShutdownListed);
            }
            Verb::Spawn => self.spawn(clause),
            Verb::StandBy if self.clauses.len() > 1 => {}
            Verb::StandBy => {
                let me = self.me.introduction();
                let note = format!("{READY} I am {me}, and I wait for instructions.");
                self.steps.push(Step::Note(note));
            }
            Verb::SubmitPlan => self.submit(clause),
            Verb::Topic if self.has(Verb::SubmitPlan) => {}
            Verb::Topic => {
                let note = report::not_understood(&clause.text());
                self.steps.push(Step::Note(note));
            }
            Verb::WaitFor => {
                let names = clause.names.iter().cloned();
                self.steps.extend(names.map(Awaited::Idle).map(Step::Await));
            }
            _ => self.steps.extend(one_call(clause).map(Step::Call)),
        }
    }

    /// Whether a clause may use what is awaited, and so has to wait for it.
    fn needs_waits(&self, verb: Verb) -> bool {
        match verb {
            Verb::Spawn
            | Verb::Ask
            | Verb::Send
            | Verb::Broadcast
            | Verb::Decide
            | Verb::ReviewPlan
            | Verb::CreateTasks
            | Verb::ChainTasks
            | Verb::RunInBackground => false,
            Verb::WaitFor | Verb::CheckBackground => true,
            _ => self.waits.iter().any(|wait| *wait != Awaited::Background),
        }
    }

    fn has(&self, verb: Verb) -> bool {
        self.clauses.iter().any(|clause| clause.verb == verb)
    }

    fn spawn(&mut self, clause: &Clause) {
        let prompt = match clause.texts.first() {
            Some(work) if is_understood(work) => sentence(work),
            Some(work) => format!("Your task is: {}.", work.trim_end_matches('.')),
            None => STAND_BY.to_owned(),
        };
        for (name, role) in clause.names.iter().zip(&clause.roles) {
            let reviewed = is_reviewed(self.clauses, name);
            let is_asked = |other: &Clause| other.verb == Verb::Ask && other.names.contains(name);
            let prompt = match reviewed && !self.clauses.iter().any(is_asked) {
                true => format!("{prompt} Submit a plan for it before you change anything."),
                false => prompt.clone(),
            };
            let mut input = json!({"name": name, "role": role, "prompt": prompt});
            if reviewed && self.me.takes("spawn_teammate", "require_plan") {
                input["require_plan"] = json!(true);
            }
            self.call("spawn_teammate", input);
            if !clause.texts.is_empty() && !reviewed {
                self.wait(Awaited::Idle(name.clone()));
            }
        }
    }

    fn write(&mut self, clause: &Clause, later: &[Clause]) {
        for name in &clause.names {
            let content = match clause.texts.first() {
                Some(work) if clause.verb == Verb::Ask => sentence(work),
                Some(text) => text.clone(),
                None => format!("Hello {name}, this is {}.", self.me.introduction()),
            };
            self.call("send_message", json!({"to": name, "content": content}));
            if clause.verb == Verb::Ask && !is_reviewed(later, name) {
                self.wait(Awaited::Idle(name.clone()));
            }
        }
    }

    fn decide(&mut self, clause: &Clause) {
        let (approve, feedback) = (clause.approve, clause.texts.first());
        if let Some(id) = &clause.id {
            self.steps.push(Step::Call(decision(id, approve, feedback)));
        }
        self.steps
            .extend(clause.names.iter().map(|from| Step::Decide {
                from: from.clone(),
                approve,
                feedback: feedback.cloned(),
            }));
    }

    fn submit(&mut self, clause: &Clause) {
        let named = |about: &&String| {
            let first = about.split(' ').next().unwrap_or_default();
            !["it", "this", "that", "your", "before"].contains(&first)
        };
        let topic = self.clauses.iter().find(|other| other.verb == Verb::Topic);
        let about = clause.texts.first().filter(named).cloned();
        let about = about.or_else(|| topic.map(Clause::text));
        let plan = report::plan(self.me, about.as_deref(), &[]);
        self.call("plan_approval", json!({"plan": plan}));
        self.steps.push(Step::Await(Awaited::Decision));
        let note = about.map(|about| report::not_understood(&about));
        self.steps.extend(note.map(Step::Note));
    }

    fn create(&mut self, clause: &Clause, later: &[Clause]) {
        for subject in &clause.texts {
            self.call("task_create", json!({"subject": subject}));
        }
        if clause.verb == Verb::CreateChain {
            self.steps.push(Step::Chain);
        }
        let chained = later.iter().any(|other| other.verb == Verb::ChainTasks);
        if clause.texts.len() > 1 && !chained {
            self.call("task_list", json!({}));
        }
    }
}

/// The call of a verb that is carried out by one call.
fn one_call(clause: &Clause) -> Option<Call> {
    let (path, text, id) = (clause.path(), clause.text(), clause.number);
    Some(match clause.verb {
        Verb::Broadcast => Call("broadcast", json!({"content": text})),
        Verb::CheckBackground => Call("check_background", json!({})),
        Verb::CheckInbox => Call("read_inbox", json!({})),
        Verb::ClaimTask => Call("claim_task", json!({"task_id": id})),
        Verb::Compact => Call("compact", json!({})),
        Verb::Create => {
            let content = report::first_content(path);
            Call("write_file", json!({"path": path, "content": content}))
        }
        Verb::EditFile => {
            let new = clause.texts.get(1);
            let input = json!({"path": path, "old_text": text, "new_text": new});
            Call("edit_file", input)
        }
        Verb::ListFiles => {
            let command = format!("ls -la {}", report::shell_word(path));
            Call("bash", json!({"command": command}))
        }
        Verb::ListTasks => Call("task_list", json!({})),
        Verb::ListTeammates => Call("list_teammates", json!({})),
        Verb::ReadFile => Call("read_file", json!({"path": path})),
        Verb::Run => Call("bash", json!({"command": text})),
        Verb::ShowTask => Call("task_get", json!({"task_id": id})),
        Verb::WriteFile => Call("write_file", json!({"path": path, "content": text})),
        _ => return None,
    })
}

/// Whether a clause is about the plan of this teammate.
fn is_reviewed(clauses: &[Clause], name: &String) -> bool {
    let is_plan = |verb: Verb| matches!(verb, Verb::ReviewPlan | Verb::Decide);
    let mut clauses = clauses.iter();
    clauses.any(|clause| is_plan(clause.verb) && clause.names.contains(name))
}

/// The step that lists the files in a folder whose names have this ending.
fn list_files(dir: &str, ending: Option<&String>) -> Step {
    let name = ending.map(|ending| format!(" -name '*.{ending}'"));
    let command = format!(
        "find {} -type f{} -not -path '*/target/*' -not -path '*/.*' | sort",
        report::shell_word(dir),
        name.unwrap_or_default()
    );
    let dir = dir.to_owned();
    Step::ListFiles { dir, command }
}

/// The call that decides about a plan.
pub(crate) fn decision(id: &str, approve: bool, feedback: Option<&String>) -> Call {
    let default = match approve {
        true => "Approved: go ahead as planned.",
        false => "Rejected: the plan is too risky. Revise it: smaller steps, each with a test.",
    };
    let feedback = feedback.map_or(default, String::as_str);
    let input = json!({"request_id": id, "approve": approve, "feedback": feedback});
    Call("plan_approval", input)
}

fn is_understood(work: &str) -> bool {
    let parsed = parse(work, &mut Known::default());
    !parsed.clauses.is_empty() && parsed.unclear.is_empty()
}

/// The text with a capital at its start and a dot at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.trim().trim_end_matches('.').chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain(['.']).collect()
}
