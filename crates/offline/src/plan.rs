//! What each verb does.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::job::Job;
use crate::mail::Awaited;
use crate::names::Known;
use crate::parse::{Clause, parse};
use crate::report;
use crate::table::Verb;

/// The prompt of a teammate that is spawned without work.
const STAND_BY: &str = "Wait for instructions.";

/// How the report of a teammate begins that has nothing to do yet.
pub(crate) const READY: &str = "Ready.";

impl Job<'_> {
    pub(crate) async fn follow(&mut self, clauses: &[Clause]) {
        let has = |verb: Verb| clauses.iter().any(|clause| clause.verb == verb);
        for (clause, at) in clauses.iter().zip(1..) {
            if self.needs_waits(clause.verb) {
                self.wait_now().await;
            }
            match clause.verb {
                Verb::Ask | Verb::Send => {
                    let later = clauses.get(at..).unwrap_or_default();
                    self.write(clause, later).await;
                }
                Verb::Call(tool, arguments) => {
                    let outcome = self.act(tool, clause.input(arguments)).await;
                    if tool == "background_run" {
                        self.wait_later(&outcome, Awaited::Background);
                    }
                }
                Verb::ChainTasks => self.chain().await,
                Verb::CreateTasks => self.create(clause, has(Verb::ChainTasks)).await,
                Verb::CreateChain => {
                    self.create(clause, true).await;
                    self.chain().await;
                }
                Verb::Decide(approve) => self.decide(clause, approve).await,
                Verb::ReadEvery => self.read_every(clause).await,
                // Whoever decides about a plan waits for it first.
                Verb::ReviewPlan if has(Verb::Decide(true)) || has(Verb::Decide(false)) => {}
                Verb::ReviewPlan => {
                    for name in &clause.names {
                        self.wait(&Awaited::Plan(name.clone())).await;
                    }
                }
                Verb::Shutdown => self.shut_down(&clause.names).await,
                Verb::ShutdownAll => {
                    let list = self.act("list_teammates", json!({})).await;
                    self.shut_down(&report::listed(&list.content)).await;
                }
                Verb::Spawn => self.spawn(clause, clauses).await,
                Verb::StandBy if clauses.len() > 1 => {}
                Verb::StandBy => {
                    let me = self.me.introduction();
                    self.say(format!("{READY} I am {me}, and I wait for instructions."));
                }
                Verb::SubmitPlan => self.propose(clause).await,
                Verb::Topic if has(Verb::SubmitPlan) => {}
                Verb::Topic => self.say(report::not_understood(clause.text().unwrap_or_default())),
                Verb::WaitFor => {
                    let asked: Vec<String> = self.waits.iter().map(Awaited::waiting).collect();
                    let names = clause.names.iter().cloned();
                    let any = names.map(|name| Awaited::Report(name, None));
                    let new = any.filter(|any| !asked.contains(&any.waiting()));
                    self.waits.extend(new);
                    self.wait_now().await;
                }
            }
        }
        self.wait_now().await;
    }

    /// Whether a clause may use what is awaited, and so has to wait for it.
    fn needs_waits(&self, verb: Verb) -> bool {
        match verb {
            Verb::Spawn | Verb::Ask | Verb::Send | Verb::Decide(_) | Verb::ReviewPlan => false,
            Verb::CreateTasks | Verb::ChainTasks | Verb::WaitFor => false,
            Verb::Call("broadcast" | "background_run", _) => false,
            Verb::Call("check_background", _) => true,
            _ => {
                let background = |wait: &Awaited| matches!(wait, Awaited::Background);
                !self.waits.iter().all(background)
            }
        }
    }

    async fn spawn(&mut self, clause: &Clause, clauses: &[Clause]) {
        let prompt = match clause.text() {
            Some(work) if is_understood(work) => sentence(work),
            Some(work) => format!("Your task is: {}.", work.trim_end_matches('.')),
            None => STAND_BY.to_owned(),
        };
        for (name, role) in clause.names.iter().zip(&clause.roles) {
            let reviewed = is_reviewed(clauses, name);
            let is_asked = |other: &Clause| other.verb == Verb::Ask && other.names.contains(name);
            let mut input = json!({"name": name, "role": role, "prompt": prompt});
            if reviewed && !clauses.iter().any(is_asked) {
                input["prompt"] = json!(format!(
                    "{prompt} Submit a plan for it before you change anything."
                ));
            }
            if reviewed {
                input["require_plan"] = json!(true);
            }
            let outcome = self.act("spawn_teammate", input).await;
            if clause.text().is_some() && !reviewed {
                self.wait_later(&outcome, self.report_of(name));
            }
        }
    }

    async fn write(&mut self, clause: &Clause, later: &[Clause]) {
        for name in &clause.names {
            let content = match clause.text() {
                Some(work) if clause.verb == Verb::Ask => sentence(work),
                Some(text) => text.to_owned(),
                None => format!("Hello {name}, this is {}.", self.me.introduction()),
            };
            let input = json!({"to": name, "content": content});
            let outcome = self.act("send_message", input).await;
            if clause.verb == Verb::Ask && !is_reviewed(later, name) {
                self.wait_later(&outcome, self.report_of(name));
            }
        }
    }

    async fn shut_down(&mut self, names: &[String]) {
        if names.is_empty() {
            self.say("There is nobody to shut down.");
        }
        for name in names {
            let input = json!({"teammate": name});
            let outcome = self.act("shutdown_request", input).await;
            self.wait_later(&outcome, Awaited::Shutdown(name.clone()));
        }
    }

    /// Decides about the plan with an id, or about the plan of a teammate once it is there.
    async fn decide(&mut self, clause: &Clause, approve: bool) {
        let feedback = clause.text().unwrap_or(match approve {
            true => "Approved: go ahead as planned.",
            false => "Rejected: the plan is too risky. Revise it: smaller steps, each with a test.",
        });
        let input = |id: &str| json!({"request_id": id, "approve": approve, "feedback": feedback});
        if let Some(id) = clause.get("ID") {
            self.act("plan_approval", input(id)).await;
        }
        for name in &clause.names {
            let plan = self.wait(&Awaited::Plan(name.clone())).await;
            let id = plan.request_id.unwrap_or_default();
            self.act("plan_approval", input(&id)).await;
        }
    }

    /// Submits a plan for work that was only named.
    async fn propose(&mut self, clause: &Clause) {
        let named = |about: &&str| !report::opens_with(about, "it this that your before");
        let about = clause.text().filter(named).map(str::to_owned);
        let about = about.or_else(|| self.topic.clone());
        let step = "Make the change in small steps, and test after each.";
        let plan = report::plan(&self.me, about.as_deref(), step);
        self.submit(&plan).await;
        if let Some(about) = about {
            self.say(report::not_understood(&about));
        }
    }

    async fn create(&mut self, clause: &Clause, is_chained: bool) {
        for subject in &clause.subjects {
            let outcome = self.act("task_create", json!({"subject": subject})).await;
            self.tasks.push(report::task_id(&outcome.content));
        }
        if clause.subjects.len() > 1 && !is_chained {
            self.act("task_list", json!({})).await;
        }
    }

    /// Makes each task that was created depend on the one before.
    async fn chain(&mut self) {
        // An id whose result was cleared is counted from another one.
        let ids = (0..).zip(&self.tasks);
        let first = ids.clone().find_map(|(at, id)| (*id)?.checked_sub(at));
        let ids = ids.filter_map(|(at, id)| id.or(first?.checked_add(at)));
        let ids: Vec<i64> = ids.collect();
        if ids.len() < 2 {
            self.say("There are no two new tasks to chain.");
        }
        for (before, after) in ids.iter().zip(ids.iter().skip(1)) {
            let input = json!({"task_id": after, "addBlockedBy": [before]});
            self.act("task_update", input).await;
        }
        self.act("task_list", json!({})).await;
    }

    /// Lists the files in a folder, and reads each of them without its text in the report.
    async fn read_every(&mut self, clause: &Clause) {
        let dir = clause.path();
        let input = json!({"command": list_command(dir, clause.text())});
        let mut read = BTreeSet::new();
        let mut lost = false;
        let list = loop {
            let outcome = self.call("bash", input.clone()).await;
            if outcome.tool == "read_file" {
                // It was read before the list was lost.
                read.insert(outcome.text("path").to_owned());
                lost = false;
            } else if outcome.failed {
                return;
            } else if !report::is_incomplete(&outcome.content) {
                break outcome.content;
            } else if lost {
                self.say(format!(
                    "The list of files in {dir} was lost twice, so I stop."
                ));
                return;
            } else {
                lost = true;
            }
        };
        let files = list.lines().map(str::trim);
        for file in files.filter(|file| file.starts_with(dir.trim_end_matches('/'))) {
            if read.insert(file.to_owned()) {
                self.call("read_file", json!({"path": file})).await;
            }
        }
        self.say(match read.len() {
            0 => format!("There are no such files in {dir}."),
            count => format!("I read {count} files in {dir}, one by one."),
        });
    }
}

impl Clause {
    /// The arguments of a row of the table, see [`Verb::Call`].
    fn input(&self, arguments: &str) -> Value {
        let mut input = json!({});
        for (key, slot) in arguments.split(' ').filter_map(|pair| pair.split_once('=')) {
            input[key] = match slot {
                "TEXT" => json!(self.text()),
                "NUM" => json!(self.number()),
                "FIRST" => json!(report::first_content(input["path"].as_str().unwrap_or(""))),
                "LS" => json!(format!("ls -la {}", report::shell_word(self.path()))),
                slot => json!(self.get(slot).unwrap_or(slot)),
            };
        }
        input
    }
}

/// The command that lists the files of a kind, which is a language or an ending.
fn list_command(dir: &str, kind: Option<&str>) -> String {
    let ending = match kind.map(str::to_lowercase).as_deref() {
        None => "*".to_owned(),
        Some("rust") => "*.rs".to_owned(),
        Some("python") => "*.py".to_owned(),
        Some("markdown") => "*.md".to_owned(),
        Some("text") => "*.txt".to_owned(),
        Some(other) => format!("*.{}", other.trim_start_matches(['*', '.'])),
    };
    let (dir, name) = (report::shell_word(dir), report::shell_word(&ending));
    format!("find {dir} -type f -name {name} -not -path '*/target/*' -not -path '*/.*' | sort")
}

/// Whether a clause is about the plan of this teammate.
fn is_reviewed(clauses: &[Clause], name: &String) -> bool {
    let is_plan = |verb: Verb| matches!(verb, Verb::ReviewPlan | Verb::Decide(_));
    let mut clauses = clauses.iter();
    clauses.any(|clause| is_plan(clause.verb) && clause.names.contains(name))
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
