//! What the teammate adds to the runtime as its agent's host.

use crate::claims::Claims;
use crate::prompt::reminder;
use crate::shutdown::ShutdownRequests;
use crate::trees::OwnWork;
use agent::Event;
use member::{Hooks, MemberRuntime};
use protocol::{AgentName, Request, UserMessage};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

pub(crate) struct TeammateHooks {
    pub(crate) runtime: MemberRuntime,
    pub(crate) name: AgentName,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
    pub(crate) claims: Claims,
    /// Present if it works in a tree of its own.
    pub(crate) own_work: Option<OwnWork>,
    /// Notified when the model or a person has to be waited for.
    pub(crate) turn_waits: Arc<Notify>,
    /// Whether the model was asked in this turn.
    pub(crate) was_model_asked: bool,
    /// Its model is the agent of another program, which has no tool to answer a shutdown request.
    pub(crate) is_engine: bool,
}

impl Hooks for TeammateHooks {
    fn reminder(&mut self) -> Option<String> {
        self.was_model_asked = true;
        let task = self.claims.current();
        self.runtime.set_task(task.as_ref().map(|task| task.id));
        let shutdowns = self.shutdown_requests.told_before();
        let open = (self.claims.reminder(task.as_ref()), shutdowns.as_slice());
        Some(reminder(&self.runtime, &self.name, open))
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        if self.shutdown_requests.approved().is_some() {
            return Vec::new();
        }
        if self.is_engine
            && self
                .shutdown_requests
                .answer_for_model("its engine has ended its turn", Duration::ZERO)
        {
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
        if let Some(own_work) = &self.own_work {
            own_work.integrate();
            if let Some(reminder) = own_work.remind() {
                return vec![reminder];
            }
        }
        self.claims.next().into_iter().collect()
    }

    fn turn_started(&mut self) {
        if let Some(own_work) = &self.own_work {
            own_work.integrate();
        }
        self.was_model_asked = false;
    }

    fn event(&mut self, event: &Event) {
        if let Event::Waiting(_) = event {
            self.turn_waits.notify_one();
        }
    }

    fn asks(&mut self, _: &Request) {
        self.turn_waits.notify_one();
    }
}
