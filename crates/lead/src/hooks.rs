//! What the lead adds to the runtime as its agent's host.

use crate::console::{ConsoleWriter, Output};
use crate::jobs::JobResult;
use crate::prompt;
use agent::Event;
use llm::WaitReason;
use member::{Hooks, MemberRuntime, images_hidden};
use team_tools::AgentHandle;
use teamdir::TeamDir;
use tokio::sync::mpsc::UnboundedSender;
use tools::{ToolError, ToolOutput};

pub(crate) struct LeadHooks {
    team: TeamDir,
    writer: ConsoleWriter,
    results: UnboundedSender<JobResult>,
    /// All text of the turn so far.
    text: String,
}

impl LeadHooks {
    pub(crate) fn new(
        team: TeamDir,
        writer: ConsoleWriter,
        results: UnboundedSender<JobResult>,
    ) -> Self {
        Self {
            team,
            writer,
            results,
            text: String::new(),
        }
    }
}

impl Hooks for LeadHooks {
    fn reminder(&mut self) -> Option<String> {
        Some(prompt::reminder(&self.team))
    }

    fn turn_started(&mut self) {
        self.text.clear();
    }

    /// Shows the last line of the turn if the program added it: the model's own text was shown.
    fn turn_finished(&mut self, text: &str) {
        if let Some(last) = text.trim().lines().last()
            && !self.text.contains(last)
        {
            self.writer.notice(last);
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Text(text) => {
                self.text.push_str(text);
                self.writer.write(&Output::Text(text));
            }
            Event::Thinking(_) | Event::ToolStarted { .. } | Event::Compacted { .. } => {}
            Event::Waiting(waiting) => {
                self.writer.write(&Output::Discard);
                self.writer.notice(&waiting.to_string());
                if waiting.reason == WaitReason::Budget {
                    let _ = self.results.send(JobResult::BudgetSpent);
                }
            }
            Event::Switched(switch) => {
                self.writer.write(&Output::Discard);
                self.writer.notice(&switch.to_string());
            }
            Event::ImagesHidden { model } => self.writer.notice(&images_hidden(model)),
            Event::Replied { .. } => self.writer.write(&Output::BlockEnd),
            Event::ToolFinished { name, text, .. } => {
                self.writer.write(&Output::Tool { name, output: text });
            }
            Event::Compacting => self.writer.notice("Making the conversation shorter."),
        }
    }
}

/// What the lead's tools need from its process.
pub(crate) struct LeadHandle(pub(crate) MemberRuntime);

impl AgentHandle for LeadHandle {
    fn read_inbox(&self) -> Result<ToolOutput, ToolError> {
        let read = self.0.read_inbox();
        read.map_err(|error| ToolError::from_error(&error))
    }
}
