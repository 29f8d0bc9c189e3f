//! What follows from a turn.

use super::{FIRST_PAUSE, FIRST_PAUSE_FOR_ROOM, LONGEST_PAUSE, Stuck, Teammate};
use crate::report::{no_report, report};
use agent::{Outcome, TurnError};
use llm::ModelError;
use member::gate;
use protocol::{Phase, Recipient, RequestId, WaitingFor};
use rules::PlanGate;
use std::time::{Duration, Instant};

impl Teammate {
    pub(super) fn after_turn(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Finished { text } => {
                self.host.hooks().work.may_claim = true;
                self.pause = None;
                self.finish(&text);
            }
            Outcome::RoundLimit { text } => self.finish(&text),
            Outcome::Interrupted => {}
            Outcome::Failed { error } => self.fail(&error),
        }
    }

    /// The turn came to its end: the lead is told, unless the member only waits for somebody.
    fn finish(&mut self, text: &str) {
        let was_asked = self.host.hooks().was_asked;
        if self.shutdown_requests.leaving().is_some() {
            no_report(&self.runtime);
            return;
        }
        if self.host.hooks().work.must_ask() {
            // The next turn does.
            return;
        }
        self.plan = self.awaited_plan().map(|id| (id, None));
        if was_asked && self.plan.is_some() {
            // The lead has the plan itself.
            no_report(&self.runtime);
        } else if was_asked {
            self.unsent = Some(text.to_owned());
        }
        if self.background.has_finished() {
            // Not idle for a moment: the next turn tells of it.
            self.send_report();
            self.has_results = true;
            return;
        }
        if self.send_report() {
            self.settle_down();
        }
    }

    /// Sends the report of the last turn. Until that has worked the member does not say that it is
    /// idle: others rely on everything being sent by then.
    pub(super) fn send_report(&mut self) -> bool {
        let is_sent = (self.unsent.as_ref()).is_none_or(|words| report(&self.runtime, words));
        if is_sent {
            self.unsent = None;
        }
        is_sent
    }

    /// Tries again what could not be written, for want of room perhaps. Returns whether something is
    /// left of it.
    pub(super) fn catch_up(&mut self) -> bool {
        if self.unsent.is_some() && self.send_report() && self.stuck.is_none() {
            self.settle_down();
        }
        let work = &self.host.hooks().work;
        let mut holds = self.stuck == Some(Stuck::Failed) && work.current().is_some();
        if holds {
            work.give_back_for_now("its owner's turn failed");
            holds = work.current().is_some();
        }
        holds || self.unsent.is_some()
    }

    fn awaited_plan(&self) -> Option<RequestId> {
        let own = self.runtime.plan();
        match gate(self.runtime.team(), &self.name, own.as_ref()) {
            PlanGate::Pending { request_id, .. } => Some(request_id),
            PlanGate::NotRequired
            | PlanGate::Required
            | PlanGate::Approved { .. }
            | PlanGate::Rejected { .. } => None,
        }
    }

    /// Enters the phase of a member that has nothing to do.
    pub(super) fn settle_down(&mut self) {
        if self.plan.is_none() {
            self.plan = self.awaited_plan().map(|id| (id, None));
        }
        self.runtime.watch_requests(self.plan.is_some());
        if let Some((id, _)) = &self.plan {
            let reason = Some(format!("request {id}"));
            self.runtime
                .set_phase(Phase::Waiting, Some(WaitingFor::Plan), reason);
        } else if self.background.running() > 0 {
            let waiting_for = Some(WaitingFor::Background);
            self.runtime.set_phase(Phase::Waiting, waiting_for, None);
        } else {
            self.runtime.set_phase(Phase::Idle, None, None);
            self.idle_since.get_or_insert_with(Instant::now);
        }
    }

    /// The turn cannot go on. A request to end is answered all the same.
    fn fail(&mut self, error: &TurnError) {
        let reason = error.to_string();
        self.runtime.note(&format!("the turn failed: {reason}"));
        if self
            .shutdown_requests
            .answer_for_model(&reason, Duration::ZERO)
        {
            no_report(&self.runtime);
            return;
        }
        let first_pause = match error {
            TurnError::Model(ModelError::GaveUp { .. }) => Some(FIRST_PAUSE),
            TurnError::Log(_) => Some(FIRST_PAUSE_FOR_ROOM),
            TurnError::Model(_) | TurnError::WindowFull => None,
        };
        if let Some(first_pause) = first_pause {
            let pause = self.pause.unwrap_or(first_pause);
            self.stuck = Some(Stuck::Until(Instant::now() + pause));
            self.pause = Some((pause * 2).min(LONGEST_PAUSE));
            let waiting_for = Some(WaitingFor::RateLimit);
            self.runtime
                .set_phase(Phase::Waiting, waiting_for, Some(reason));
            return;
        }
        let work = &mut self.host.hooks().work;
        work.may_claim = false;
        work.give_back_for_now(&format!("its owner's turn failed: {reason}"));
        self.stuck = Some(Stuck::Failed);
        let name = &self.name;
        self.failures += 1;
        let id = format!(
            "failed/{name}/{}/{}",
            self.runtime.incarnation(),
            self.failures
        );
        let words = format!(
            "{name} cannot go on: {reason}. It still runs and tries again when it gets mail; see \
             `team-lead logs {name}`."
        );
        if let Err(error) = team::notice(self.runtime.team(), Recipient::Lead, &id, &words) {
            self.runtime
                .note(&format!("the lead was not told: {error}"));
        }
        self.runtime.set_phase(Phase::Failed, None, Some(reason));
    }
}
