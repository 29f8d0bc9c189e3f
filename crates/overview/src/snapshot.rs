//! A snapshot of a team: everything that the screen shows except the event log.

use crate::one_line;
use budget::Sum;
use processes::{HostView, MemberView};
use protocol::{
    AgentName, Budget, HostId, Incarnation, Money, Party, Phase, Priority, Recipient, Request,
    RequestId, RequestKind, Subject, SubmissionId, SubmissionStatus, Tally, Task, TaskId,
    TaskStatus, Timestamp,
};
use rules::{MemberState, call_line, main_argument, subject_text};
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::{Liveness, PathError, TeamDir};

/// The state of a team at one moment. All texts are safe for a terminal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub team: String,
    /// The path of the team folder.
    pub folder: String,
    /// The phase of the lead, if it is running on this host.
    pub lead: Option<&'static str>,
    /// The host that the lead is at home on, if it is another one.
    pub lead_host: Option<HostId>,
    pub lead_unread: usize,
    /// What everybody together has spent.
    pub spent: Spending,
    /// In the order of the roster.
    pub members: Vec<MemberRow>,
    /// The other hosts that something waits for, by name.
    pub waiting_hosts: Vec<HostView>,
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
    /// The host that it is at home on, if it is another one.
    pub host: Option<HostId>,
    pub state: MemberState,
    /// The reason for a failure or for waiting.
    pub reason: Option<String>,
    pub incarnation: Incarnation,
    /// Its running process.
    pub pid: Option<u32>,
    pub model: Option<String>,
    pub unread: usize,
    pub task: Option<TaskId>,
    /// The to-do list in short, such as `2/5: run the tests`.
    pub todo: Option<String>,
    /// The branch of its own tree, if it has one.
    pub branch: Option<String>,
    /// Its newest submission.
    pub submission: Option<(SubmissionId, SubmissionStatus)>,
    pub spent: Spending,
}

/// What was spent, and what may be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spending {
    pub tokens: u64,
    pub cost: Money,
    /// Whether the cost of some calls is not known.
    pub has_unpriced: bool,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<Money>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub subject: String,
    pub status: TaskStatus,
    pub owner: Option<String>,
    /// Whether a dependency is not completed.
    pub blocked: bool,
    pub blocked_by: Vec<TaskId>,
    pub priority: Priority,
    pub role: Option<String>,
}

/// A pending request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    pub id: RequestId,
    pub kind: RequestKind,
    pub from: String,
    pub to: String,
    /// The host that it is at home on, if it is another one.
    pub host: Option<HostId>,
    /// Whether it was answered here, which its home has yet to record.
    pub is_sent: bool,
    /// What is asked for, on one line.
    pub summary: String,
    /// The lines of the plan, the tool call, the question or the reason.
    pub text: Vec<String>,
    /// The same as it is in the file.
    pub subject: Subject,
    pub created_at: Timestamp,
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
        Ok(roster) => {
            snapshot.team = one_line(&roster.team_name.0);
            snapshot.lead_host.clone_from(&roster.lead_host);
        }
        Err(error) => problems.push(error.to_string()),
    }
    let budget = team.budget().unwrap_or_else(|error| {
        problems.push(error.to_string());
        Budget::default()
    });
    snapshot.spent = spending(&budget, None);
    match processes::member_views(team) {
        Ok(views) => {
            let rows = views.iter().map(|view| member(view, &budget));
            snapshot.members = rows.collect();
        }
        Err(error) => problems.push(error.to_string()),
    }
    match processes::host_views(team) {
        Ok(hosts) => {
            let waiting = hosts.into_iter().filter(|host| host.queued > 0);
            snapshot.waiting_hosts = waiting.collect();
        }
        Err(error) => problems.push(error.to_string()),
    }
    match board(team) {
        Ok(tasks) => snapshot.tasks = tasks,
        Err(error) => problems.push(error.to_string()),
    }
    match team::all_pending(team) {
        Ok(requests) => snapshot.requests = requests.iter().map(request).collect(),
        Err(error) => problems.push(error.to_string()),
    }
    snapshot.lead = match snapshot.lead_host {
        // Its lock is held here by the bridge.
        Some(_) => None,
        None => lead(team),
    };
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

fn spending(budget: &Budget, member: Option<&Recipient>) -> Spending {
    let sum = Sum::of(budget, member);
    let limits = budget.allowance(member).map(|allowance| &allowance.limits);
    Spending {
        tokens: sum.tokens,
        cost: sum.cost,
        has_unpriced: sum.unpriced > 0,
        max_tokens: limits.and_then(|limits| limits.max_tokens),
        max_cost: limits.and_then(|limits| limits.max_cost),
    }
}

fn member(view: &MemberView, budget: &Budget) -> MemberRow {
    let name = &view.member.spec.name;
    let mut spent = spending(budget, Some(&Recipient::Member(name.clone())));
    // Members that are other programs book nothing, but may tell what they use.
    let usage = view.live.as_ref().and_then(|live| live.usage.as_ref());
    spent.tokens = spent.tokens.max(usage.map_or(0, Tally::tokens));
    MemberRow {
        name: name.clone(),
        role: one_line(&view.member.spec.role),
        host: view.member.host.clone(),
        state: view.state.clone(),
        reason: view.reason().map(one_line),
        incarnation: view.member.incarnation,
        pid: view.holder.as_ref().map(|holder| holder.pid),
        model: view.member.spec.model.as_deref().map(one_line),
        unread: view.unread,
        task: view.task,
        todo: view.todo.as_ref().map(|todo| one_line(&todo.to_string())),
        branch: view.branch(),
        submission: view.submission,
        spent,
    }
}

/// The whole board, sorted by number. Files that are no tasks are left out.
pub fn board(team: &TeamDir) -> Result<Vec<TaskRow>, PathError> {
    let tasks: Vec<Arc<Task>> = team.tasks()?.into_iter().flatten().collect();
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
        blocked_by: task.blocked_by.clone(),
        priority: task.priority,
        role: task.role.as_deref().map(one_line),
    });
    Ok(rows.collect())
}

fn request(request: &Request) -> RequestRow {
    let text = subject_text(&request.subject);
    RequestRow {
        id: request.id.clone(),
        kind: request.kind(),
        from: request.from.as_str().to_owned(),
        to: request.to.as_str().to_owned(),
        host: request.host.clone(),
        is_sent: request.sent.is_some(),
        summary: one_line(&summary(&request.subject, &text)),
        text: text.lines().map(one_line).collect(),
        subject: request.subject.clone(),
        created_at: request.created_at,
        deadline: request.deadline,
    }
}

/// The tool call as a command, or the first line of the text.
fn summary(subject: &Subject, text: &str) -> String {
    if let Subject::Permission(ask) = subject {
        let argument = main_argument(&ask.arguments).map(|(_, text)| text);
        return call_line(&ask.tool, argument.as_deref());
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().unwrap_or_default().to_owned()
}
