//! The state of the team as a teammate's model is told it.

use member::{MemberRuntime, gate, memory_lines};
use prompts::one_line;
use protocol::{AgentName, RequestId, TextBlock};
use rules::PlanGate;

/// The state of the team now.
///
/// `open` is what is to be said of the member's task, and the shutdown requests that wait for an answer and
/// whose mail the model has seen before.
pub(crate) fn reminder(
    runtime: &MemberRuntime,
    name: &AgentName,
    open: (Option<String>, &[RequestId]),
) -> String {
    let (task, shutdowns) = open;
    let mut lines = Vec::new();
    if let Ok(roster) = runtime.team().roster() {
        let others = roster
            .members
            .iter()
            .filter(|member| !member.spec.name.same_as(name));
        let others: Vec<String> = others
            .map(|member| format!("{} ({})", member.spec.name, one_line(&member.spec.role)))
            .collect();
        // The lead and itself it knows from its prompt.
        if !others.is_empty() {
            lines.push(format!("Team: {}", others.join(", ")));
        }
    }
    lines.extend(task);
    lines.extend(
        shutdowns
            .iter()
            .map(|id| format!("Shutdown request {id} waits for your answer.")),
    );
    let gate = gate(runtime.team(), name, runtime.plan().as_ref());
    lines.extend(plan_line(&gate));
    lines.extend(read_only_line(runtime, &gate));
    lines.extend(memory_lines(runtime.team(), runtime.owner()));
    if lines.is_empty() {
        return String::new();
    }
    // Names of tasks, feedback and notes are texts of others.
    TextBlock::new(lines.join("\n")).render("team-state")
}

/// What a member may do with commands before its plan is approved.
fn read_only_line(runtime: &MemberRuntime, gate: &PlanGate) -> Option<String> {
    let is_closed = match gate {
        PlanGate::NotRequired | PlanGate::Approved { .. } => false,
        PlanGate::Required | PlanGate::Pending { .. } | PlanGate::Rejected { .. } => true,
    };
    (is_closed && runtime.can_confine()).then(|| {
        "Until a plan is approved your commands run with the workspace read-only and without network; \
         /tmp is writable. Use them to look, search and try."
            .to_owned()
    })
}

fn plan_line(gate: &PlanGate) -> Option<String> {
    match gate {
        PlanGate::NotRequired => None,
        PlanGate::Required => Some(
            "You may change nothing before the lead has approved a plan of yours: use plan_approval."
                .to_owned(),
        ),
        PlanGate::Pending { request_id, .. } => {
            Some(format!("Your plan {request_id} waits for a decision."))
        }
        PlanGate::Approved { request_id, .. } => {
            Some(format!("Your plan {request_id} is approved."))
        }
        PlanGate::Rejected { feedback } => {
            Some(format!(
                "Your last plan was rejected: {}\n\
                 You may change nothing before the lead has approved another: use plan_approval.",
                one_line(feedback)
            ))
        }
    }
}
