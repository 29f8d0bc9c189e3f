//! What the runtime of a member holds of its engine: the running agent, and what hooks have for it.

use super::process::Running;
use crate::runtime::MemberRuntime;
use protocol::{RequestId, UserMessage};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Mutex as AsyncMutex;

/// The engine of a member, if it has one.
#[derive(Default)]
pub(crate) struct EngineState {
    pub(super) running: AsyncMutex<Option<Running>>,
    shared: Mutex<Shared>,
}

/// What is known about the engine beside its process.
#[derive(Default)]
pub(super) struct Shared {
    /// What hooks have said about the agent's tools, for its next prompt.
    pub(super) messages: Vec<UserMessage>,
    /// What the agent has asked and nobody has answered to it yet.
    pub(super) asked: Vec<RequestId>,
    /// The session, as it is stored.
    pub(super) session: Option<super::kept::Stored>,
}

impl EngineState {
    pub(super) fn shared(&self) -> MutexGuard<'_, Shared> {
        // Nothing under this lock can be half done.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemberRuntime {
    /// What hooks have for the engine.
    pub(crate) fn take_engine_messages(&self) -> Vec<UserMessage> {
        std::mem::take(&mut self.engine.shared().messages)
    }

    /// What the engine has asked and nobody has answered to it yet.
    pub(crate) fn engine_asks(&self) -> Vec<RequestId> {
        self.engine.shared().asked.clone()
    }

    /// Ends the agent. One whose prompt was cancelled has a moment to read that.
    pub async fn end_engine(&self) {
        let running = self.engine.running.lock();
        let Ok(mut running) = tokio::time::timeout(super::process::CANCEL_LIMIT, running).await
        else {
            return;
        };
        if let Some(agent) = running.as_mut() {
            agent.settle().await;
            if !agent.is_stale {
                self.engine_ends();
            }
        }
        *running = None;
    }
}
