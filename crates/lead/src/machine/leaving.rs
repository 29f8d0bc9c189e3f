//! How the lead comes to its end: who asks for it, what it waits for, and its exit code.

use super::types::{LeaveReason, Leaving, Queued};
use super::{Action, LeadMachine, ShutdownMode};
use crate::console::Mode;
use protocol::exit;

impl LeadMachine {
    /// At a terminal the end of input asks to leave. From a pipe it only says that no more lines
    /// come: the work that was asked for is still done.
    pub(super) fn input_ended(&mut self, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.input_ended, true) {
            return;
        }
        if self.options.mode == Mode::Terminal {
            if self.is_busy || !self.queue.is_empty() {
                let text = "Leaving when the lead is done with this; Ctrl-C leaves at once.";
                actions.push(Action::Print(text.to_owned()));
            }
            self.queue.push_back(Queued::Leave);
        }
    }

    pub(super) fn interrupted(&mut self, actions: &mut Vec<Action>) {
        let Some(leaving) = &mut self.leaving else {
            let text = "Leaving; Ctrl-C again ends everything at once.";
            actions.push(Action::Print(text.to_owned()));
            self.leave(LeaveReason::Interrupt, actions);
            return;
        };
        leaving.reason = LeaveReason::Interrupt;
        let hurried = std::mem::replace(&mut leaving.hurried, true);
        // A third interrupt does not even wait for the signalled processes to end.
        if hurried || self.options.keep {
            self.exit(actions);
        } else {
            leaving.asked = true;
            actions.push(Action::ShutDown(ShutdownMode::Immediate));
        }
    }

    /// Whoever closes a terminal does not ask the team to stop: the lead leaves as with `--keep`. Nobody
    /// is left to read a notice.
    pub(super) fn terminal_closed(&mut self, actions: &mut Vec<Action>) {
        self.options.keep = true;
        if self.leaving.is_none() {
            self.leave(LeaveReason::TerminalClosed, actions);
        }
    }

    /// A person at the terminal can raise the budget. Without one the run ends.
    pub(super) fn budget_spent(&mut self, actions: &mut Vec<Action>) {
        if self.options.mode != Mode::Terminal && self.leaving.is_none() {
            let text = "The budget is reached; raise it with `team-lead budget raise`, or give the next \
                         run more, and go on with `team-lead run --resume`.";
            actions.push(Action::PrintError(text.to_owned()));
            self.leave(LeaveReason::Budget, actions);
        }
    }

    pub(super) fn team_ended(&mut self, actions: &mut Vec<Action>) {
        match &mut self.leaving {
            // The team has ended. The answer to a second, immediate shutdown comes too, but nobody
            // needs to wait for it.
            Some(leaving) if leaving.asked => leaving.team_ended = true,
            Some(_) | None => return,
        }
        if !self.is_busy {
            self.exit(actions);
        }
    }

    /// There is no team any more, and nothing that could be written: the process ends at once.
    pub(super) fn folder_removed(&mut self, actions: &mut Vec<Action>) {
        let text = "The team folder was removed, moved away or replaced; the lead ends.";
        actions.push(Action::PrintError(text.to_owned()));
        self.is_over = true;
        actions.push(Action::Exit(exit::NOT_FOUND));
    }

    /// Starts to leave. A running turn is cancelled.
    pub(super) fn leave(&mut self, reason: LeaveReason, actions: &mut Vec<Action>) {
        self.leaving = Some(Leaving::new(reason));
        if self.is_busy {
            actions.push(Action::CancelTurn);
        }
    }

    pub(super) fn exit(&mut self, actions: &mut Vec<Action>) {
        self.is_over = true;
        let reason = self.leaving.as_ref().map(|leaving| leaving.reason);
        if let (Mode::OneShot, Some(LeaveReason::Done { .. })) = (self.options.mode, reason)
            && let Some(answer) = self.answer.take()
        {
            actions.push(Action::Answer(answer));
        }
        actions.push(Action::Exit(self.code(reason)));
    }

    const fn code(&self, reason: Option<LeaveReason>) -> u8 {
        match reason {
            Some(LeaveReason::Interrupt | LeaveReason::TerminalClosed) => exit::INTERRUPTED,
            Some(LeaveReason::Time) => exit::TIMED_OUT,
            Some(LeaveReason::Budget) => exit::BUDGET,
            Some(LeaveReason::Failed) => exit::FAILED,
            Some(LeaveReason::Done { .. }) if self.failed || self.is_answer_cut => exit::FAILED,
            Some(LeaveReason::Done { has_failures: true }) => exit::TEAM_FAILED,
            Some(
                LeaveReason::Done {
                    has_failures: false,
                }
                | LeaveReason::Person,
            )
            | None => exit::DONE,
        }
    }
}
