//! How a job goes on after the result of a tool.

use serde_json::json;

use super::super::plan::plan_text;
use super::super::step::{Answered, Awaited, Call, Job, Reading, Step};
use super::super::words;
use super::Follower;
use super::settle::MAX_PLANS;

/// Tools that an agent may be refused until its plan is approved.
const GATED: &[&str] = &["bash", "write_file", "edit_file", "background_run"];

impl Follower<'_> {
    /// Goes on with the job at this place, whose next call was answered.
    pub(super) fn advance(&mut self, place: usize, answered: Answered<'_>) {
        let Some(slot) = self.jobs.get_mut(place) else {
            return;
        };
        let mut job = std::mem::take(slot);
        let failed = answered.failed;
        match job.steps.pop_front() {
            Some(step @ (Step::Call(_) | Step::ReadEvery(_))) if self.is_gate(&job, answered) => {
                job.plans += 1;
                job.steps.push_front(step);
                let steps: Vec<Step> = job.steps.iter().cloned().collect();
                let plan = plan_text(&self.me, job.topic.as_deref(), &steps);
                let input = json!({"plan": plan});
                let tool = "plan_approval";
                job.steps.push_front(Step::Await(Awaited::Decision));
                job.steps.push_front(Step::Call(Call { tool, input }));
            }
            Some(step) if !job.interrupted && may_repeat(answered) => {
                job.interrupted = true;
                job.steps.push_front(step);
            }
            Some(Step::Call(_)) => {
                job.interrupted = false;
                self.called(&mut job, answered);
            }
            Some(Step::Decide { from, .. }) => {
                let place = self.plan_of(&from);
                if let Some(entry) = place.and_then(|place| self.pool.get_mut(place)) {
                    entry.used = true;
                }
                job.report.push(words::outcome(&answered));
            }
            Some(Step::ReadEvery(reading)) => read(&mut job, reading, answered),
            Some(Step::Reply { .. }) if !failed => {}
            Some(_) => job.report.push(words::outcome(&answered)),
            None => {}
        }
        if let Some(slot) = self.jobs.get_mut(place) {
            *slot = job;
        }
    }

    /// Whether a tool was refused because a plan has to be approved first.
    fn is_gate(&self, job: &Job, answered: Answered<'_>) -> bool {
        let text = answered.content.to_lowercase();
        let says = text.contains("plan") && (text.contains("approv") || text.contains("submit"));
        let may = self.me.has("plan_approval") && !self.me.is_lead() && job.plans < MAX_PLANS;
        answered.failed && says && may && GATED.contains(&answered.tool)
    }

    /// Records the result of a plain call.
    fn called(&mut self, job: &mut Job, answered: Answered<'_>) {
        let Answered {
            tool,
            content,
            failed,
            ..
        } = answered;
        let count = self.pool.len();
        if tool == "read_inbox" && !failed {
            let found = self.inbox(content);
            if self.me.is_lead() {
                let skipped = self.pool.len() - found;
                let new = || self.pool.iter().skip(skipped);
                let report = words::inbox(new().map(|entry| &entry.mail), content);
                let told = self.pool.iter_mut().skip(skipped);
                told.for_each(|entry| entry.told = true);
                job.report.push(report);
                return;
            }
        }
        match tool {
            "plan_approval" if !answered.text("plan").is_empty() => planned(job, answered),
            "task_create" if !failed => job.tasks.push(words::task_id(content)),
            "list_teammates" if !failed => job.listed = words::listed(content),
            "background_run" if failed => {
                let is_wait = |step: &Step| *step == Step::Await(Awaited::Background);
                let wait = job.steps.iter().position(is_wait);
                wait.and_then(|wait| job.steps.remove(wait));
            }
            _ => {}
        }
        reached(job, answered, count);
        job.report.push(words::outcome(&answered));
    }

    /// Remembers a file that was read while the list of files was not known.
    pub(super) fn absorb(&mut self, answered: Answered<'_>) -> bool {
        let mut heads = self.jobs.iter_mut().map(|job| job.steps.front_mut());
        let reading = heads.find_map(|step| match step {
            Some(Step::ReadEvery(reading)) => Some(reading),
            _ => None,
        });
        let Some(reading) = reading else {
            return false;
        };
        finish(reading, answered.text("path"));
        true
    }
}

/// Whether a call was interrupted before it had an effect, or can be made twice
/// without harm.
fn may_repeat(answered: Answered<'_>) -> bool {
    let harmless = ["read_file", "write_file", "task_list", "list_teammates"];
    let says = answered.content.to_lowercase();
    let early = says.contains("interrupted before") || harmless.contains(&answered.tool);
    answered.failed && says.contains("interrupted") && early
}

/// Remembers under which id the own plan was submitted.
fn planned(job: &mut Job, answered: Answered<'_>) {
    let is_part = |char: &char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let after = answered.content.split_once("request_id=");
    job.plan_id = after.map(|(_, rest)| rest.chars().take_while(is_part).collect());
    if answered.failed && job.steps.front() == Some(&Step::Await(Awaited::Decision)) {
        job.steps.pop_front();
    }
}

/// Remembers who was told something, and who could not be reached.
fn reached(job: &mut Job, answered: Answered<'_>, mail: usize) {
    let mut names = ["to", "name", "teammate"]
        .iter()
        .map(|key| answered.text(key));
    let Some(name) = names.find(|name| !name.is_empty()).map(str::to_owned) else {
        return;
    };
    let busy = answered.tool == "spawn_teammate" && answered.content.contains("currently");
    if answered.failed && !busy {
        job.lost.insert(name.clone());
    }
    if answered.tool == "send_message" {
        job.sent.insert(name.clone());
    }
    job.told.insert(name, mail);
}

/// Goes on with reading after a list or a file.
fn read(job: &mut Job, mut reading: Reading, answered: Answered<'_>) {
    if answered.tool == "read_file" {
        let path = answered.text("path");
        finish(&mut reading, path);
        if answered.failed {
            reading.failed.push(path.to_owned());
        }
        job.steps.push_front(Step::ReadEvery(reading));
        return;
    }
    if answered.failed {
        job.report.push(words::outcome(&answered));
        return;
    }
    let clipped = answered.content.contains(" bytes left out ...]");
    let files = paths(&reading, answered.content);
    if !files.is_empty() && !clipped {
        let unread = files
            .into_iter()
            .filter(|file| !reading.done.contains(file));
        reading.files = Some(unread.collect());
    } else if clipped || words::is_placeholder(answered.content) {
        reading.lost += 1;
    } else {
        job.report
            .push(format!("There are no such files in {}.", reading.dir));
        return;
    }
    job.steps.push_front(Step::ReadEvery(reading));
}

fn finish(reading: &mut Reading, path: &str) {
    reading.done.insert(path.to_owned());
    reading.lost = 0;
    if let Some(files) = &mut reading.files
        && let Some(place) = files.iter().position(|file| file == path)
    {
        files.remove(place);
    }
}

/// The paths in the output of `find`.
fn paths(reading: &Reading, content: &str) -> Vec<String> {
    let dir = reading.dir.trim_end_matches('/');
    let fits = |line: &&str| match &reading.ending {
        Some(ending) => line.ends_with(&format!(".{ending}")) && line.starts_with(dir),
        None => line.starts_with(dir) && line.len() > dir.len() + 1,
    };
    content
        .lines()
        .map(str::trim)
        .filter(fits)
        .map(str::to_owned)
        .collect()
}
