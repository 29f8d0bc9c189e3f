//! Collects what the plan gate of a member depends on.

use crate::runtime::MemberRuntime;
use llm::ToolUse;
use protocol::{AgentName, PlanRecord, Recipient};
use rules::{Permission, PlanFacts, PlanFile, PlanGate, SubmittedPlan};
use teamdir::{RequestError, TeamDir};
use tools::{CommandAccess, Effect, ToolError};

/// The plan gate of a member now.
///
/// The member's own journal says which plan it submitted last and with which hash, the request file how
/// it was decided, and the roster whether a plan is needed at all. The files are read each time, because
/// a person may change them while the member runs.
pub fn gate(team: &TeamDir, name: &AgentName, own: Option<&PlanRecord>) -> PlanGate {
    let required = team.roster().ok().map(|roster| {
        let member = roster.member(name);
        member.is_some_and(|member| member.spec.require_plan == Some(true))
    });
    let stored = own.map(|own| (own, team.request(&own.request_id)));
    let submitted = stored.as_ref().map(|(own, request)| SubmittedPlan {
        request_id: &own.request_id,
        plan_hash: &own.plan_hash,
        file: match request {
            Ok(request) => PlanFile::Found(request),
            Err(
                RequestError::Unknown(_) | RequestError::Invalid { .. } | RequestError::Exists(_),
            ) => PlanFile::Missing,
            Err(RequestError::Lock(_) | RequestError::File(_)) => PlanFile::Unreadable,
        },
    });
    PlanGate::new(&PlanFacts {
        required,
        submitted,
    })
}

/// What the plan gate lets a call of this member do, or why it may not run. The lead has no gate.
pub(crate) fn plan_access(
    runtime: &MemberRuntime,
    tool_use: &ToolUse,
    effect: Option<Effect>,
) -> Result<CommandAccess, ToolError> {
    let Recipient::Member(name) = runtime.owner() else {
        return Ok(CommandAccess::Full);
    };
    let Some(effect) = effect else {
        // There is no such tool, and the registry says so.
        return Ok(CommandAccess::Full);
    };
    let plan = runtime.plan();
    let gate = gate(runtime.team(), name, plan.as_ref());
    match gate.may_run(&tool_use.name, effect, runtime.can_confine()) {
        Ok(Permission::Unrestricted) => Ok(CommandAccess::Full),
        Ok(Permission::ReadOnly) => Ok(CommandAccess::ReadOnly),
        Err(refusal) => Err(ToolError::from_error(&refusal)),
    }
}
