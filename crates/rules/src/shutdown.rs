//! The state machine of one shutdown, from the request to the end of the process.

mod types;

pub use types::{
    SHUTDOWN_TIMEOUT, ShutdownAction, ShutdownEvent, ShutdownLimits, ShutdownOutcome, StartRefusal,
};

use crate::request::{ExpireReason, expire};
use protocol::{Incarnation, Recipient, Request, RequestState, RequestStatus, Subject, Timestamp};

/// A shutdown in progress.
///
/// ```text
/// asked --approve--> leaving --gone--> done
///   |                   `--deadline--> terminating (forced) | grace --> done: still running
///   |--reject--> done (not forced) | vetoed --deadline--> terminating
///   `--deadline--> done (not forced) | terminating --grace--> killing --kill time--> done
/// ```
///
/// In every stage the end of the addressed incarnation leads to done. A later incarnation is never
/// signalled. If [`handle`](Self::handle) is called at each time it asks to be woken at, and the clock is
/// not set back, the shutdown ends no later than deadline + grace + kill time.
#[derive(Debug, Clone)]
pub struct Shutdown {
    request: Request,
    target: Incarnation,
    deadline: Timestamp,
    force: bool,
    limits: ShutdownLimits,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Asked,
    /// Approved: its process is expected to end.
    Leaving,
    /// Rejected, but forced.
    Vetoed,
    /// SIGTERM was sent.
    Terminating {
        kill_at: Timestamp,
    },
    /// SIGKILL was sent.
    Killing {
        give_up_at: Timestamp,
    },
    Done(ShutdownOutcome),
}

impl Shutdown {
    /// Starts a shutdown with a new request, or continues one whose request is on disk, in the stage that
    /// the request's state implies.
    ///
    /// A pending request is stored and delivered, perhaps for the second time, so the id of its message
    /// must be derived from the request's. Continue with a request from disk only while the addressed
    /// incarnation runs.
    pub fn start(
        request: Request,
        limits: ShutdownLimits,
        now: Timestamp,
    ) -> Result<(Self, Vec<ShutdownAction>), StartRefusal> {
        let id = &request.id;
        let force = match request.subject {
            Subject::Shutdown { force, .. } => force,
            Subject::Plan { .. } | Subject::Permission(_) | Subject::Question(_) => {
                return Err(StartRefusal::NotAShutdown { id: id.clone() });
            }
        };
        let (Recipient::Member(_), Some(target), Some(deadline)) =
            (&request.to, request.to_incarnation, request.deadline)
        else {
            return Err(StartRefusal::Incomplete { id: id.clone() });
        };
        let mut shutdown = Self {
            request,
            target,
            deadline,
            force,
            limits,
            stage: Stage::Asked,
        };
        let mut actions = Vec::new();
        if shutdown.request.status() == RequestStatus::Pending {
            actions.push(ShutdownAction::Record(shutdown.stored()));
            actions.push(ShutdownAction::Deliver(shutdown.stored()));
        }
        shutdown.follow_request(now, &mut actions);
        shutdown.advance(now, &mut actions);
        Ok((shutdown, actions))
    }

    /// Handles an event and returns what to do, in this order.
    ///
    /// The caller reads the request's file after it has seen the end of the process, and passes it in
    /// before [`ShutdownEvent::Gone`]: a member that approves ends right after. Until the shutdown is over,
    /// the last action is always [`ShutdownAction::WakeAt`], which replaces the previous one.
    #[must_use]
    pub fn handle(&mut self, event: ShutdownEvent, now: Timestamp) -> Vec<ShutdownAction> {
        let mut actions = Vec::new();
        match event {
            ShutdownEvent::Stored(request) => self.on_stored(*request, now, &mut actions),
            ShutdownEvent::Gone { incarnation } if incarnation == self.target => {
                self.on_gone(ExpireReason::AddresseeDied, now, &mut actions);
            }
            // If a later incarnation was seen, alive or dead, then the asked one has ended.
            ShutdownEvent::Gone { incarnation } | ShutdownEvent::Replaced { incarnation } => {
                if incarnation > self.target {
                    let reason = ExpireReason::AddresseeReplaced { incarnation };
                    self.on_gone(reason, now, &mut actions);
                }
            }
            ShutdownEvent::Tick => {}
        }
        self.advance(now, &mut actions);
        actions
    }

    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// The outcome, once the shutdown is over.
    pub const fn outcome(&self) -> Option<&ShutdownOutcome> {
        match &self.stage {
            Stage::Done(outcome) => Some(outcome),
            Stage::Asked
            | Stage::Leaving
            | Stage::Vetoed
            | Stage::Terminating { .. }
            | Stage::Killing { .. } => None,
        }
    }

    /// When the next step is due without an event; `None` once it is over.
    pub fn wake_at(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Asked | Stage::Vetoed => Some(self.deadline),
            Stage::Leaving if self.force => Some(self.deadline),
            Stage::Leaving => Some(self.deadline.plus(self.limits.grace)),
            Stage::Terminating { kill_at } => Some(*kill_at),
            Stage::Killing { give_up_at } => Some(*give_up_at),
            Stage::Done(_) => None,
        }
    }

    fn on_stored(&mut self, stored: Request, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        let ours = self.request.status() == RequestStatus::Pending;
        if ours && stored.id == self.request.id && stored.status() != RequestStatus::Pending {
            self.request = stored;
            self.follow_request(now, out);
        }
    }

    fn on_gone(&mut self, reason: ExpireReason, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        let outcome = match (&self.stage, reason) {
            (Stage::Done(_), _) => return,
            (Stage::Leaving, _) => ShutdownOutcome::Left,
            (Stage::Terminating { .. }, _) => ShutdownOutcome::Terminated,
            (Stage::Killing { .. }, _) => ShutdownOutcome::Killed,
            (Stage::Asked | Stage::Vetoed, ExpireReason::AddresseeReplaced { incarnation }) => {
                ShutdownOutcome::Replaced { incarnation }
            }
            (
                Stage::Asked | Stage::Vetoed,
                ExpireReason::AddresseeDied
                | ExpireReason::DeadlinePassed
                | ExpireReason::Superseded
                | ExpireReason::AuthorLeft
                | ExpireReason::AuthorEnded
                | ExpireReason::AuthorGivenUp
                | ExpireReason::Withdrawn
                | ExpireReason::NobodyThere,
            ) => ShutdownOutcome::Ended,
        };
        self.expire(reason, now, out);
        self.finish(outcome, out);
    }

    /// Enters the stage that the request's state leads to. The stage is `Asked` exactly as long as
    /// the request is pending, so this is called once with a state that is final.
    fn follow_request(&mut self, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        match &self.request.state {
            RequestState::Pending => {}
            RequestState::Approved(_) => self.stage = Stage::Leaving,
            RequestState::Rejected(_) if self.force => self.stage = Stage::Vetoed,
            RequestState::Rejected(answer) => {
                let reason = answer.text.clone();
                self.finish(ShutdownOutcome::Vetoed { reason }, out);
            }
            RequestState::Expired { .. } if self.force => self.terminate(now, out),
            RequestState::Expired { .. } => self.finish(ShutdownOutcome::NoAnswer, out),
        }
    }

    /// Takes the steps that are due, and asks to be woken for the next.
    fn advance(&mut self, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        while let Some(due) = self.wake_at() {
            if now < due {
                out.push(ShutdownAction::WakeAt(due));
                return;
            }
            match self.stage {
                Stage::Asked => {
                    self.expire(ExpireReason::DeadlinePassed, now, out);
                    self.follow_request(now, out);
                }
                Stage::Leaving if !self.force => self.finish(ShutdownOutcome::StillRunning, out),
                Stage::Leaving | Stage::Vetoed => self.terminate(now, out),
                Stage::Terminating { .. } => {
                    let give_up_at = now.plus(self.limits.kill);
                    self.stage = Stage::Killing { give_up_at };
                    out.push(ShutdownAction::Kill);
                }
                Stage::Killing { .. } => self.finish(ShutdownOutcome::Unkillable, out),
                Stage::Done(_) => return,
            }
        }
    }

    fn terminate(&mut self, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        let kill_at = now.plus(self.limits.grace);
        self.stage = Stage::Terminating { kill_at };
        out.push(ShutdownAction::Terminate);
    }

    fn finish(&mut self, outcome: ShutdownOutcome, out: &mut Vec<ShutdownAction>) {
        self.stage = Stage::Done(outcome.clone());
        out.push(ShutdownAction::Finished(outcome));
    }

    fn expire(&mut self, reason: ExpireReason, now: Timestamp, out: &mut Vec<ShutdownAction>) {
        // A refusal means that the request was decided before, which is final.
        if let Ok(expired) = expire(&self.request, reason, now) {
            self.request = expired;
            out.push(ShutdownAction::Record(self.stored()));
        }
    }

    fn stored(&self) -> Box<Request> {
        Box::new(self.request.clone())
    }
}

#[cfg(test)]
mod tests;
