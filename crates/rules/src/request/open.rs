//! How a request begins, and who may make one.

use crate::plan::plan_hash;
use protocol::{
    Extra, Incarnation, Party, Recipient, Request, RequestId, RequestState, Subject, Timestamp,
};

/// What every new request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Its identifier, which no other request of the team bears.
    pub id: RequestId,
    /// Who asks.
    pub from: Party,
    /// The incarnation of the one who asks, where that is a member.
    pub from_incarnation: Option<Incarnation>,
    /// Who must answer.
    pub to: Recipient,
    /// The incarnation of the one who must answer. `None` addresses whoever bears the name: the way to ask
    /// the lead, so that a question outlives the process that leads.
    pub to_incarnation: Option<Incarnation>,
    /// When it is made.
    pub now: Timestamp,
}

/// Why a shutdown cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenShutdownRefusal {
    /// The lead ends when its own process is asked to.
    #[error("the lead cannot be asked to shut down: end `team-lead run` instead")]
    TheLead,
    /// The one who asks has no right to.
    #[error("'{from}' may not ask '{to}' to shut down: only the lead or the user may")]
    NotAllowed {
        /// Who asked.
        from: Party,
        /// Who should have ended.
        to: Recipient,
    },
    /// It is not said which incarnation must end, and a later one must never be hit.
    #[error("'{to}' has no running process that could shut down")]
    NotRunning {
        /// Who should have ended.
        to: Recipient,
    },
}

/// Why a plan cannot be submitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPlanRefusal {
    /// Only teammates work under a plan.
    #[error("'{from}' cannot submit a plan: only a teammate's plan needs approval")]
    NotAMember {
        /// Who submitted it.
        from: Party,
    },
    /// Teammates do not decide on each other's plans.
    #[error("a plan goes to the lead, not to '{to}'")]
    NotToTheLead {
        /// Who should have decided.
        to: Recipient,
    },
    /// There is nothing to decide on.
    #[error("the plan is empty: say what will be changed and how")]
    Empty,
}

/// Makes a pending request that asks a member to end.
///
/// Only the lead and the user may ask, only a member may be asked, and one incarnation of it.
pub fn open_shutdown(
    opening: Opening,
    deadline: Timestamp,
    reason: &str,
    force: bool,
) -> Result<Request, OpenShutdownRefusal> {
    let Opening { from, to, .. } = &opening;
    if *to == Recipient::Lead {
        return Err(OpenShutdownRefusal::TheLead);
    }
    match from {
        Party::Lead | Party::User => {}
        Party::System | Party::Member(_) => {
            let (from, to) = (from.clone(), to.clone());
            return Err(OpenShutdownRefusal::NotAllowed { from, to });
        }
    }
    if opening.to_incarnation.is_none() {
        return Err(OpenShutdownRefusal::NotRunning { to: to.clone() });
    }
    let reason = reason.to_owned();
    let subject = Subject::Shutdown {
        reason,
        force,
        lead_leaves: false,
    };
    Ok(pending(opening, Some(deadline), subject))
}

/// Makes a pending request that asks the lead, or a person in its place, to decide on a plan.
///
/// The request is bound to exactly this text by its hash. Without a deadline it waits until
/// somebody decides.
pub fn open_plan(
    opening: Opening,
    deadline: Option<Timestamp>,
    plan: &str,
) -> Result<Request, OpenPlanRefusal> {
    match &opening.from {
        Party::Member(_) => {}
        from @ (Party::Lead | Party::User | Party::System) => {
            return Err(OpenPlanRefusal::NotAMember { from: from.clone() });
        }
    }
    if opening.to != Recipient::Lead {
        return Err(OpenPlanRefusal::NotToTheLead { to: opening.to });
    }
    if plan.trim().is_empty() {
        return Err(OpenPlanRefusal::Empty);
    }
    let subject = Subject::Plan {
        plan: plan.to_owned(),
        plan_hash: plan_hash(plan),
    };
    Ok(pending(opening, deadline, subject))
}

fn pending(opening: Opening, deadline: Option<Timestamp>, subject: Subject) -> Request {
    Request {
        id: opening.id,
        from: opening.from,
        from_incarnation: opening.from_incarnation,
        to: opening.to,
        to_incarnation: opening.to_incarnation,
        created_at: opening.now,
        deadline,
        subject,
        state: RequestState::Pending,
        ignored: Vec::new(),
        extra: Extra::new(),
    }
}
