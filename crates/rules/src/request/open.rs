//! Creates requests, and decides who may.

use super::ask::{call_hash, question_hash};
use crate::plan::plan_hash;
use protocol::{
    Extra, Incarnation, Party, PermissionAsk, QuestionAsk, Recipient, Request, RequestId,
    RequestState, Subject, Timestamp,
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

/// Why a person cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenAskRefusal {
    #[error("'{from}' cannot ask a person: only the lead and its teammates can")]
    NotAnAgent { from: Party },
    #[error("a person is asked at the lead's, not at '{to}'")]
    NotToTheLead { to: Recipient },
    #[error("the question is empty: say what you want to know")]
    NoQuestion,
    #[error("nothing could be answered: give choices, or allow any text")]
    NoAnswer,
    #[error("give at most {MAX_CHOICES} choices, each different from the others and not empty")]
    Choices,
}

/// How many choices a question may have.
pub const MAX_CHOICES: usize = 9;

/// Makes a pending request that asks a person, or the lead if it may, whether a tool call may run.
pub fn open_permission(
    opening: Opening,
    deadline: Option<Timestamp>,
    mut ask: PermissionAsk,
) -> Result<Request, OpenAskRefusal> {
    check_asker(&opening)?;
    ask.call_hash = call_hash(&ask.tool, &ask.arguments);
    Ok(pending(opening, deadline, Subject::Permission(ask)))
}

/// Makes a pending request that puts a question to a person, or to the lead if it may answer.
pub fn open_question(
    opening: Opening,
    deadline: Option<Timestamp>,
    mut ask: QuestionAsk,
) -> Result<Request, OpenAskRefusal> {
    check_asker(&opening)?;
    if ask.question.trim().is_empty() {
        return Err(OpenAskRefusal::NoQuestion);
    }
    if ask.choices.is_empty() && !ask.free_text {
        return Err(OpenAskRefusal::NoAnswer);
    }
    let is_empty = |choice: &String| choice.trim().is_empty();
    let is_repeated =
        |(place, choice): (usize, &String)| ask.choices.iter().take(place).any(|c| c == choice);
    let is_wrong = ask.choices.len() > MAX_CHOICES
        || ask.choices.iter().any(is_empty)
        || ask.choices.iter().enumerate().any(is_repeated);
    if is_wrong {
        return Err(OpenAskRefusal::Choices);
    }
    ask.call_hash = question_hash(&ask);
    Ok(pending(opening, deadline, Subject::Question(ask)))
}

fn check_asker(opening: &Opening) -> Result<(), OpenAskRefusal> {
    match &opening.from {
        Party::Member(_) | Party::Lead => {}
        from @ (Party::User | Party::System) => {
            return Err(OpenAskRefusal::NotAnAgent { from: from.clone() });
        }
    }
    match &opening.to {
        Recipient::Lead => Ok(()),
        to @ Recipient::Member(_) => Err(OpenAskRefusal::NotToTheLead { to: to.clone() }),
    }
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
        notified_at: None,
        subject,
        state: RequestState::Pending,
        ignored: Vec::new(),
        host: None,
        sent: None,
        refused: None,
        extra: Extra::new(),
    }
}
