//! The teammate as a state machine: events go in, actions come out.
//!
//! ```text
//!              mail, prompt, task, results          turn ended
//!   starting --> free ------------------------> busy ----------> free
//!                 |  ^                            |
//!                 |  '-- back-off over, mail --- failed
//!                 v
//!                over: shutdown approved, SIGTERM, idle timeout, replaced, folder removed
//! ```
//!
//! It has no clock, file or process: the loop around it performs the actions and answers with
//! events. An event that finds the member free ends in a turn, in the end of the process, or in
//! waiting until [`TeammateMachine::wake_at`].
//!
//! **Invariant:** the machine never asks for a turn while another one runs.
//!
//! **Invariant:** it does not enter an idle phase before the report of the last turn was sent.

mod outcome;
mod types;

pub(crate) use types::{Action, Event, Exit, LocalState, Startup, TaskState, TeamState, TurnEnd};

use backoff::Backoff;
use member::TurnFailure;
use protocol::UserMessage;
use protocol::{Phase, RequestId, WaitingFor};
use std::time::{Duration, Instant};

/// The delay before a report or a task that could not be written is tried again, and before a task
/// whose owner is gone is checked again.
const WRITE_RETRY: Duration = Duration::from_secs(1);
/// How long the mail about a decided plan may take after the decision itself.
const DECISION_MAIL: Duration = Duration::from_secs(2);
/// How long a cancelled turn may take to end before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Decides what a teammate does next.
#[derive(Debug)]
pub(crate) struct TeammateMachine {
    state: State,
    /// Input of the next turn.
    input: Vec<UserMessage>,
    /// Why the next turn has to wait, after one that failed.
    retry: Option<Retry>,
    backoff: Backoff,
    /// A background command has ended, and the model does not know.
    has_results: bool,
    plan: Option<AwaitedPlan>,
    idle_since: Option<Instant>,
    /// The report of the last turn, until it is sent.
    unsent_report: Option<String>,
    /// Why the held task goes back to the board, until it is written there.
    unsuspended: Option<String>,
    write_retry_at: Option<Instant>,
    /// How many turns of this incarnation failed for good.
    failures: u64,
    team: TeamState,
    wake_at: Option<Instant>,
    /// The process was asked to end.
    is_terminating: bool,
}

#[derive(Debug)]
enum State {
    /// The report of an earlier incarnation is being sent.
    Starting(Box<Startup>),
    Free,
    Busy {
        /// What the turn was started with.
        input: Vec<UserMessage>,
        cancelled_at: Option<Instant>,
        /// The model is waited for: mail is polled for shutdown requests.
        polls_mail: bool,
    },
    /// A turn has failed; shutdown requests are answered before anything else.
    Failing(TurnFailure),
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// When mail comes.
    OnMail,
    /// At this time, or when mail comes.
    At(Instant),
}

/// A plan whose decision is awaited.
#[derive(Debug)]
struct AwaitedPlan {
    id: RequestId,
    /// Since when it is known to be decided. The mail about it may be on its way.
    decided_at: Option<Instant>,
}

impl TeammateMachine {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Starting(Box::default()),
            input: Vec::new(),
            retry: None,
            backoff: Backoff::default(),
            has_results: false,
            plan: None,
            idle_since: None,
            unsent_report: None,
            unsuspended: None,
            write_retry_at: None,
            failures: 0,
            team: TeamState::default(),
            wake_at: None,
            is_terminating: false,
        }
    }

    /// When [`Event::Checked`] is wanted even if nothing else happens.
    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    /// Whether a change of the member's files is worth an [`Event::Checked`].
    pub(crate) const fn watches_files(&self) -> bool {
        match &self.state {
            State::Free => true,
            State::Busy { polls_mail, .. } => *polls_mail,
            State::Starting(_) | State::Failing(_) | State::Over => false,
        }
    }

    /// Whether the end of a background command is worth an [`Event::BackgroundFinished`].
    pub(crate) fn watches_background(&self) -> bool {
        matches!(self.state, State::Free) && self.retry.is_none()
    }

    /// Takes in what happened, and returns what to do.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        if let State::Over = self.state {
            return actions;
        }
        match event {
            Event::Started(startup) => self.started(startup, now, &mut actions),
            Event::Checked(local) => self.checked(local, now, &mut actions),
            Event::TeamChecked(team) => self.team_checked(team, now, &mut actions),
            Event::TurnEnded(end) => self.turn_ended(*end, now, &mut actions),
            Event::BackgroundFinished => {
                self.has_results = true;
                actions.push(Action::Check);
            }
            Event::TurnWaits => self.turn_waits(&mut actions),
            Event::ReportSent(sent) => self.report_sent(sent, now, &mut actions),
            Event::TaskSuspended(done) => self.task_suspended(done, now),
            Event::ShutdownsAnswered(any) => self.shutdowns_answered(any, now, &mut actions),
            Event::TerminationRequested => self.terminate(now, &mut actions),
            Event::Replaced => self.exit(Exit::Replaced, &mut actions),
            Event::FolderRemoved => self.exit(Exit::FolderRemoved, &mut actions),
        }
        actions
    }

    fn started(&mut self, mut startup: Box<Startup>, now: Instant, actions: &mut Vec<Action>) {
        self.input = std::mem::take(&mut startup.input);
        self.unsent_report = startup.unreported.take();
        match self.unsent_report.clone() {
            Some(report) => {
                self.state = State::Starting(startup);
                actions.push(Action::SendReport(report));
            }
            None => self.begin(*startup, now, actions),
        }
    }

    /// Enters the first phase, and only then announces that the member is ready.
    fn begin(&mut self, startup: Startup, now: Instant, actions: &mut Vec<Action>) {
        let Startup { local, team, .. } = startup;
        self.state = State::Free;
        let has_work = self.has_local_work(&local, now) || team.task != TaskState::Nothing;
        self.team = team;
        if has_work || self.unsent_report.is_some() {
            actions.push(phase(Phase::Working, None, None));
            if local.is_unanswered {
                // The turn goes on in the middle of its task, and must hold the task first.
                actions.push(Action::ReclaimTask);
            }
        } else {
            self.enter_idle_phase(now, actions);
        }
        actions.extend([Action::Announce, Action::Check]);
    }

    fn checked(&mut self, local: LocalState, now: Instant, actions: &mut Vec<Action>) {
        match &mut self.state {
            State::Free => {}
            State::Busy {
                cancelled_at,
                polls_mail,
                ..
            } => {
                if cancelled_at.is_some_and(|at| at + CANCEL_GRACE <= now) {
                    self.exit(Exit::Terminated, actions);
                } else if *polls_mail && local.is_turn_waiting {
                    actions.push(Action::AnswerOverdueShutdowns);
                } else {
                    *polls_mail = false;
                    self.wake_at = cancelled_at.map(|at| at + CANCEL_GRACE);
                }
                return;
            }
            State::Starting(_) | State::Failing(_) | State::Over => return,
        }
        if let Some(id) = local.approved_shutdown {
            self.exit(Exit::ShutdownApproved(id), actions);
        } else if self.is_terminating {
            self.exit(Exit::Terminated, actions);
        } else if self.has_local_work(&local, now) {
            self.start_turn(actions);
        } else {
            self.retry_writes(now, actions);
            self.wake_at = earliest([self.retry_at(), local.mail_retry_at, self.write_retry_at]);
            if self.retry.is_none() {
                actions.push(Action::CheckTeam);
            }
        }
    }

    /// Whether there is something to do. Takes nothing: a member says that it works before it takes
    /// its work.
    fn has_local_work(&self, local: &LocalState, now: Instant) -> bool {
        match self.retry {
            Some(Retry::OnMail) => local.unread,
            Some(Retry::At(at)) => local.unread || now >= at,
            None => {
                local.unread
                    || local.undelivered
                    || local.is_unanswered
                    || self.has_results
                    || !self.input.is_empty()
            }
        }
    }

    fn team_checked(&mut self, team: TeamState, now: Instant, actions: &mut Vec<Action>) {
        self.team = team;
        match self.state {
            State::Free => {}
            State::Starting(_) | State::Busy { .. } | State::Failing(_) | State::Over => return,
        }
        let idle_end = self.idle_end();
        if self.team.unread {
            self.start_turn(actions);
        } else if idle_end.is_some_and(|at| at <= now) {
            self.exit(Exit::IdleTimeout, actions);
        } else if self.is_plan_decided(now) || self.team.task != TaskState::Nothing {
            self.start_turn(actions);
        } else {
            let decision_mail = self.plan.as_ref().and_then(|plan| plan.decided_at);
            let decision_mail = decision_mail.map(|at| at + DECISION_MAIL);
            let dead_owner = self.team.has_dead_owner.then(|| now + WRITE_RETRY);
            self.wake_at = earliest([self.wake_at, idle_end, decision_mail, dead_owner]);
        }
    }

    /// When the member has been idle for as long as it may be.
    fn idle_end(&self) -> Option<Instant> {
        self.idle_since?.checked_add(self.team.idle_timeout?)
    }

    /// Whether the awaited plan is decided, and the mail about it does not come.
    fn is_plan_decided(&mut self, now: Instant) -> bool {
        let Some(plan) = &mut self.plan else {
            return false;
        };
        if self.team.pending_plan.is_some() {
            return false;
        }
        let decided_at = *plan.decided_at.get_or_insert(now);
        if now < decided_at + DECISION_MAIL {
            return false;
        }
        let text = format!(
            "<plan-decided>Your plan {} was decided.</plan-decided>",
            plan.id
        );
        self.input.push(UserMessage::new(text));
        self.plan = None;
        true
    }

    fn start_turn(&mut self, actions: &mut Vec<Action>) {
        let input = std::mem::take(&mut self.input);
        self.state = State::Busy {
            input: input.clone(),
            cancelled_at: None,
            polls_mail: false,
        };
        self.idle_since = None;
        self.has_results = false;
        self.retry = None;
        self.unsuspended = None;
        self.wake_at = None;
        actions.push(Action::StartTurn(input));
    }

    /// Tries again what could not be written, perhaps because the disk was full.
    fn retry_writes(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.write_retry_at.is_none_or(|at| at > now) {
            return;
        }
        self.write_retry_at = None;
        let report = self.unsent_report.clone();
        actions.extend(report.map(Action::SendReport));
        let reason = self.unsuspended.clone();
        actions.extend(reason.map(|reason| Action::SuspendTask { reason }));
    }

    const fn retry_at(&self) -> Option<Instant> {
        match self.retry {
            Some(Retry::At(at)) => Some(at),
            Some(Retry::OnMail) | None => None,
        }
    }

    fn terminate(&mut self, now: Instant, actions: &mut Vec<Action>) {
        self.is_terminating = true;
        match &mut self.state {
            State::Busy {
                cancelled_at,
                polls_mail,
                ..
            } => {
                *cancelled_at = Some(now);
                *polls_mail = false;
                self.wake_at = Some(now + CANCEL_GRACE);
                actions.push(Action::CancelTurn);
            }
            State::Starting(_) | State::Free | State::Failing(_) | State::Over => {
                self.exit(Exit::Terminated, actions);
            }
        }
    }

    fn exit(&mut self, exit: Exit, actions: &mut Vec<Action>) {
        self.state = State::Over;
        self.wake_at = None;
        actions.push(Action::Exit(exit));
    }
}

const fn phase(phase: Phase, waiting_for: Option<WaitingFor>, reason: Option<String>) -> Action {
    Action::SetPhase {
        phase,
        waiting_for,
        reason,
    }
}

fn earliest(times: impl IntoIterator<Item = Option<Instant>>) -> Option<Instant> {
    times.into_iter().flatten().min()
}

#[cfg(test)]
mod tests;
