//! What each verb does.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::awaited::Awaited;
use crate::parse::{Clause, Known, parse};
use crate::report::{self, READY};
use crate::run::{Pause, Run};
use crate::table::Verb;

/// The prompt of a teammate that is spawned without work.
const STAND_BY: &str = "Wait for instructions.";

impl Run<'_> {
    pub(crate) fn follow(&mut self, clauses: &[Clause]) -> Result<(), Pause> {
        for (clause, at) in clauses.iter().zip(1..) {
            let is_background = |wait: &Awaited| matches!(wait, Awaited::Background);
            if uses_what_comes(clause.verb) && !self.waits.iter().all(is_background) {
                self.wait_now()?;
            }
            self.step(clause, clauses.get(at..).unwrap_or_default())?;
        }
        self.wait_now()
    }

    /// Follows one clause. Some depend on the others, and some on those that come later.
    fn step(&mut self, clause: &Clause, later: &[Clause]) -> Result<(), Pause> {
        let all = &self.instruction.clauses;
        let has = |verb: Verb| all.iter().any(|clause| clause.verb == verb);
        let is_decided = has(Verb::Decide(true)) || has(Verb::Decide(false));
        match clause.verb {
            Verb::Ask | Verb::Send => self.write(clause, later)?,
            Verb::Call(tool, arguments) => {
                let outcome = self.act(tool, clause.input(arguments))?;
                if tool == "background_run" {
                    self.wait_later(&outcome, Awaited::Background);
                }
            }
            Verb::ChainTasks => self.chain()?,
            Verb::CreateTasks | Verb::CreateChain => self.create(clause, has(Verb::ChainTasks))?,
            Verb::Decide(approve) => self.decide(clause, approve)?,
            Verb::ReadEvery => self.read_every(clause.path(), clause.text())?,
            // Whoever decides about a plan waits for it first.
            Verb::ReviewPlan if is_decided => {}
            Verb::ReviewPlan => {
                for name in &clause.names {
                    self.wait(Awaited::Plan(name.clone()))?;
                }
            }
            Verb::Shutdown => self.shut_down(&clause.names)?,
            Verb::ShutdownAll => {
                let list = self.act("list_teammates", json!({}))?;
                self.shut_down(&report::listed(&list.content))?;
            }
            Verb::Spawn => self.spawn(clause)?,
            Verb::StandBy if all.len() > 1 => {}
            Verb::StandBy => {
                let me = &self.me.introduction;
                self.say(format!("{READY} I am {me}, and I wait for instructions."));
            }
            Verb::SubmitPlan => self.propose(clause)?,
            Verb::Topic if has(Verb::SubmitPlan) => {}
            Verb::Topic => self.say(report::not_understood(clause.text().unwrap_or_default())),
            Verb::WaitFor => {
                let asked: Vec<String> = self.waits.iter().map(Awaited::in_words).collect();
                let names = clause.names.iter().cloned();
                let any = names.map(|name| Awaited::Report(name, None));
                let new = any.filter(|any| !asked.contains(&any.in_words()));
                self.waits.extend(new);
                self.wait_now()?;
            }
        }
        Ok(())
    }

    fn spawn(&mut self, clause: &Clause) -> Result<(), Pause> {
        let all = &self.instruction.clauses;
        let prompt = match clause.text() {
            Some(work) if is_understood(work) => sentence(work),
            Some(work) => format!("Your task is: {}.", work.trim_end_matches('.')),
            None => STAND_BY.to_owned(),
        };
        for (name, role) in clause.names.iter().zip(&clause.roles) {
            let mut input = json!({"name": name, "role": role, "prompt": prompt});
            let is_reviewed = is_reviewed(all, name);
            let is_asked = |other: &Clause| other.verb == Verb::Ask && other.names.contains(name);
            if is_reviewed {
                input["require_plan"] = json!(true);
            }
            if is_reviewed && !all.iter().any(is_asked) {
                let first = "Submit a plan for it before you change anything.";
                input["prompt"] = json!(format!("{prompt} {first}"));
            }
            let outcome = self.act("spawn_teammate", input)?;
            if clause.text().is_some() && !is_reviewed {
                self.wait_later(&outcome, Awaited::Report(name.clone(), Some(self.now)));
            }
        }
        Ok(())
    }

    fn write(&mut self, clause: &Clause, later: &[Clause]) -> Result<(), Pause> {
        for name in &clause.names {
            let content = match clause.text() {
                Some(work) if clause.verb == Verb::Ask => sentence(work),
                Some(text) => text.to_owned(),
                None => format!("Hello {name}, this is {}.", self.me.introduction),
            };
            let outcome = self.act("send_message", json!({"to": name, "content": content}))?;
            if clause.verb == Verb::Ask && !is_reviewed(later, name) {
                self.wait_later(&outcome, Awaited::Report(name.clone(), Some(self.now)));
            }
        }
        Ok(())
    }

    fn shut_down(&mut self, names: &[String]) -> Result<(), Pause> {
        for name in names {
            let outcome = self.act("shutdown_request", json!({"teammate": name}))?;
            self.wait_later(&outcome, Awaited::Shutdown(name.clone()));
        }
        if names.is_empty() {
            self.say("There is nobody to shut down.");
        }
        Ok(())
    }

    /// Decides about the plan with an id, or about the plan of a teammate once it is there.
    fn decide(&mut self, clause: &Clause, approve: bool) -> Result<(), Pause> {
        let feedback = clause.text().unwrap_or(match approve {
            true => "Approved: go ahead as planned.",
            false => "Rejected: the plan is too risky. Revise it: smaller steps, each with a test.",
        });
        let input = |id: &str| json!({"request_id": id, "approve": approve, "feedback": feedback});
        if let Some(id) = clause.get("ID") {
            self.act("plan_approval", input(id))?;
        }
        for name in &clause.names {
            let plan = self.wait(Awaited::Plan(name.clone()))?;
            self.act("plan_approval", input(&plan.request_id))?;
        }
        Ok(())
    }

    /// Submits a plan for work that was only named.
    fn propose(&mut self, clause: &Clause) -> Result<(), Pause> {
        let is_named = |about: &&str| !report::opens_with(about, "it this that your before");
        let about = clause.text().filter(is_named);
        let about = about.or(self.instruction.topic());
        let step = "Make the change in small steps, and test after each.";
        self.submit(&report::plan(self.me, about, step))?;
        self.report.extend(about.map(report::not_understood));
        Ok(())
    }

    fn create(&mut self, clause: &Clause, is_chained: bool) -> Result<(), Pause> {
        for subject in &clause.subjects {
            let outcome = self.act("task_create", json!({"subject": subject}))?;
            self.tasks.push(report::task_id(&outcome.content));
        }
        if clause.verb == Verb::CreateChain {
            self.chain()?;
        } else if clause.subjects.len() > 1 && !is_chained {
            self.act("task_list", json!({}))?;
        }
        Ok(())
    }

    /// Makes each task that was created depend on the one before.
    fn chain(&mut self) -> Result<(), Pause> {
        // An id whose result was cleared is counted from another one.
        let ids = (0..).zip(&self.tasks);
        let first = ids.clone().find_map(|(at, id)| (*id)?.checked_sub(at));
        let ids = ids.filter_map(|(at, id)| id.or(first?.checked_add(at)));
        let ids: Vec<i64> = ids.collect();
        for (before, after) in ids.iter().zip(ids.iter().skip(1)) {
            let input = json!({"task_id": after, "addBlockedBy": [before]});
            self.act("task_update", input)?;
        }
        if ids.len() < 2 {
            self.say("There are no two new tasks to chain.");
        }
        self.act("task_list", json!({})).map(drop)
    }

    /// Lists the files of a kind in a folder, and reads each of them without its text in the report. The
    /// agent clears old results: then the list is made again, and what was read is found among the events.
    fn read_every(&mut self, dir: &str, kind: Option<&str>) -> Result<(), Pause> {
        let mut read = BTreeSet::new();
        let mut is_lost = false;
        let list = loop {
            let list = self.call("bash", json!({"command": list_command(dir, kind)}))?;
            if list.failed {
                return Ok(());
            }
            if !report::is_incomplete(&list.content) {
                break list.content;
            }
            let before = read.len();
            while let Some(file) = self.take_result("read_file", &["read_file", "bash"]) {
                read.insert(file.text("path").to_owned());
            }
            if is_lost && read.len() == before {
                self.say(format!(
                    "The list of files in {dir} was lost twice, so I stop."
                ));
                return Ok(());
            }
            is_lost = read.len() == before;
        };
        let files = list.lines().map(str::trim);
        for file in files.filter(|file| file.starts_with(dir.trim_end_matches('/'))) {
            if read.insert(file.to_owned()) {
                self.call("read_file", json!({"path": file}))?;
            }
        }
        self.say(match read.len() {
            0 => format!("There are no such files in {dir}."),
            count => format!("I read {count} files in {dir}, one by one."),
        });
        Ok(())
    }
}

/// Whether a verb may use what was asked for before, and so has to wait for it.
fn uses_what_comes(verb: Verb) -> bool {
    let is_for_the_team = matches!(verb, Verb::Spawn | Verb::Ask | Verb::Send | Verb::WaitFor);
    let is_for_a_plan = matches!(verb, Verb::Decide(_) | Verb::ReviewPlan);
    let is_for_the_board = matches!(verb, Verb::CreateTasks | Verb::ChainTasks);
    let goes_on = matches!(verb, Verb::Call("broadcast" | "background_run", _));
    !(is_for_the_team || is_for_a_plan || is_for_the_board || goes_on)
}

impl Clause {
    /// The arguments of a row of the table, see [`Verb::Call`].
    fn input(&self, arguments: &str) -> Value {
        let mut input = json!({});
        for (key, slot) in arguments.split(' ').filter_map(|pair| pair.split_once('=')) {
            input[key] = match slot {
                "TEXT" => json!(self.text()),
                "NUM" => {
                    let number = self.get("NUM").map(|text| text.trim_start_matches('#'));
                    json!(number.and_then(|digits| digits.parse::<i64>().ok()))
                }
                "FIRST" => json!(report::first_content(input["path"].as_str().unwrap_or(""))),
                "LS" => json!(format!("ls -la {}", shell_word(self.path()))),
                slot => json!(self.get(slot).unwrap_or(slot)),
            };
        }
        input
    }
}

/// The command that lists the files of a kind, which is a language or an ending.
fn list_command(dir: &str, kind: Option<&str>) -> String {
    let kind = kind.map(str::to_lowercase);
    let name = match kind.as_deref() {
        None => "*".to_owned(),
        Some("rust") => "*.rs".to_owned(),
        Some("python") => "*.py".to_owned(),
        Some("markdown") => "*.md".to_owned(),
        Some(ending) => format!("*.{}", ending.trim_start_matches(['*', '.'])),
    };
    let (dir, name) = (shell_word(dir), shell_word(&name));
    format!("find {dir} -type f -name {name} -not -path '*/target/*' -not -path '*/.*' | sort")
}

/// The text as one word of a shell.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
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
