//! What the teammate's tools need from its process.

use crate::shutdown::ShutdownRequests;
use member::MemberRuntime;
use protocol::{PlanRecord, Recipient, RequestId, Subject};
use std::sync::Arc;
use team::SubmitError;
use team_tools::{AgentHandle, TeammateHandle};
use tools::{ToolError, ToolOutput};

pub(crate) struct ToolHandle {
    pub(crate) runtime: MemberRuntime,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
}

impl AgentHandle for ToolHandle {
    fn read_inbox(&self) -> Result<ToolOutput, ToolError> {
        let read = self.runtime.read_inbox();
        read.map_err(|error| ToolError::from_error(&error))
    }
}

impl TeammateHandle for ToolHandle {
    fn answer_shutdown(
        &self,
        id: &RequestId,
        approve: bool,
        reason: &str,
    ) -> Result<(), ToolError> {
        let answered = self.shutdown_requests.answer(id, approve, reason);
        answered.map_err(|error| ToolError::from_error(&error))
    }

    fn submit_plan(&self, plan: &str) -> Result<RequestId, ToolError> {
        let Recipient::Member(name) = self.runtime.owner() else {
            return Err(ToolError::new("only a teammate submits plans"));
        };
        let submitted =
            team::submit_plan(self.runtime.team(), name, self.runtime.incarnation(), plan);
        let request = match submitted {
            // It is stored and can be decided, so it counts.
            Err(SubmitError::Send { id, source }) => {
                let plan_hash = rules::plan_hash(plan);
                let own = PlanRecord {
                    request_id: id.clone(),
                    plan_hash,
                };
                let kept = self.runtime.record_plan(own);
                kept.map_err(|error| ToolError::from_error(&error))?;
                return Err(ToolError::new(format!(
                    "plan {id} is stored, but the lead was not notified: {source}"
                )));
            }
            submitted => submitted.map_err(|error| ToolError::from_error(&error))?,
        };
        self.runtime.notify_user(&request);
        if let Subject::Plan { plan_hash, .. } = request.subject {
            let own = PlanRecord {
                request_id: request.id.clone(),
                plan_hash,
            };
            let kept = self.runtime.record_plan(own);
            kept.map_err(|error| ToolError::from_error(&error))?;
        }
        Ok(request.id)
    }
}
