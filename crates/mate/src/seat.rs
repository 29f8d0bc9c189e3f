//! The teammate's own process, as its tools see it.

use crate::farewell::Farewell;
use dealings::SubmitError;
use desk::{Desk, OwnPlan};
use protocol::{Recipient, RequestId, Subject};
use std::sync::Arc;
use teamtools::{MateSeat, Seat};

/// The seat of the teammate in this process.
pub(crate) struct MateChair {
    pub(crate) desk: Desk,
    pub(crate) farewell: Arc<Farewell>,
}

impl Seat for MateChair {
    fn read_inbox(&self) -> Result<String, String> {
        self.desk.read_inbox().map_err(|error| error.to_string())
    }
}

impl MateSeat for MateChair {
    fn answer_shutdown(&self, id: &RequestId, approve: bool, reason: &str) -> Result<(), String> {
        self.farewell.answer(id, approve, reason)
    }

    fn submit_plan(&self, plan: &str) -> Result<RequestId, String> {
        let Recipient::Member(name) = self.desk.owner() else {
            return Err("only a teammate submits plans".to_owned());
        };
        let submitted = dealings::submit_plan(self.desk.team(), name, self.desk.life(), plan);
        let request = match submitted {
            // It is stored and can be decided, so it is the plan that counts.
            Err(SubmitError::Send { id, source }) => {
                let plan_hash = coordination::plan_hash(plan);
                let own = OwnPlan {
                    request_id: id.clone(),
                    plan_hash,
                };
                let kept = self.desk.keep_plan(own);
                kept.map_err(|error| error.to_string())?;
                return Err(format!(
                    "plan {id} is stored, but the lead could not be told: {source}"
                ));
            }
            submitted => submitted.map_err(|error| error.to_string())?,
        };
        if let Subject::Plan { plan_hash, .. } = request.subject {
            let own = OwnPlan {
                request_id: request.id.clone(),
                plan_hash,
            };
            let kept = self.desk.keep_plan(own);
            kept.map_err(|error| error.to_string())?;
        }
        Ok(request.id)
    }
}
