//! What the loop does with the results of its jobs.

use super::{Inspecting, Lead};
use crate::console::{Output, Status};
use crate::inspect::{Inspection, Observation};
use crate::jobs::JobResult;
use crate::machine::{Event, ShutdownMode, TeamActivity};
use crate::waiting::outcome;
use protocol::{AgentName, Request};
use rules::request_line;

impl Lead {
    pub(super) fn job_ended(&mut self, result: JobResult) {
        match result {
            JobResult::TeamChanged => self.inspect(),
            JobResult::Inspected(found) => self.inspected(*found),
            JobResult::TeamObserved(observation) => self.team_observed(observation),
            JobResult::Restarted { name, problem } => {
                self.state.restarts.ended(&name);
                if let Some(problem) = problem {
                    self.writer.notice(&problem);
                }
                self.inspect();
            }
            JobResult::Followed(id) => {
                self.state.followed.remove(&id);
                self.inspect();
            }
            JobResult::TeamEnded { mode, notices } => {
                let outdated = mode == ShutdownMode::Graceful && self.state.hurried;
                if !outdated {
                    notices.iter().for_each(|notice| self.writer.notice(notice));
                    self.handle(Event::TeamEnded);
                }
            }
            JobResult::VerbEnded { output, problem } => {
                if !output.trim().is_empty() {
                    self.writer.write(&Output::Data(&output));
                }
                if let Some(problem) = problem {
                    self.writer.write(&Output::Verb(&problem));
                }
                self.handle(Event::VerbEnded);
            }
            JobResult::BudgetSpent => self.handle(Event::BudgetSpent),
            JobResult::Problem(text) => self.problem(text),
        }
    }

    fn inspected(&mut self, found: Inspection) {
        let again = self.state.inspection == Inspecting::Again;
        self.state.inspection = Inspecting::No;
        for (name, process) in found.processes {
            self.state.watched.insert(name, process.incarnation());
            self.jobs.watch(process);
        }
        for lost in self.state.restarts.update(found.dead) {
            self.jobs.give_up(lost);
        }
        for request in found.shutdowns {
            if self.state.followed.insert(request.id.clone()) {
                self.jobs.follow(request);
            }
        }
        self.state.failures = found.failed;
        self.print_denied(&found.denied);
        for request in &found.pending {
            self.runtime.notify_user(request);
        }
        self.print_requests(&found.pending, &found.repairs.expired);
        self.offer_answers(&found.pending);
        let pending = found.pending.iter();
        let waiting = pending.filter(|request| request.kind().waits_for_person());
        let mut asking: Vec<String> = waiting.clone().map(|r| r.from.to_string()).collect();
        let requests: Vec<String> = waiting.map(|request| request.id.to_string()).collect();
        asking.sort();
        asking.dedup();
        self.writer.write(&Output::Status(&Status {
            waiting: requests.len(),
            requests,
            asking,
            ..found.status
        }));
        self.check_tasks(found.tasks);
        for problem in found.repairs.problems {
            self.problem(problem);
        }
        if again {
            self.inspect();
        }
    }

    fn print_denied(&mut self, denied: &[Request]) {
        for request in denied {
            self.state.has_denied = true;
            let line = request_line(request);
            self.writer.notice(&format!(
                "Nobody could be asked, so it was not done: {line}. Use a terminal, or --on-ask wait."
            ));
        }
    }

    /// Shows the person at the terminal what waits for them, one thing at a time.
    fn offer_answers(&mut self, pending: &[Request]) {
        if !self.has_person {
            return;
        }
        let change = self.state.waiting.update(pending);
        if let Some(id) = &change.ended {
            self.writer.write(&Output::Offer(&None));
            let ended = team::find_request(self.runtime.team(), id).ok();
            if let Some(text) = ended.as_ref().and_then(outcome) {
                self.writer.notice(&text);
            }
        }
        if let Some((request, offered)) = change.next {
            self.writer.write(&Output::Request(&request));
            self.writer.write(&Output::Offer(&Some(offered)));
        }
    }

    fn print_requests(&mut self, pending: &[Request], expired: &[Request]) {
        for request in expired {
            let (id, kind) = (&request.id, request.kind().as_str());
            let text = format!("Request {id} ({kind}) to {} has expired.", request.to);
            self.writer.notice(&text);
        }
        // What the person can answer with a key is shown by itself.
        let is_offered = |request: &&Request| self.has_person && request.kind().waits_for_person();
        let listed = pending.iter().filter(|request| !is_offered(request));
        let lines: Vec<String> = listed.map(request_line).collect();
        let status = (!lines.is_empty()).then(|| format!("Pending: {}.", lines.join("; ")));
        // The shutdown of the team prints its own requests.
        if status != self.state.pending && !self.machine.is_leaving() {
            if let Some(text) = &status {
                self.writer.notice(text);
            }
            self.state.pending = status;
        }
    }

    fn check_tasks(&mut self, tasks: (usize, usize)) {
        let (all, done) = tasks;
        let (before, done_before) = std::mem::replace(&mut self.state.tasks, tasks);
        if done == all && done_before < before && self.agent.is_free() {
            self.handle(Event::TasksDone(all));
        }
    }

    fn team_observed(&mut self, observation: Observation) {
        let busy = self.state.restarts.is_busy()
            || self.background.running() > 0
            || self.state.inspection != Inspecting::No;
        let activity = match observation {
            Observation::Idle { failed } if !busy => TeamActivity::Idle {
                has_failures: self.state.has_denied
                    || failed.iter().any(|name| self.is_new_failure(name)),
            },
            Observation::OutOfBudget if !busy => TeamActivity::OutOfBudget,
            Observation::Idle { .. } | Observation::OutOfBudget | Observation::Busy => {
                TeamActivity::Busy
            }
        };
        self.handle(Event::TeamObserved(activity));
    }

    /// Whether a member failed while this lead ran.
    fn is_new_failure(&self, name: &AgentName) -> bool {
        let incarnation = self.state.failures.iter().find(|(other, _)| other == name);
        incarnation.is_none_or(|failure| !self.state.old_failures.contains(failure))
    }
}
