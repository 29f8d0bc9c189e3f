//! The teammate's part of its agent's host.

use crate::prompt::prompt;
use crate::shutdown::ShutdownRequests;
use crate::work::Work;
use agent::{Event, Message, Prompt};
use member::{Hooks, MemberRuntime};
use protocol::AgentName;
use std::sync::Arc;
use tokio::sync::Notify;

/// What tells a teammate's agent from others.
pub(crate) struct TeammateHooks {
    pub(crate) runtime: MemberRuntime,
    pub(crate) name: AgentName,
    pub(crate) system: String,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
    pub(crate) work: Work,
    /// Rings when the model cannot be asked for a while.
    pub(crate) stuck: Arc<Notify>,
    /// Whether the model was asked in this turn.
    pub(crate) was_asked: bool,
}

impl Hooks for TeammateHooks {
    fn prompt(&mut self) -> Prompt {
        self.was_asked = true;
        let task = self.work.current();
        self.runtime.set_task(task.as_ref().map(|task| task.id));
        let shutdowns = self.shutdown_requests.still_open();
        let system = &self.system;
        prompt(
            &self.runtime,
            &self.name,
            system,
            (task.as_ref(), &shutdowns),
        )
    }

    fn when_stopping(&mut self) -> Vec<Message> {
        if self.shutdown_requests.leaving().is_some() {
            return Vec::new();
        }
        let reminders = self.shutdown_requests.remind();
        if !reminders.is_empty() {
            let remind = |id: &protocol::RequestId| {
                Message::new(format!(
                    "<shutdown-reminder>Shutdown request {id} waits for your answer: call \
                     shutdown_response with request_id {id} and approve true or \
                     false.</shutdown-reminder>"
                ))
            };
            return reminders.iter().map(remind).collect();
        }
        self.work.next().into_iter().collect()
    }

    fn see(&mut self, event: &Event) {
        if let Event::Waiting(_) = event {
            self.stuck.notify_one();
        }
    }
}
