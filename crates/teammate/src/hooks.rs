//! What the teammate adds to the runtime as its agent's host.

use crate::claims::Claims;
use crate::prompt::prompt;
use crate::shutdown::ShutdownRequests;
use agent::{Event, Prompt};
use member::{Hooks, MemberRuntime};
use protocol::{AgentName, UserMessage};
use std::sync::Arc;
use tokio::sync::Notify;
use tools::Confinement;

pub(crate) struct TeammateHooks {
    pub(crate) runtime: MemberRuntime,
    pub(crate) name: AgentName,
    pub(crate) system: String,
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
    pub(crate) claims: Claims,
    /// Notified when the model has to be waited for.
    pub(crate) model_waits: Arc<Notify>,
    /// Whether the model was asked in this turn.
    pub(crate) was_model_asked: bool,
}

impl Hooks for TeammateHooks {
    fn prompt(&mut self) -> Prompt {
        self.was_model_asked = true;
        let task = self.claims.current();
        self.runtime.set_task(task.as_ref().map(|task| task.id));
        let shutdowns = self.shutdown_requests.still_open();
        // Here and not earlier, because trying out the sandbox must not delay the start.
        let system = format!("{}\n{}", self.system, self.confinement.facts());
        prompt(
            &self.runtime,
            &self.name,
            &system,
            (task.as_ref(), &shutdowns),
        )
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        if self.shutdown_requests.approved().is_some() {
            return Vec::new();
        }
        let reminders = self.shutdown_requests.remind();
        if !reminders.is_empty() {
            let remind = |id: &protocol::RequestId| {
                UserMessage::new(format!(
                    "<shutdown-reminder>Shutdown request {id} waits for your answer: call \
                     shutdown_response with request_id {id} and approve true or \
                     false.</shutdown-reminder>"
                ))
            };
            return reminders.iter().map(remind).collect();
        }
        self.claims.next().into_iter().collect()
    }

    fn turn_started(&mut self) {
        self.was_model_asked = false;
    }

    fn event(&mut self, event: &Event) {
        if let Event::Waiting(_) = event {
            self.model_waits.notify_one();
        }
    }
}
