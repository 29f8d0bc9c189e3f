//! The teammate's system prompt, and the state of the team that goes with every request.

use agent::Prompt;
use member::{MemberRuntime, gate};
use protocol::{AgentName, RequestId, Task};
use rules::PlanGate;

/// Who the model is and which rules it has. The same in every request, so that providers can cache it.
pub(crate) fn system(runtime: &MemberRuntime, name: &AgentName, role: &str) -> String {
    let workspace = runtime.team().workspace().display();
    format!(
        "You are '{name}', role: {role}\n\
         You are a teammate in a team of agents. Each agent is a process of its own; you share the \
         workspace {workspace} and the team folder .team in it.\n\
         Rules of the team:\n\
         - Do what your prompt, your mail and your task ask, with your tools, in the workspace.\n\
         - Mail is shown to you by itself in <inbox> blocks. Answer people and colleagues with \
         send_message. Do not write to somebody who needs nothing from you.\n\
         - When you are done, end your turn with a short report. The lead gets it by itself.\n\
         - If you hold a task, set it to completed with task_update and say in result what came of it, \
         or release it.\n\
         - Before major work, or when you are told to, submit a plan with plan_approval and end your \
         turn; the decision comes by mail.\n\
         - Answer each shutdown_request with shutdown_response: approve unless you have work in hand \
         that would be lost.\n\
         - Never edit files below .team yourself."
    )
}

/// The system prompt with the state of the team now.
///
/// `open` is the held task and the shutdown requests that wait for an answer.
pub(crate) fn prompt(
    runtime: &MemberRuntime,
    name: &AgentName,
    system: &str,
    open: (Option<&Task>, &[RequestId]),
) -> Prompt {
    let (task, shutdowns) = open;
    let mut lines = Vec::new();
    if let Ok(roster) = runtime.team().roster() {
        let others = roster
            .members
            .iter()
            .filter(|member| !member.spec.name.same_as(name));
        let others: Vec<String> = others
            .map(|member| format!("{} ({})", member.spec.name, member.spec.role))
            .collect();
        let others = if others.is_empty() {
            "nobody else".to_owned()
        } else {
            others.join(", ")
        };
        lines.push(format!("Team {}: lead, you, {others}", roster.team_name.0));
    }
    if let Some(task) = task {
        lines.push(format!("Your task: #{}: {}", task.id, task.subject));
    }
    lines.extend(
        shutdowns.iter().map(|id| {
            format!("Shutdown request {id} waits for your answer: use shutdown_response.")
        }),
    );
    let gate = gate(runtime.team(), name, runtime.plan().as_ref());
    lines.extend(plan_line(&gate));
    lines.extend(read_only_line(runtime, &gate));
    let reminder = format!("<team-state>\n{}\n</team-state>", lines.join("\n"));
    Prompt {
        system: system.to_owned(),
        reminder: Some(reminder),
    }
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
            Some(format!("Your last plan was rejected: {feedback}"))
        }
    }
}
