//! What follows from the end of a turn: a report, an idle phase, or a delay before the next try.

use super::{Action, AwaitedPlan, Retry, State, TaskState, TeammateMachine, TurnEnd};
use super::{CANCEL_GRACE, WRITE_RETRY, earliest, phase};
use member::{FailureCause, TurnFailure, TurnOutcome};
use protocol::{Phase, WaitingFor};
use std::time::{Duration, Instant};

/// The delay before a turn is tried again whose model could not be reached.
const MODEL_RETRY: Duration = Duration::from_secs(30);
/// The same for a turn whose journal could not be written: a full disk is often free again soon.
const JOURNAL_RETRY: Duration = Duration::from_secs(2);
/// The longest such delay. Each is twice as long as the one before.
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// The end of a report whose text has none.
const CUT_OFF: &str = "[This report is not complete: the model was cut off at its limit of tokens again \
    and again.]";
/// How often shutdown requests are checked while a turn waits for its model.
const SHUTDOWN_POLL: Duration = Duration::from_secs(1);

impl TeammateMachine {
    pub(super) fn turn_ended(&mut self, end: TurnEnd, now: Instant, actions: &mut Vec<Action>) {
        let State::Busy { input, .. } = std::mem::replace(&mut self.state, State::Free) else {
            return;
        };
        self.wake_at = None;
        match end.outcome {
            TurnOutcome::Finished { ref text } => {
                self.backoff.reset();
                actions.push(Action::AllowClaims(true));
                self.finish(text.clone(), end, now, actions);
            }
            TurnOutcome::CutOff { ref text } => {
                self.finish(format!("{text}\n\n{CUT_OFF}"), end, now, actions);
            }
            TurnOutcome::RoundLimit { ref text } => self.finish(text.clone(), end, now, actions),
            TurnOutcome::Interrupted => actions.push(Action::Check),
            TurnOutcome::Failed(failure) => {
                if failure.cause == FailureCause::JournalUnwritable {
                    // Nothing of the input was recorded.
                    self.input = input;
                }
                let reason = failure.reason.clone();
                self.state = State::Failing(failure);
                actions.push(Action::AnswerShutdowns { reason });
            }
        }
    }

    /// A turn came to its end: the lead gets a report, unless the member waits for a decision.
    fn finish(&mut self, text: String, end: TurnEnd, now: Instant, actions: &mut Vec<Action>) {
        self.team = end.team;
        if end.approved_shutdown.is_some() {
            actions.extend([Action::SkipReport, Action::Check]);
            return;
        }
        match self.team.task {
            // The next turn asks for its outcome.
            TaskState::Held {
                outcome_requested: false,
            } => {
                actions.push(Action::Check);
                return;
            }
            TaskState::Held {
                outcome_requested: true,
            } => actions.push(Action::ReleaseTask {
                reason: "the turn ended without an outcome".to_owned(),
            }),
            TaskState::Nothing | TaskState::Available => {}
        }
        self.await_plan();
        if end.was_model_asked && self.plan.is_some() {
            // The lead has the plan itself.
            actions.push(Action::SkipReport);
        } else if end.was_model_asked {
            self.unsent_report = Some(text);
        }
        self.has_results = self.team.background_finished;
        match self.unsent_report.clone() {
            Some(report) => actions.push(Action::SendReport(report)),
            None => self.settle(now, actions),
        }
    }

    pub(super) fn report_sent(&mut self, sent: bool, now: Instant, actions: &mut Vec<Action>) {
        match sent {
            true => self.unsent_report = None,
            false => self.write_retry_at = Some(now + WRITE_RETRY),
        }
        match std::mem::replace(&mut self.state, State::Free) {
            State::Starting(startup) => self.begin(*startup, now, actions),
            State::Free if sent && self.retry.is_none() => self.settle(now, actions),
            State::Free => actions.push(Action::Check),
            other @ (State::Busy { .. } | State::Failing(_) | State::Over) => self.state = other,
        }
    }

    /// Enters an idle phase, unless the next turn follows at once, and looks for more work.
    pub(super) fn settle(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if !self.has_results {
            self.enter_idle_phase(now, actions);
        }
        actions.push(Action::Check);
    }

    pub(super) fn enter_idle_phase(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.plan.is_none() {
            self.await_plan();
        }
        actions.push(Action::WatchRequests(self.plan.is_some()));
        if let Some(AwaitedPlan { id, .. }) = &self.plan {
            let reason = Some(format!("request {id}"));
            actions.push(phase(Phase::Waiting, Some(WaitingFor::Plan), reason));
        } else if self.team.background_running > 0 {
            actions.push(phase(Phase::Waiting, Some(WaitingFor::Background), None));
        } else {
            actions.push(phase(Phase::Idle, None, None));
            self.idle_since.get_or_insert(now);
        }
    }

    pub(super) fn await_plan(&mut self) {
        let pending = self.team.pending_plan.clone();
        self.plan = pending.map(|id| AwaitedPlan {
            id,
            decided_at: None,
        });
    }

    pub(super) fn turn_waits(&mut self, actions: &mut Vec<Action>) {
        if let State::Busy {
            polls_mail,
            cancelled_at: None,
            ..
        } = &mut self.state
        {
            *polls_mail = true;
            actions.push(Action::AnswerOverdueShutdowns);
        }
    }

    pub(super) fn shutdowns_answered(
        &mut self,
        any: bool,
        now: Instant,
        actions: &mut Vec<Action>,
    ) {
        match std::mem::replace(&mut self.state, State::Free) {
            State::Failing(_) if any => actions.extend([Action::SkipReport, Action::Check]),
            State::Failing(failure) => self.fail(failure, now, actions),
            State::Busy {
                input,
                cancelled_at,
                ..
            } => {
                self.wake_at = match cancelled_at {
                    Some(at) => Some(at + CANCEL_GRACE),
                    None => (!any).then(|| now + SHUTDOWN_POLL),
                };
                self.state = State::Busy {
                    input,
                    cancelled_at,
                    polls_mail: !any && cancelled_at.is_none(),
                };
                if any {
                    actions.push(Action::CancelTurn);
                }
            }
            other @ (State::Starting(_) | State::Free | State::Over) => self.state = other,
        }
    }

    /// The turn cannot go on: it is tried again later, or when mail comes.
    fn fail(&mut self, failure: TurnFailure, now: Instant, actions: &mut Vec<Action>) {
        let TurnFailure { cause, reason } = failure;
        let retried = match cause {
            FailureCause::ModelUnavailable => Some((MODEL_RETRY, WaitingFor::Server)),
            FailureCause::JournalUnwritable => Some((JOURNAL_RETRY, WaitingFor::Disk)),
            FailureCause::Permanent => None,
        };
        if let Some((first, waiting_for)) = retried {
            let delay = self.backoff.delay(first, LONGEST_RETRY);
            self.backoff.fail();
            self.retry = Some(Retry::At(now + delay));
            actions.push(phase(Phase::Waiting, Some(waiting_for), Some(reason)));
        } else {
            self.retry = Some(Retry::OnMail);
            self.failures += 1;
            let suspended = format!("its owner's turn failed: {reason}");
            self.unsuspended = Some(suspended.clone());
            actions.extend([
                Action::AllowClaims(false),
                Action::SuspendTask { reason: suspended },
                Action::ReportFailure {
                    number: self.failures,
                    reason: reason.clone(),
                },
                phase(Phase::Failed, None, Some(reason)),
            ]);
        }
        actions.push(Action::Check);
    }

    pub(super) fn task_suspended(&mut self, done: bool, now: Instant) {
        if done {
            self.unsuspended = None;
        } else {
            let at = now + WRITE_RETRY;
            self.write_retry_at = Some(at);
            self.wake_at = earliest([self.wake_at, Some(at)]);
        }
    }
}
