//! The plan gate: whether a member may change anything yet.

use crate::who::same_party;
use protocol::{
    AgentName, Incarnation, Party, Recipient, Request, RequestId, RequestState, Subject,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The tools that change something, and so wait for an approved plan.
pub const MUTATING_TOOLS: [&str; 4] = ["bash", "write_file", "edit_file", "background_run"];

/// How far a member has come towards an approved plan.
///
/// The latest plan decides: a new submission closes an open gate until that plan is approved too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanGate {
    /// The member needs no plan.
    NotRequired,
    /// The member needs a plan and has none that counts.
    Required,
    /// A plan waits for a decision.
    Pending {
        /// Its request.
        request_id: RequestId,
        /// Its hash.
        plan_hash: String,
    },
    /// A plan was approved.
    Approved {
        /// Its request.
        request_id: RequestId,
        /// Its hash.
        plan_hash: String,
    },
    /// The last plan was rejected.
    Rejected {
        /// What to change; may be empty.
        feedback: String,
    },
}

/// A decision on a plan, as its request file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The request that was decided.
    pub request_id: RequestId,
    /// The hash of the text that was decided on.
    pub plan_hash: String,
    /// Yes or no.
    pub approve: bool,
    /// What to change, or a word on the way; may be empty.
    pub feedback: String,
}

/// Whose gate is rebuilt, and from what.
#[derive(Debug, Clone, Copy)]
pub struct RebuildFrom<'a> {
    /// The member.
    pub member: &'a AgentName,
    /// Its present life.
    pub incarnation: Incarnation,
    /// Whether it needs a plan.
    pub required: bool,
    /// Request files; those of other members and of other kinds are passed over.
    pub requests: &'a [Request],
}

/// Why a decision changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideRefusal {
    /// No plan waits for a decision.
    #[error("the decision on plan {decided} has no effect: no plan is waiting")]
    NothingPending {
        /// The request that was decided.
        decided: RequestId,
    },
    /// Another plan waits.
    #[error("the decision on plan {decided} has no effect: plan {pending} is waiting")]
    OtherRequest {
        /// The request that was decided.
        decided: RequestId,
        /// The request that waits.
        pending: RequestId,
    },
    /// The text decided on is not the text submitted.
    #[error("the decision on plan {decided} has no effect: it was made on a different text")]
    OtherText {
        /// The request that was decided.
        decided: RequestId,
    },
}

/// Why a tool may not run. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateRefusal {
    /// No plan was submitted.
    #[error(
        "{tool} was not run: you need an approved plan before you change anything; \
         call plan_approval with your plan"
    )]
    NoPlan {
        /// The tool.
        tool: &'static str,
    },
    /// The plan is not decided.
    #[error(
        "{tool} was not run: your plan (request_id={request_id}) is not decided yet; \
         wait for the decision, or call plan_approval with a new plan"
    )]
    Undecided {
        /// The tool.
        tool: &'static str,
        /// The request that waits.
        request_id: RequestId,
    },
    /// The plan was rejected.
    #[error(
        "{tool} was not run: your plan was rejected (feedback: {feedback:?}); \
         call plan_approval with a better one"
    )]
    Rejected {
        /// The tool.
        tool: &'static str,
        /// What to change.
        feedback: String,
    },
}

/// Binds a decision to exactly this text: the SHA-256 of its bytes in hex.
pub fn plan_hash(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}

impl PlanGate {
    /// The gate of a member that has submitted nothing.
    pub const fn new(required: bool) -> Self {
        if required {
            Self::Required
        } else {
            Self::NotRequired
        }
    }

    /// The gate as the request files say it stands.
    ///
    /// A restarted member keeps its conversation, and an approval belongs to that conversation.
    /// So the member's latest plan by creation time decides, made in the present life or an
    /// earlier one. An approval counts only if the lead or the user gave it and the stored plan
    /// still has the hash that was approved.
    pub fn rebuild(from: &RebuildFrom<'_>) -> Self {
        if !from.required {
            return Self::NotRequired;
        }
        let own = from.requests.iter().filter(|request| is_own(from, request));
        let Some(latest) = own.max_by_key(|r| (r.created_at, r.from_incarnation, &r.id)) else {
            return Self::Required;
        };
        let Subject::Plan {
            plan,
            plan_hash: stored,
        } = &latest.subject
        else {
            return Self::Required;
        };
        if plan_hash(plan) != *stored {
            return Self::Required;
        }
        let (request_id, plan_hash) = (latest.id.clone(), stored.clone());
        match &latest.state {
            RequestState::Pending => Self::Pending {
                request_id,
                plan_hash,
            },
            RequestState::Approved(answer) => match answer.by {
                Party::Lead | Party::User => Self::Approved {
                    request_id,
                    plan_hash,
                },
                Party::System | Party::Member(_) => Self::Required,
            },
            RequestState::Rejected(answer) => Self::Rejected {
                feedback: answer.words.clone(),
            },
            RequestState::Expired { .. } => Self::Required,
        }
    }

    /// Takes note that the member submitted a plan. The decision on any plan before it no longer
    /// matters. A member that needs no plan may submit one and stays free.
    pub fn submit(&mut self, request_id: RequestId, plan_hash: String) {
        match self {
            Self::NotRequired => {}
            Self::Required
            | Self::Pending { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. } => {
                *self = Self::Pending {
                    request_id,
                    plan_hash,
                };
            }
        }
    }

    /// Applies a decision, which must be on exactly the plan that waits; else nothing changes.
    pub fn decide(&mut self, decision: &Decision) -> Result<(), DecideRefusal> {
        let decided = decision.request_id.clone();
        let (pending, hash) = match self {
            Self::Pending {
                request_id,
                plan_hash,
            } => (request_id, plan_hash),
            Self::NotRequired | Self::Required | Self::Approved { .. } | Self::Rejected { .. } => {
                return Err(DecideRefusal::NothingPending { decided });
            }
        };
        if *pending != decided {
            let pending = pending.clone();
            return Err(DecideRefusal::OtherRequest { decided, pending });
        }
        if *hash != decision.plan_hash {
            return Err(DecideRefusal::OtherText { decided });
        }
        *self = if decision.approve {
            Self::Approved {
                request_id: decided,
                plan_hash: decision.plan_hash.clone(),
            }
        } else {
            Self::Rejected {
                feedback: decision.feedback.clone(),
            }
        };
        Ok(())
    }

    /// Takes note that the plan that waits can no longer be decided; other plans change nothing.
    pub fn expire(&mut self, expired: &RequestId) {
        if matches!(self, Self::Pending { request_id, .. } if request_id == expired) {
            *self = Self::Required;
        }
    }

    /// Whether the tool may run now. Tools that change nothing always may.
    pub fn may_run(&self, tool: &str) -> Result<(), GateRefusal> {
        let Some(tool) = MUTATING_TOOLS.into_iter().find(|name| *name == tool) else {
            return Ok(());
        };
        match self {
            Self::NotRequired | Self::Approved { .. } => Ok(()),
            Self::Required => Err(GateRefusal::NoPlan { tool }),
            Self::Pending { request_id, .. } => {
                let request_id = request_id.clone();
                Err(GateRefusal::Undecided { tool, request_id })
            }
            Self::Rejected { feedback } => {
                let feedback = feedback.clone();
                Err(GateRefusal::Rejected { tool, feedback })
            }
        }
    }
}

fn is_own(from: &RebuildFrom<'_>, request: &Request) -> bool {
    let plan = matches!(request.subject, Subject::Plan { .. });
    let own = same_party(&request.from, &Party::Member(from.member.clone()));
    let incarnation = request.from_incarnation;
    plan && own
        && request.to == Recipient::Lead
        && incarnation.is_none_or(|incarnation| incarnation <= from.incarnation)
}

#[cfg(test)]
mod tests;
