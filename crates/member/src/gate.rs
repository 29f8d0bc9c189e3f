//! The plan gate of a member, as its own journal and the request's file say it stands.

use crate::recovered::OwnPlan;
use protocol::{AgentName, Party, RequestState, Subject};
use rules::{PlanGate, plan_hash};
use teamdir::{RequestError, TeamDir};

/// Whether a member may change anything yet.
///
/// The member's own journal says which plan it submitted last and with which hash; the request's
/// file says how it was decided. Both must fit: a file that was edited since, or that belongs to
/// another plan, opens nothing. Whether a plan is needed at all is asked of the roster each time,
/// because a person may change it while the member lives.
pub fn gate(team: &TeamDir, name: &AgentName, own: Option<&OwnPlan>) -> PlanGate {
    let Ok(roster) = team.roster() else {
        // A member that cannot know whether it needs a plan needs one.
        return PlanGate::Required;
    };
    let needed = roster
        .member(name)
        .is_some_and(|member| member.require_plan == Some(true));
    match (needed, own) {
        (false, _) => PlanGate::NotRequired,
        (true, None) => PlanGate::Required,
        (true, Some(own)) => of_plan(team, own),
    }
}

fn of_plan(team: &TeamDir, own: &OwnPlan) -> PlanGate {
    let pending = || PlanGate::Pending {
        request_id: own.request_id.clone(),
        plan_hash: own.plan_hash.clone(),
    };
    let request = match team.request(&own.request_id) {
        Ok(request) => request,
        // Gone for good, or no request any more: a new plan is needed.
        Err(RequestError::Unknown(_) | RequestError::Invalid { .. } | RequestError::Exists(_)) => {
            return PlanGate::Required;
        }
        Err(RequestError::Lock(_) | RequestError::File(_)) => return pending(),
    };
    let Subject::Plan {
        plan,
        plan_hash: stored,
    } = &request.subject
    else {
        return PlanGate::Required;
    };
    if *stored != own.plan_hash || plan_hash(plan) != own.plan_hash {
        return PlanGate::Required;
    }
    match &request.state {
        RequestState::Pending => pending(),
        RequestState::Approved(answer) => match answer.by {
            Party::Lead | Party::User => PlanGate::Approved {
                request_id: own.request_id.clone(),
                plan_hash: own.plan_hash.clone(),
            },
            Party::System | Party::Member(_) => PlanGate::Required,
        },
        RequestState::Rejected(answer) => PlanGate::Rejected {
            feedback: answer.words.clone(),
        },
        RequestState::Expired { .. } => PlanGate::Required,
    }
}
