//! A snapshot of a team: everything that the screen shows except the event log.

use crate::one_line;
use processes::MemberView;
use protocol::{
    AgentName, Incarnation, LiveState, Party, Phase, Recipient, Request, RequestId, RequestKind,
    Tally, Task, TaskId, TaskStatus, Timestamp,
};
use rules::{MemberState, subject_text};
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::{Liveness, TeamDir};

/// The state of a team at one moment. All texts are safe for a terminal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub team: String,
    /// The path of the team folder.
    pub folder: String,
    /// The phase of the lead, if it is running.
    pub lead: Option<&'static str>,
    pub lead_unread: usize,
    /// In the order of the roster.
    pub members: Vec<MemberRow>,
    /// Sorted by number.
    pub tasks: Vec<TaskRow>,
    /// The pending requests, oldest first.
    pub requests: Vec<RequestRow>,
    /// The first error while reading the team.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MemberRow {
    pub name: AgentName,
    pub role: String,
    pub state: MemberState,
    /// The reason for a failure or for waiting.
    pub reason: Option<String>,
    pub incarnation: Incarnation,
    pub unread: usize,
    pub task: Option<TaskId>,
    /// The to-do list in short, such as `2/5: run the tests`.
    pub todo: Option<String>,
    /// The branch of its own tree and its newest submission, as in `team/alice submission 3 checking`.
    pub own_work: Option<String>,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub subject: String,
    pub status: TaskStatus,
    pub owner: Option<String>,
    /// Whether a dependency is not completed.
    pub blocked: bool,
}

/// A pending request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    pub id: RequestId,
    pub kind: RequestKind,
    pub from: String,
    pub to: String,
    /// The lines of the plan or of the reason.
    pub text: Vec<String>,
    pub deadline: Option<Timestamp>,
}

/// Reads the state of a team. Errors are part of the result.
pub fn snapshot(team: &TeamDir) -> Snapshot {
    let mut snapshot = Snapshot {
        folder: one_line(&team.layout().root().display().to_string()),
        ..Snapshot::default()
    };
    let mut problems = Vec::new();
    match team.roster() {
        Ok(roster) => snapshot.team = one_line(&roster.team_name.0),
        Err(error) => problems.push(error.to_string()),
    }
    match processes::member_views(team) {
        Ok(views) => snapshot.members = views.iter().map(member).collect(),
        Err(error) => problems.push(error.to_string()),
    }
    match team.tasks() {
        Ok(tasks) => snapshot.tasks = board(tasks.into_iter().flatten().collect()),
        Err(error) => problems.push(error.to_string()),
    }
    match team::pending(team) {
        Ok(requests) => snapshot.requests = requests.iter().map(request).collect(),
        Err(error) => problems.push(error.to_string()),
    }
    snapshot.lead = lead(team);
    snapshot.lead_unread = processes::unread(team, &Recipient::Lead).unwrap_or(0);
    snapshot.problem = problems.first().map(|problem| one_line(problem));
    snapshot
}

fn lead(team: &TeamDir) -> Option<&'static str> {
    let Ok(Liveness::Alive(_)) = team.liveness(&Recipient::Lead) else {
        return None;
    };
    let live = team.live_state(&Recipient::Lead).ok().flatten();
    Some(live.map_or("starting", |live| match live.phase {
        Phase::Starting => "starting",
        Phase::Working => "working",
        Phase::Waiting => "waiting",
        Phase::Idle => "idle",
        Phase::Failed => "failed",
        Phase::Shutdown => "ending",
    }))
}

fn member(view: &MemberView) -> MemberRow {
    let usage = view.live.as_ref().and_then(|live| live.usage.as_ref());
    let reason = match &view.state {
        MemberState::Failed { reason, .. } | MemberState::GaveUp { reason } => {
            Some(one_line(reason))
        }
        MemberState::Waiting { .. } => live_reason(view.live.as_ref()),
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => None,
    };
    MemberRow {
        name: view.member.spec.name.clone(),
        role: one_line(&view.member.spec.role),
        state: view.state.clone(),
        reason: reason.filter(|reason| !reason.is_empty()),
        incarnation: view.member.incarnation,
        unread: view.unread,
        task: view.task,
        todo: view.todo.as_ref().map(|todo| one_line(&todo.to_string())),
        own_work: view.branch().map(|branch| match view.submission {
            Some((id, status)) => format!("{branch} submission {id} {status}"),
            None => branch,
        }),
        tokens: usage.map_or(0, Tally::tokens),
    }
}

fn live_reason(live: Option<&LiveState>) -> Option<String> {
    live.and_then(|live| live.reason.as_deref()).map(one_line)
}

fn board(tasks: Vec<Arc<Task>>) -> Vec<TaskRow> {
    let done: BTreeMap<TaskId, bool> = tasks
        .iter()
        .map(|task| (task.id, task.status == TaskStatus::Completed))
        .collect();
    let is_open = |id: &TaskId| !done.get(id).copied().unwrap_or(false);
    let rows = tasks.iter().map(|task| TaskRow {
        id: task.id,
        subject: one_line(&task.subject),
        status: task.status,
        owner: task.owner.0.as_ref().map(|o| Party::as_str(o).to_owned()),
        blocked: task.status == TaskStatus::Pending && task.blocked_by.iter().any(is_open),
    });
    rows.collect()
}

fn request(request: &Request) -> RequestRow {
    let text = subject_text(&request.subject);
    RequestRow {
        id: request.id.clone(),
        kind: request.kind(),
        from: request.from.as_str().to_owned(),
        to: request.to.as_str().to_owned(),
        text: text.lines().map(one_line).collect(),
        deadline: request.deadline,
    }
}
