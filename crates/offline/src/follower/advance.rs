//! How a job goes on after the result of a tool.

use serde_json::json;

use super::{Follower, MOST_PLANS, Next};
use crate::event::{Outcome, mails};
use crate::report;
use crate::step::{Awaited, Call, Job, Step};

impl Follower<'_> {
    /// Takes the result of a tool: for the job whose next call it answers.
    pub(super) fn result(&mut self, outcome: &Outcome) {
        let nexts = self.nexts();
        let answered = |is_exact: bool| {
            nexts.iter().position(|next| match next {
                Next::Call(Call(tool, input)) => {
                    *tool == outcome.tool && (!is_exact || *input == outcome.input)
                }
                Next::Wait(_) | Next::Finished => false,
            })
        };
        let exact = answered(true);
        if exact.is_none() && outcome.tool == "read_file" && self.has_read(outcome) {
            return;
        }
        // The report in a call may have changed when older results were cleared.
        let Some(at) = exact.or_else(|| answered(false)) else {
            return;
        };
        let mut job = std::mem::take(&mut self.jobs[at]);
        self.advance(&mut job, outcome);
        self.jobs[at] = job;
    }

    /// Notes a file that was read before the list of files was lost.
    fn has_read(&mut self, outcome: &Outcome) -> bool {
        let lists = |job: &&mut Job| matches!(job.steps.front(), Some(Step::ListFiles { .. }));
        let Some(job) = self.jobs.iter_mut().find(lists) else {
            return false;
        };
        note_read(job, outcome);
        true
    }

    /// Goes on with a job whose next call was answered.
    fn advance(&mut self, job: &mut Job, outcome: &Outcome) {
        let Some(step) = job.steps.pop_front() else {
            return;
        };
        if self.is_gated(job, outcome) {
            job.steps.push_front(step);
            self.submit(job, "");
            return;
        }
        if !job.interrupted && may_repeat(outcome) {
            job.interrupted = true;
            job.steps.push_front(step);
            return;
        }
        job.interrupted = false;
        match step {
            Step::Call(_) => self.called(job, outcome),
            Step::ListFiles { dir, command } => listed_files(job, dir, command, outcome),
            Step::ReadListed(_) => note_read(job, outcome),
            Step::Reply(_) if !outcome.failed => {}
            Step::Decide { from, .. } => {
                self.take(0, |mail| mail.submits_plan() && mail.is_from(&from));
                job.report.push(report::outcome(outcome));
            }
            _ => job.report.push(report::outcome(outcome)),
        }
    }

    /// Whether a tool was refused because a plan has to be approved first.
    fn is_gated(&self, job: &Job, outcome: &Outcome) -> bool {
        let text = outcome.content.to_lowercase();
        let says = text.contains("plan") && (text.contains("approv") || text.contains("submit"));
        let may = self.me.has("plan_approval") && !self.me.is_lead() && job.plans < MOST_PLANS;
        outcome.failed && says && may && outcome.tool != "plan_approval"
    }

    /// Notes the result of a call, and reports it.
    fn called(&mut self, job: &mut Job, outcome: &Outcome) {
        let before = self.inbox.len();
        match outcome.tool.as_str() {
            "plan_approval" if !outcome.text("plan").is_empty() => submitted(job, outcome),
            "background_run" if outcome.failed => {
                job.steps
                    .retain(|step| *step != Step::Await(Awaited::Background));
            }
            _ if outcome.failed => {}
            "read_inbox" => {
                let mails = mails(outcome.content.trim()).unwrap_or_default();
                mails.into_iter().for_each(|mail| self.receive(mail));
                let mut lines = vec!["Inbox:".to_owned()];
                for received in self.inbox.iter_mut().skip(before) {
                    received.reported = true;
                    lines.push(report::mail(&received.mail));
                }
                job.report.push(match lines.len() {
                    1 => "Inbox: no messages.".to_owned(),
                    _ => lines.join("\n"),
                });
                return;
            }
            "task_create" => job.tasks.push(report::task_id(&outcome.content)),
            "list_teammates" => job.listed = report::listed(&outcome.content),
            _ => {}
        }
        note_contact(job, outcome, before);
        job.report.push(report::outcome(outcome));
    }
}

/// Whether a call was interrupted before it had an effect, or can be made twice without harm.
fn may_repeat(outcome: &Outcome) -> bool {
    let harmless = ["read_file", "write_file", "task_list", "list_teammates"];
    let says = outcome.content.to_lowercase();
    let early = says.contains("interrupted before") || harmless.contains(&outcome.tool.as_str());
    outcome.failed && says.contains("interrupted") && early
}

/// Notes under which id the agent's own plan was submitted.
fn submitted(job: &mut Job, outcome: &Outcome) {
    let is_end = |char: char| !char.is_alphanumeric() && !matches!(char, '_' | '-');
    let after = outcome.content.split_once("request_id=");
    let id = after.and_then(|(_, rest)| rest.split(is_end).next());
    job.plan_id = id.map(str::to_owned);
    if outcome.failed && job.steps.front() == Some(&Step::Await(Awaited::Decision)) {
        job.steps.pop_front();
    }
}

/// Notes who was contacted, and who could not be reached.
fn note_contact(job: &mut Job, outcome: &Outcome, mail: usize) {
    let keys = ["to", "name", "teammate"];
    let mut names = keys.iter().map(|key| outcome.text(key));
    let Some(name) = names.find(|name| !name.is_empty()) else {
        return;
    };
    // A teammate that runs already can be written to.
    let runs = outcome.tool == "spawn_teammate" && outcome.content.contains("currently");
    if outcome.failed && !runs {
        job.unreachable.insert(name.to_owned());
    }
    if outcome.tool == "send_message" {
        job.sent.insert(name.to_owned());
    }
    job.contacted.insert(name.to_owned(), mail);
}

/// Goes on with a list of files: each that was not read yet is read.
fn listed_files(job: &mut Job, dir: String, command: String, outcome: &Outcome) {
    if outcome.failed {
        job.report.push(report::outcome(outcome));
        return;
    }
    let start = dir.trim_end_matches('/');
    let lines = outcome.content.lines().map(str::trim);
    let files: Vec<&str> = lines.filter(|line| line.starts_with(start)).collect();
    if report::is_incomplete(&outcome.content) {
        job.lists_lost += 1;
        match job.lists_lost {
            1 => job.steps.push_front(Step::ListFiles { dir, command }),
            _ => job.report.push(format!(
                "The list of files in {dir} was lost twice, so I stop."
            )),
        }
    } else if files.is_empty() {
        job.report
            .push(format!("There are no such files in {dir}."));
    } else {
        job.steps.push_front(Step::CountRead(dir.clone()));
        let unread = files.iter().rev().filter(|file| !job.read.contains(**file));
        for file in unread {
            job.steps.push_front(Step::ReadListed((*file).to_owned()));
        }
    }
}

fn note_read(job: &mut Job, outcome: &Outcome) {
    let path = outcome.text("path").to_owned();
    job.lists_lost = 0;
    if outcome.failed {
        job.unreadable.push(path.clone());
    }
    job.read.insert(path);
}

/// Makes each task that was created depend on the one before.
pub(super) fn chain(job: &mut Job) {
    // An id whose result was cleared is counted from another one.
    let ids: Vec<(i64, Option<i64>)> = (0..).zip(job.tasks.iter().copied()).collect();
    let first = ids
        .iter()
        .find_map(|(at, id)| Some((*id)?.saturating_sub(*at)));
    let counted = |at: i64| first.map(|first| first.saturating_add(at));
    let ids: Vec<i64> = ids
        .iter()
        .filter_map(|(at, id)| id.or(counted(*at)))
        .collect();
    if ids.len() < 2 {
        job.report
            .push("There are no two new tasks to chain.".to_owned());
    }
    for (before, after) in ids.iter().zip(ids.iter().skip(1)).rev() {
        job.call_first(
            "task_update",
            json!({"task_id": after, "addBlockedBy": [before]}),
        );
    }
}

pub(super) fn shut_down_listed(job: &mut Job) {
    let names = std::mem::take(&mut job.listed);
    if names.is_empty() {
        job.report.push("There is nobody to shut down.".to_owned());
    }
    for name in names.iter().rev() {
        let awaited = Awaited::Shutdown(name.clone());
        job.steps.push_front(Step::Await(awaited));
    }
    for name in names.iter().rev() {
        job.call_first("shutdown_request", json!({"teammate": name}));
    }
}
