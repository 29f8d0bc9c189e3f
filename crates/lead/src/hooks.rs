//! What the lead adds to the runtime as its agent's host.

use crate::console::{ConsoleWriter, Output};
use crate::jobs::JobResult;
use crate::prompt;
use crate::steering::Steering;
use agent::Event;
use llm::WaitReason;
use member::{Hooks, MemberRuntime, images_hidden};
use protocol::UserMessage;
use team_tools::AgentHandle;
use teamdir::TeamDir;
use tokio::sync::mpsc::UnboundedSender;
use tools::{ToolError, ToolOutput};

pub(crate) struct LeadHooks {
    team: TeamDir,
    runtime: MemberRuntime,
    steering: Steering,
    writer: ConsoleWriter,
    results: UnboundedSender<JobResult>,
    /// All text of the turn so far.
    text: String,
}

impl LeadHooks {
    pub(crate) fn new(
        runtime: MemberRuntime,
        steering: Steering,
        writer: ConsoleWriter,
        results: UnboundedSender<JobResult>,
    ) -> Self {
        Self {
            team: runtime.team().clone(),
            runtime,
            steering,
            writer,
            results,
            text: String::new(),
        }
    }
}

impl LeadHooks {
    /// What the person has typed since the turn began.
    fn typed(&self) -> Vec<UserMessage> {
        let lines = self.steering.take().into_iter().map(|line| {
            self.writer.write(&Output::Taken(&line));
            self.runtime.said_by_person(line)
        });
        lines.collect()
    }
}

impl Hooks for LeadHooks {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        self.typed()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        self.typed()
    }

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
            Event::Thinking(text) => self.writer.write(&Output::Thinking(text)),
            Event::ToolStarted {
                id,
                name,
                arguments,
            } => self.writer.write(&Output::ToolStarted {
                id,
                name,
                arguments,
            }),
            Event::Compacted { .. } => {}
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
            Event::Replied { usage, .. } => self.writer.write(&Output::BlockEnd {
                tokens: usage.map(|usage| usage.output),
                context: usage
                    .map(|usage| usage.input + usage.cache_read + usage.cache_write + usage.output),
            }),
            Event::ToolFinished {
                id,
                name,
                text,
                is_error,
                took,
            } => self.writer.write(&Output::Tool {
                id,
                name,
                output: text,
                is_error: *is_error,
                took: *took,
            }),
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
