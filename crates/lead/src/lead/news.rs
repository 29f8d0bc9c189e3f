//! What the loop learns from its jobs, and whom it tells.

use super::{Inspecting, Lead};
use crate::inspect::{Calm, Inspection};
use crate::machine::{Event, Rest};
use crate::prompt::request_words;
use protocol::{AgentName, Request};

impl Lead {
    pub(super) fn inspected(&mut self, found: Inspection) {
        let again = self.state.inspection == Inspecting::Again;
        self.state.inspection = Inspecting::No;
        for (name, process) in found.processes {
            self.state.watched.insert(name, process.incarnation());
            self.jobs.watch(process);
        }
        for lost in self.state.care.seen(found.dead) {
            self.jobs.give_up(lost);
        }
        for request in found.shutdowns {
            if self.state.followed.insert(request.id.clone()) {
                self.jobs.follow(request);
            }
        }
        self.state.failures = found.failed;
        self.tell_of_requests(&found.pending, &found.repairs.expired);
        self.tell_of_tasks(found.tasks);
        for words in found.repairs.problems {
            self.problem(words);
        }
        if again {
            self.inspect();
        }
    }

    fn tell_of_requests(&mut self, pending: &[Request], expired: &[Request]) {
        for request in expired {
            let (id, kind) = (&request.id, request.kind().as_str());
            let words = format!("Request {id} ({kind}) to {} has expired.", request.to);
            self.speaker.notice(&words);
        }
        let lines: Vec<String> = pending.iter().map(request_words).collect();
        let status = (!lines.is_empty()).then(|| format!("Pending: {}.", lines.join("; ")));
        // What a leaving lead asks is said by its answers.
        if status != self.state.pending && !self.incarnation.is_leaving() {
            if let Some(words) = &status {
                self.speaker.notice(words);
            }
            self.state.pending = status;
        }
    }

    fn tell_of_tasks(&mut self, tasks: (usize, usize)) {
        let (all, done) = tasks;
        let (before, done_before) = std::mem::replace(&mut self.state.tasks, tasks);
        if done == all && done_before < before && self.seat.is_free() {
            self.tell(Event::TasksDone(all));
        }
    }

    pub(super) fn looked(&mut self, calm: Calm) {
        let busy = self.state.care.is_busy()
            || self.background.running() > 0
            || self.state.inspection != Inspecting::No;
        let rest = match calm {
            Calm::Yes { failed } if !busy => Rest::Done {
                trouble: failed.iter().any(|name| self.is_new_failure(name)),
            },
            Calm::Broke if !busy => Rest::Broke,
            Calm::Yes { .. } | Calm::Broke | Calm::No => Rest::Busy,
        };
        self.tell(Event::Looked(rest));
    }

    /// Whether a member failed while this lead ran. What was lost before is no result of this run.
    fn is_new_failure(&self, name: &AgentName) -> bool {
        let incarnation = self.state.failures.iter().find(|(other, _)| other == name);
        incarnation.is_none_or(|failure| !self.state.old_failures.contains(failure))
    }
}
