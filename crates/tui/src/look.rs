//! One look at a team: everything that the screen shows of it but its history.

use crate::harmless::harmless;
use processes::MemberView;
use protocol::{
    AgentName, Incarnation, LiveState, Party, Phase, Recipient, Request, RequestId, RequestKind,
    Subject, Tally, Task, TaskId, TaskStatus, Timestamp,
};
use rules::MemberState;
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::{Liveness, TeamDir};

/// A team at one moment. All words in it are harmless.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// The name of the team.
    pub team: String,
    /// What the lead is doing, if it runs.
    pub lead: Option<&'static str>,
    /// How many lines of the lead's inbox are unread.
    pub lead_unread: usize,
    /// The members, in the order of the roster.
    pub members: Vec<MemberRow>,
    /// The tasks, by number.
    pub tasks: Vec<TaskRow>,
    /// The requests that wait for an answer, oldest first.
    pub requests: Vec<RequestRow>,
    /// What could not be looked at.
    pub problem: Option<String>,
}

/// A member.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRow {
    /// Its name.
    pub name: AgentName,
    /// Its role.
    pub role: String,
    /// Its state.
    pub state: MemberState,
    /// Why it is in that state, where there is something to say.
    pub reason: Option<String>,
    /// Its last life.
    pub incarnation: Incarnation,
    /// How many lines of its inbox are unread.
    pub unread: usize,
    /// The task it works on.
    pub task: Option<TaskId>,
    /// What it has used of its model.
    pub tokens: u64,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its number.
    pub id: TaskId,
    /// What is to be done.
    pub subject: String,
    /// How far it has come.
    pub status: TaskStatus,
    /// Who has it.
    pub owner: Option<String>,
    /// Whether it waits for another one.
    pub blocked: bool,
}

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    /// Its identifier.
    pub id: RequestId,
    /// Its kind.
    pub kind: RequestKind,
    /// Who asks.
    pub from: String,
    /// Who must answer.
    pub to: String,
    /// The plan, or the reason, line by line.
    pub text: Vec<String>,
    /// When it expires.
    pub deadline: Option<Timestamp>,
}

/// Looks at a team. What cannot be looked at is said in the result.
pub fn look(team: &TeamDir) -> Look {
    let mut look = Look::default();
    let mut problems = Vec::new();
    match team.roster() {
        Ok(roster) => look.team = harmless(&roster.team_name.0),
        Err(error) => problems.push(error.to_string()),
    }
    match processes::views(team) {
        Ok(views) => look.members = views.iter().map(member).collect(),
        Err(error) => problems.push(error.to_string()),
    }
    match team.tasks() {
        Ok(tasks) => look.tasks = board(tasks.into_iter().flatten().collect()),
        Err(error) => problems.push(error.to_string()),
    }
    match team::pending(team) {
        Ok(requests) => look.requests = requests.iter().map(request).collect(),
        Err(error) => problems.push(error.to_string()),
    }
    look.lead = lead(team);
    look.lead_unread = processes::unread(team, &Recipient::Lead).unwrap_or(0);
    look.problem = problems.first().map(|problem| harmless(problem));
    look
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
        MemberState::Failed { reason, .. } => Some(harmless(reason)),
        MemberState::Waiting { .. } => said(view.live.as_ref()),
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => None,
    };
    MemberRow {
        name: view.member.name.clone(),
        role: harmless(&view.member.role),
        state: view.state.clone(),
        reason: reason.filter(|reason| !reason.is_empty()),
        incarnation: view.member.incarnation,
        unread: view.unread,
        task: view.task,
        tokens: usage.map_or(0, Tally::tokens),
    }
}

fn said(live: Option<&LiveState>) -> Option<String> {
    live.and_then(|live| live.reason.as_deref()).map(harmless)
}

fn board(tasks: Vec<Arc<Task>>) -> Vec<TaskRow> {
    let done: BTreeMap<TaskId, bool> = tasks
        .iter()
        .map(|task| (task.id, task.status == TaskStatus::Completed))
        .collect();
    let is_open = |id: &TaskId| !done.get(id).copied().unwrap_or(false);
    let rows = tasks.iter().map(|task| TaskRow {
        id: task.id,
        subject: harmless(&task.subject),
        status: task.status,
        owner: task.owner.0.as_ref().map(|o| Party::as_str(o).to_owned()),
        blocked: task.status == TaskStatus::Pending && task.blocked_by.iter().any(is_open),
    });
    rows.collect()
}

fn request(request: &Request) -> RequestRow {
    let text = match &request.subject {
        Subject::Shutdown { reason, .. } => reason,
        Subject::Plan { plan, .. } => plan,
    };
    RequestRow {
        id: request.id.clone(),
        kind: request.kind(),
        from: request.from.as_str().to_owned(),
        to: request.to.as_str().to_owned(),
        text: text.lines().map(harmless).collect(),
        deadline: request.deadline,
    }
}
