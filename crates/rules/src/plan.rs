//! The plan gate: whether a member may change anything yet.

use protocol::{Effect, Party, Request, RequestId, RequestState, Subject};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Whether a member may use tools that change things.
///
/// The gate has no state of its own. It is derived from [`PlanFacts`] whenever it is needed, so that it
/// survives restarts and follows the request file at once. The plan that was submitted last decides:
/// a new submission closes an open gate until that plan is approved too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanGate {
    NotRequired,
    /// The member needs a plan and has none that counts.
    Required,
    /// The plan has not been decided.
    Pending {
        request_id: RequestId,
    },
    Approved {
        request_id: RequestId,
    },
    Rejected {
        /// What to change; may be empty.
        feedback: String,
    },
}

/// What a plan gate depends on.
#[derive(Debug, Clone, Copy)]
pub struct PlanFacts<'a> {
    /// Whether the roster asks the member for a plan; `None` if the roster cannot be read.
    pub required: Option<bool>,
    /// The plan that the member's journal names as the last one it submitted.
    pub submitted: Option<SubmittedPlan<'a>>,
}

/// A plan as its author knows it, and what its request file says.
#[derive(Debug, Clone, Copy)]
pub struct SubmittedPlan<'a> {
    pub request_id: &'a RequestId,
    /// The hash of the text that the author submitted, see [`plan_hash`].
    pub plan_hash: &'a str,
    pub file: PlanFile<'a>,
}

/// The request file of a plan.
#[derive(Debug, Clone, Copy)]
pub enum PlanFile<'a> {
    Found(&'a Request),
    /// There is no such file, or it is not a request.
    Missing,
    /// It cannot be read at the moment.
    Unreadable,
}

/// How a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Unrestricted,
    /// What it starts must not change anything.
    ReadOnly,
}

/// Why a tool may not run. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateRefusal {
    #[error(
        "{tool} was not run: you need an approved plan before you change anything; \
         call plan_approval with your plan"
    )]
    NoPlan { tool: String },
    #[error(
        "{tool} was not run: your plan (request_id={request_id}) is not decided yet; \
         wait for the decision, or call plan_approval with a new plan"
    )]
    Undecided { tool: String, request_id: RequestId },
    #[error(
        "{tool} was not run: your plan was rejected (feedback: {feedback:?}); \
         call plan_approval with a better one"
    )]
    Rejected { tool: String, feedback: String },
}

/// The SHA-256 of a plan's bytes in hex, which binds a decision to exactly this text.
pub fn plan_hash(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}

impl PlanGate {
    /// Derives the gate from the facts.
    ///
    /// The author's journal and the request file must agree: a file that was edited since, or that
    /// belongs to another plan, opens nothing. An approval counts only if the lead or the user gave it.
    /// A member that cannot find out whether it needs a plan needs one.
    pub fn new(facts: &PlanFacts<'_>) -> Self {
        match (facts.required, facts.submitted) {
            (Some(false), _) => Self::NotRequired,
            (None, _) | (Some(true), None) => Self::Required,
            (Some(true), Some(submitted)) => Self::of_plan(submitted),
        }
    }

    fn of_plan(submitted: SubmittedPlan<'_>) -> Self {
        let request_id = submitted.request_id.clone();
        let request = match submitted.file {
            PlanFile::Found(request) => request,
            PlanFile::Missing => return Self::Required,
            PlanFile::Unreadable => return Self::Pending { request_id },
        };
        let Subject::Plan {
            plan,
            plan_hash: stored,
        } = &request.subject
        else {
            return Self::Required;
        };
        let is_same_text = *stored == submitted.plan_hash && plan_hash(plan) == submitted.plan_hash;
        if request.id != request_id || !is_same_text {
            return Self::Required;
        }
        match &request.state {
            RequestState::Pending => Self::Pending { request_id },
            RequestState::Approved(answer) => match answer.by {
                Party::Lead | Party::User => Self::Approved { request_id },
                Party::System | Party::Member(_) => Self::Required,
            },
            RequestState::Rejected(answer) => Self::Rejected {
                feedback: answer.text.clone(),
            },
            RequestState::Expired { .. } => Self::Required,
        }
    }

    /// Whether and how a tool with this effect may run now. `can_confine` says whether the caller can keep the
    /// programs that a tool starts from changing anything.
    pub fn may_run(
        &self,
        tool: &str,
        effect: Effect,
        can_confine: bool,
    ) -> Result<Permission, GateRefusal> {
        let tool = tool.to_owned();
        let refusal = match self {
            Self::NotRequired | Self::Approved { .. } => return Ok(Permission::Unrestricted),
            Self::Required => GateRefusal::NoPlan { tool },
            Self::Pending { request_id } => {
                let request_id = request_id.clone();
                GateRefusal::Undecided { tool, request_id }
            }
            Self::Rejected { feedback } => {
                let feedback = feedback.clone();
                GateRefusal::Rejected { tool, feedback }
            }
        };
        match effect {
            Effect::Read | Effect::State | Effect::Ask => Ok(Permission::Unrestricted),
            Effect::Execute if can_confine => Ok(Permission::ReadOnly),
            Effect::Execute | Effect::Mutate => Err(refusal),
        }
    }
}

#[cfg(test)]
mod tests;
