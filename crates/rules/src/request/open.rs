//! Creates requests, and decides who may.

use crate::plan::plan_hash;
use protocol::{
    Extra, Incarnation, Party, Recipient, Request, RequestId, RequestState, Subject, Timestamp,
};

/// What every new request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Unique in the team.
    pub id: RequestId,
    pub from: Party,
    /// The incarnation of the asker, if it is a member or the lead.
    pub from_incarnation: Option<Incarnation>,
    pub to: Recipient,
    /// The addressed incarnation. `None` addresses any incarnation, as in a request to the lead, which must
    /// survive a restart of the lead.
    pub to_incarnation: Option<Incarnation>,
    pub now: Timestamp,
}

/// Why a shutdown cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenShutdownRefusal {
    /// The lead ends with its own command.
    #[error("the lead cannot be asked to shut down: end `team-lead run` instead")]
    TheLead,
    #[error("'{from}' may not ask '{to}' to shut down: only the lead or the user may")]
    NotAllowed { from: Party, to: Recipient },
    /// No incarnation is named, and a later one must never be ended.
    #[error("'{to}' has no running process that could shut down")]
    NotRunning { to: Recipient },
}

/// Why a plan cannot be submitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPlanRefusal {
    #[error("'{from}' cannot submit a plan: only a teammate's plan needs approval")]
    NotAMember { from: Party },
    #[error("a plan goes to the lead, not to '{to}'")]
    NotToTheLead { to: Recipient },
    #[error("the plan is empty: say what will be changed and how")]
    Empty,
}

/// Makes a pending request that asks a member to end.
///
/// Only the lead and the user may ask, and only one incarnation of a member may be asked.
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
/// Its hash binds the request to exactly this text. Without a deadline it stays pending until it is
/// decided.
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
