//! The actions of the state machine, performed.

use super::{Teammate, folder_removed};
use crate::machine::{Action, Event, Exit};
use crate::report::{no_report, report};
use crate::start_options::{Ended, TeammateError};
use crate::wait::Owners;
use protocol::{NoticeCause, Recipient};
use std::time::Duration;
use tracing::warn;

/// How long a model that is waited for may take to answer a shutdown request itself, if the deadline
/// allows it.
const MODEL_PATIENCE: Duration = Duration::from_secs(5);

impl Teammate {
    pub(super) fn perform(&mut self, action: Action) {
        let answer = match action {
            Action::Check => Some(self.check()),
            Action::CheckTeam => Some(Event::TeamChecked(self.check_team())),
            Action::SendReport(text) => Some(Event::ReportSent(report(&self.runtime, &text))),
            Action::SuspendTask { reason } => {
                self.claims.suspend(&reason);
                Some(Event::TaskSuspended(self.claims.current().is_none()))
            }
            Action::AnswerShutdowns { reason } => {
                let any = self
                    .shutdown_requests
                    .answer_for_model(&reason, Duration::ZERO);
                Some(Event::ShutdownsAnswered(any))
            }
            Action::AnswerOverdueShutdowns => {
                // An engine is not asked in the middle of its work, which it ends if there is time for that.
                let patience = match self.is_engine {
                    true => Duration::MAX,
                    false => MODEL_PATIENCE,
                };
                let any = self.runtime.receive_mail().is_ok()
                    && self
                        .shutdown_requests
                        .answer_for_model("it is being waited for", patience);
                Some(Event::ShutdownsAnswered(any))
            }
            action => {
                self.execute(action);
                None
            }
        };
        self.events.extend(answer);
    }

    /// Performs an action that has no answer.
    fn execute(&mut self, action: Action) {
        match action {
            Action::Announce => self.runtime.announce(),
            Action::StartTurn(mut input) => {
                self.owners = Owners::default();
                self.runtime.begin_turn();
                // Mail is taken in any case: left in the inbox it would start the same turn again,
                // even after one that failed.
                input.extend(self.runtime.mail_for_model());
                self.agent.start_turn(input);
            }
            Action::CancelTurn => self.agent.cancel(),
            Action::SetPhase {
                phase,
                waiting_for,
                reason,
            } => self.runtime.set_phase(phase, waiting_for, reason),
            Action::WatchRequests(wanted) => self.runtime.watch_requests(wanted),
            Action::SkipReport => no_report(&self.runtime),
            Action::ReclaimTask => self.claims.reclaim(),
            Action::ReleaseTask { reason } => self.claims.release(&reason),
            Action::AllowClaims(allowed) => self.claims.allow(allowed),
            Action::ReportFailure { number, reason } => self.report_failure(number, &reason),
            Action::Exit(exit) => self.exit = Some(exit),
            Action::Check
            | Action::CheckTeam
            | Action::SendReport(_)
            | Action::SuspendTask { .. }
            | Action::AnswerShutdowns { .. }
            | Action::AnswerOverdueShutdowns => {}
        }
    }

    fn report_failure(&self, number: u64, reason: &str) {
        let name = &self.name;
        let id = format!("failed/{name}/{}/{number}", self.runtime.incarnation());
        let text = format!(
            "{name} cannot go on: {reason}. It still runs and tries again when it gets mail; see \
             `team-lead logs {name}`."
        );
        let team = self.runtime.team();
        let sent = team::notice(team, Recipient::Lead, NoticeCause::Failed, &id, &text);
        if let Err(error) = sent {
            warn!("the lead was not notified: {error}");
        }
    }

    /// Ends the process: the held task goes back to the board, and the roster says `shutdown`. A
    /// process that is no longer the member, or whose folder is gone, writes nothing.
    pub(super) fn end(&mut self, exit: Exit) -> Result<Ended, TeammateError> {
        self.agent.abandon();
        self.background.stop_all();
        let (ended, reason) = match exit {
            Exit::Replaced => return Err(TeammateError::Replaced(self.name.clone())),
            Exit::FolderRemoved => {
                return Err(folder_removed(&self.runtime));
            }
            Exit::ShutdownApproved(id) => {
                let reason = format!("its owner shut down (request {id})");
                (Ended::ShutdownApproved(id), reason)
            }
            Exit::Terminated => (Ended::Terminated, "its owner was terminated".to_owned()),
            Exit::IdleTimeout => (Ended::IdleTimeout, "its owner ended".to_owned()),
        };
        self.claims.suspend(&reason);
        self.runtime.close()?;
        Ok(ended)
    }
}
