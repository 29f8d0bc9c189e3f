//! The beginning and the end of a turn, and the model that it asks.

use super::Lead;
use crate::console::Output;
use crate::inspect::count_tasks;
use crate::machine::Event;
use crate::opening_lines::show_work_info;
use member::{TurnFailure, TurnOutcome};
use protocol::Phase;

impl Lead {
    /// Asks another model from the next request on.
    pub(super) fn use_model(&mut self, name: &str) {
        let built = match self.model_switch.choose(name, &self.runtime) {
            Ok(built) => built,
            Err(error) => {
                let model = &self.model;
                let text = format!("{error}. The lead's model is still {model}.");
                return self.writer.write(&Output::Problem(&text));
            }
        };
        let window = built.models.settings.limits.window;
        let used = self.agent.use_models(&built.names, built.models);
        if !self.check_written(used) {
            return;
        }
        self.model = built.names;
        let workspace = self.runtime.team().workspace().to_path_buf();
        show_work_info(&workspace, &self.model, window, &self.writer);
        for remark in &built.remarks {
            self.writer.notice(remark);
        }
        let text = format!("The lead's model is {} from now on.", self.model);
        self.writer.notice(&text);
    }

    pub(super) fn start_turn(&mut self, input: Vec<String>) {
        self.runtime.set_phase(Phase::Working, None, None);
        self.state.is_background_handled = false;
        // Mail goes first, unless a new query starts the turn: the query may ask for the mail.
        let mut messages = match input.is_empty() || self.agent.is_unanswered() {
            true => self.runtime.mail_for_model(),
            false => Vec::new(),
        };
        self.writer.write(&Output::TurnStarted);
        for text in &input {
            self.writer.write(&Output::Taken(text));
        }
        let said = input.into_iter();
        messages.extend(said.map(|text| self.runtime.said_by_person(text)));
        self.agent.start_turn(messages);
    }

    pub(super) fn turn_ended(&mut self, outcome: TurnOutcome) {
        self.state.abandon_at = None;
        self.writer.write(&Output::TurnEnded);
        self.handle_not_taken();
        // The lead knows what its own turn has completed.
        self.state.tasks = count_tasks(self.runtime.team());
        match &outcome {
            TurnOutcome::RoundLimit { text: reason }
            | TurnOutcome::Failed(TurnFailure { reason, .. }) => {
                let reason = Some(reason.clone());
                self.runtime.set_phase(Phase::Failed, None, reason);
            }
            TurnOutcome::Finished { .. }
            | TurnOutcome::CutOff { .. }
            | TurnOutcome::Interrupted => {}
        }
        self.handle(Event::TurnEnded(outcome));
        self.handle_pending_mail();
        self.inspect();
    }

    /// What the turn did not take any more is done next.
    pub(super) fn handle_not_taken(&mut self) {
        let lines = self.steering.take();
        if !lines.is_empty() {
            self.handle(Event::NotTaken(lines));
        }
    }
}
