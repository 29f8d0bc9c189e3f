//! What the teammate's tools need from its process.

use crate::shutdown::ShutdownRequests;
use member::MemberRuntime;
use protocol::{PlanRecord, Recipient, RequestId, Subject};
use std::sync::Arc;
use team::SubmitError;
use team_tools::{AgentHandle, TeammateHandle};
use tools::ToolOutput;

pub(crate) struct ToolHandle {
    pub(crate) runtime: MemberRuntime,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
}

impl AgentHandle for ToolHandle {
    fn read_inbox(&self) -> Result<ToolOutput, String> {
        self.runtime.read_inbox().map_err(|error| error.to_string())
    }
}

impl TeammateHandle for ToolHandle {
    fn answer_shutdown(&self, id: &RequestId, approve: bool, reason: &str) -> Result<(), String> {
        self.shutdown_requests.answer(id, approve, reason)
    }

    fn submit_plan(&self, plan: &str) -> Result<RequestId, String> {
        let Recipient::Member(name) = self.runtime.owner() else {
            return Err("only a teammate submits plans".to_owned());
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
                kept.map_err(|error| error.to_string())?;
                return Err(format!(
                    "plan {id} is stored, but the lead was not notified: {source}"
                ));
            }
            submitted => submitted.map_err(|error| error.to_string())?,
        };
        if let Subject::Plan { plan_hash, .. } = request.subject {
            let own = PlanRecord {
                request_id: request.id.clone(),
                plan_hash,
            };
            let kept = self.runtime.record_plan(own);
            kept.map_err(|error| error.to_string())?;
        }
        Ok(request.id)
    }
}
