//! What a job does next.

use serde_json::{Value, json};

use super::super::plan::{READY, default_feedback, plan_text};
use super::super::step::{Awaited, Call, Job, Reading, Step};
use super::super::words;
use super::Follower;

/// How often a plan is submitted for one job.
pub(super) const MAX_PLANS: u32 = 4;

/// What a job does next.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Next {
    Call(Call),
    /// It waits, for what these words say.
    Blocked(String),
    Finished,
}

impl Follower<'_> {
    /// Brings a job to its next call, wait or end.
    pub(in super::super) fn head(&mut self, place: usize) -> Next {
        let Some(slot) = self.jobs.get_mut(place) else {
            return Next::Finished;
        };
        let mut job = std::mem::take(slot);
        let next = loop {
            if let Some(next) = self.settle(&mut job) {
                break next;
            }
        };
        if let Some(slot) = self.jobs.get_mut(place) {
            *slot = job;
        }
        next
    }

    /// Does away with one step that needs no tool, or tells what comes next.
    fn settle(&mut self, job: &mut Job) -> Option<Next> {
        let Some(step) = job.steps.pop_front() else {
            return Some(Next::Finished);
        };
        let next = match &step {
            Step::Note(text) => {
                job.report.push(text.clone());
                return None;
            }
            Step::Await(awaited) => {
                if self.goes_on(job, awaited) {
                    return None;
                }
                Next::Blocked(words::awaited(awaited))
            }
            Step::Chain => {
                self.chain(job);
                return None;
            }
            Step::ShutdownListed => {
                shutdown_listed(job);
                return None;
            }
            Step::Decide { from, .. } if self.plan_of(from).is_none() => {
                if job.lost.contains(from) {
                    return None;
                }
                Next::Blocked(words::awaited(&Awaited::Plan(from.clone())))
            }
            step => Next::Call(self.call_of(job, step)?),
        };
        if let Next::Call(call) = &next
            && !self.me.has(call.tool)
        {
            let report = format!(
                "I have no tool {} here, so that step is left out.",
                call.tool
            );
            job.report.push(report);
            return None;
        }
        job.steps.push_front(step);
        Some(next)
    }

    /// Reports awaited mail, if it has come.
    fn goes_on(&mut self, job: &mut Job, awaited: &Awaited) -> bool {
        if *awaited == Awaited::Decision {
            return self.decision(job);
        }
        let arrived = self.arrived(job, awaited);
        let come = arrived.is_some();
        job.report.extend(arrived);
        come
    }

    /// The call that a step makes, if it still makes one.
    fn call_of(&self, job: &mut Job, step: &Step) -> Option<Call> {
        let (tool, input) = match step {
            Step::Call(call) => return Some(call.clone()),
            Step::Decide {
                from,
                approve,
                feedback,
            } => {
                let mail = &self.pool.get(self.plan_of(from)?)?.mail;
                let id = mail.request_id.clone().unwrap_or_default();
                let default = || default_feedback(*approve);
                let feedback = feedback.clone().unwrap_or_else(default);
                let input = json!({"request_id": id, "approve": approve, "feedback": feedback});
                ("plan_approval", input)
            }
            Step::ReadEvery(reading) => match read_on(reading) {
                Ok(call) => return Some(call),
                Err(report) => {
                    job.report.push(report);
                    return None;
                }
            },
            Step::Reply { to } => {
                let content = words::reply(&job.report);
                ("send_message", json!({"to": to, "content": content}))
            }
            Step::Complete { id } if self.me.has("task_update") => {
                let mut input = json!({"task_id": id, "status": "completed"});
                let takes = |argument: &&str| self.me.takes("task_update", argument);
                if let Some(argument) = ["result", "note", "notes"].into_iter().find(takes) {
                    input[argument] = json!(words::reply(&job.report));
                }
                ("task_update", input)
            }
            _ => return None,
        };
        Some(Call { tool, input })
    }

    /// The place of a teammate's plan that nobody decided about.
    pub(super) fn plan_of(&self, from: &str) -> Option<usize> {
        self.pool.iter().rposition(|entry| {
            !entry.used && entry.mail.submits_plan() && same(&entry.mail.from, from)
        })
    }

    /// The report about awaited mail, if it has come.
    fn arrived(&mut self, job: &Job, awaited: &Awaited) -> Option<String> {
        match awaited {
            Awaited::Idle(name) | Awaited::Shutdown(name) if job.lost.contains(name) => {
                Some(format!("I do not wait for {name}."))
            }
            Awaited::Idle(name) => {
                let since = job.told.get(name).copied().unwrap_or(0);
                let answers = job.sent.contains(name);
                let entry = self.pool.iter_mut().skip(since).find(|entry| {
                    let mail = &entry.mail;
                    let only_ready =
                        mail.content.starts_with(READY) && mail.content.lines().count() < 2;
                    let idle = mail.kind == "idle_notification" && same(&mail.from, name);
                    !entry.used
                        && (idle && !(answers && only_ready) || words::tells_of_end(mail, name))
                })?;
                entry.used = true;
                Some(format!(
                    "{name} reports: {}",
                    words::short(&entry.mail.content)
                ))
            }
            Awaited::Shutdown(name) => {
                let entry = self.pool.iter_mut().find(|entry| {
                    let answers =
                        entry.mail.kind == "shutdown_response" && same(&entry.mail.from, name);
                    !entry.used && (answers || words::tells_of_end(&entry.mail, name))
                })?;
                entry.used = true;
                Some(words::shutdown_answer(name, &entry.mail))
            }
            Awaited::Plan(name) => {
                let mail = &self.pool[self.plan_of(name)?].mail;
                let plan = mail.plan.as_deref().unwrap_or(&mail.content);
                Some(format!("Plan of {name}: {}", words::short(plan)))
            }
            Awaited::Background => {
                let entry = self
                    .pool
                    .iter_mut()
                    .find(|entry| !entry.used && entry.mail.kind == "background")?;
                entry.used = true;
                Some(format!("Background: {}", words::short(&entry.mail.content)))
            }
            Awaited::Decision => None,
        }
    }

    /// Goes on with the lead's decision about the own plan, if it has come.
    fn decision(&mut self, job: &mut Job) -> bool {
        let fits =
            |id: &Option<String>| id.is_none() || job.plan_id.is_none() || *id == job.plan_id;
        let entry = self
            .pool
            .iter_mut()
            .find(|entry| !entry.used && entry.mail.decides_plan() && fits(&entry.mail.request_id));
        let Some(entry) = entry else { return false };
        entry.used = true;
        let said = entry
            .mail
            .feedback
            .clone()
            .unwrap_or_else(|| entry.mail.content.clone());
        if entry.mail.approve == Some(true) {
            job.report.push("My plan was approved.".to_owned());
            return true;
        }
        job.report
            .push(format!("My plan was rejected: {}", words::short(&said)));
        if job.plans >= MAX_PLANS {
            job.report.push("I give this work up.".to_owned());
            job.steps
                .retain(|step| matches!(step, Step::Reply { .. } | Step::Complete { .. }));
            return true;
        }
        job.plans += 1;
        let steps: Vec<Step> = job.steps.iter().cloned().collect();
        let plan = format!(
            "{}\nRevised after the feedback: {}",
            plan_text(&self.me, job.topic.as_deref(), &steps),
            words::short(&said)
        );
        job.steps.push_front(Step::Await(Awaited::Decision));
        job.steps.push_front(Step::Call(Call {
            tool: "plan_approval",
            input: json!({"plan": plan}),
        }));
        true
    }

    /// Turns the wish for a chain into updates of the tasks created so far.
    fn chain(&self, job: &mut Job) {
        let argument = ["addBlockedBy", "add_blocked_by", "blocked_by", "blockedBy"]
            .into_iter()
            .find(|argument| self.me.takes("task_update", argument))
            .unwrap_or("addBlockedBy");
        let ids = task_ids(&job.tasks);
        if ids.len() < 2 {
            job.report
                .push("There are no two new tasks to chain.".to_owned());
        }
        for pair in ids.windows(2).rev() {
            let mut input = json!({"task_id": pair[1]});
            input[argument] = Value::from(vec![pair[0]]);
            job.steps.push_front(Step::Call(Call {
                tool: "task_update",
                input,
            }));
        }
    }
}

/// The ids, with those that can no longer be seen counted from their neighbours.
fn task_ids(tasks: &[Option<i64>]) -> Vec<i64> {
    let known = tasks
        .iter()
        .enumerate()
        .find_map(|(place, id)| Some((i64::try_from(place).ok()?, (*id)?)));
    let place = |place: usize| i64::try_from(place).unwrap_or(0);
    tasks
        .iter()
        .enumerate()
        .filter_map(|(at, id)| {
            id.or_else(|| {
                known.map(|(from, first)| first.saturating_add(place(at).saturating_sub(from)))
            })
        })
        .collect()
}

fn shutdown_listed(job: &mut Job) {
    if job.listed.is_empty() {
        job.report.push("There is nobody to shut down.".to_owned());
    }
    let names = std::mem::take(&mut job.listed);
    for name in names.iter().rev() {
        job.steps
            .push_front(Step::Await(Awaited::Shutdown(name.clone())));
    }
    for name in names.iter().rev() {
        let input = json!({"teammate": name});
        job.steps.push_front(Step::Call(Call {
            tool: "shutdown_request",
            input,
        }));
    }
}

/// The next call of the reading, or its report at the end.
fn read_on(reading: &Reading) -> Result<Call, String> {
    let Some(files) = &reading.files else {
        if reading.lost > 1 {
            return Err(format!(
                "The list of files in {} was lost twice, so I stop.",
                reading.dir
            ));
        }
        return Ok(Call {
            tool: "bash",
            input: json!({"command": find_command(reading)}),
        });
    };
    match files.front() {
        Some(file) => Ok(Call {
            tool: "read_file",
            input: json!({"path": file}),
        }),
        None => {
            let mut report = format!(
                "I read {} files in {}, one by one.",
                reading.done.len(),
                reading.dir
            );
            if !reading.failed.is_empty() {
                report.push_str(&format!(" Not readable: {}.", reading.failed.join(", ")));
            }
            Err(report)
        }
    }
}

fn find_command(reading: &Reading) -> String {
    let dir = reading.dir.replace('\'', "'\\''");
    let name = reading
        .ending
        .as_ref()
        .map(|ending| format!(" -name '*.{ending}'"))
        .unwrap_or_default();
    format!("find '{dir}' -type f{name} -not -path '*/target/*' -not -path '*/.*' | sort")
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
