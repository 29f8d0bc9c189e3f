//! The state of a team as JSON for the page, and what has changed between two states.

use overview::{MemberRow, RequestRow, Snapshot, Spending, TaskRow};
use protocol::{Activity, Subject, TaskStatus};
use rules::{MemberState, call_line};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most unfinished tasks that the page is told of by itself; the others are asked for.
const MAX_OPEN: usize = 400;
/// The same for completed ones, the newest.
const MAX_COMPLETED: usize = 60;

/// The state of a team as the page knows it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rows {
    team: String,
    /// Each table by its name, each row by its key.
    tables: BTreeMap<&'static str, BTreeMap<String, String>>,
}

impl Rows {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let members = snapshot.members.iter().enumerate();
        let members = members.map(|(at, row)| (row.name.to_string(), member(at, row)));
        let requests = snapshot.requests.iter().enumerate();
        let requests = requests.map(|(at, row)| (row.id.to_string(), request(at, row)));
        let tasks = shown_tasks(&snapshot.tasks).into_iter();
        let tasks = tasks.map(|row| (row.id.to_string(), task(row)));
        Self {
            team: team(snapshot).to_string(),
            tables: BTreeMap::from([
                ("members", text(members)),
                ("requests", text(requests)),
                ("tasks", text(tasks)),
            ]),
        }
    }

    /// Everything.
    pub(crate) fn full(&self) -> Map<String, Value> {
        self.changes(&Self::default())
    }

    /// What is not as it was before: new and changed rows, and the keys of those that are gone.
    pub(crate) fn changes(&self, before: &Self) -> Map<String, Value> {
        let mut changes = Map::new();
        if self.team != before.team {
            changes.insert("team".to_owned(), parsed(&self.team));
        }
        for (name, rows) in &self.tables {
            let nothing = BTreeMap::new();
            let old = before.tables.get(name).unwrap_or(&nothing);
            let set = rows.iter().filter(|(key, row)| old.get(*key) != Some(row));
            let set: Map<String, Value> =
                set.map(|(key, row)| (key.clone(), parsed(row))).collect();
            let gone = old.keys().filter(|key| !rows.contains_key(*key));
            let gone: Vec<&String> = gone.collect();
            if !set.is_empty() || !gone.is_empty() {
                let change = json!({"set": set, "gone": gone});
                changes.insert((*name).to_owned(), change);
            }
        }
        changes
    }
}

fn text(rows: impl Iterator<Item = (String, Value)>) -> BTreeMap<String, String> {
    rows.map(|(key, row)| (key, row.to_string())).collect()
}

fn parsed(row: &str) -> Value {
    serde_json::from_str(row).unwrap_or_default()
}

fn team(snapshot: &Snapshot) -> Value {
    let count = |status| {
        let tasks = snapshot.tasks.iter();
        tasks.filter(|task| task.status == status).count()
    };
    let pending = count(TaskStatus::Pending);
    let blocked = snapshot.tasks.iter();
    let blocked = blocked.filter(|task| task.status == TaskStatus::Pending && task.blocked);
    let blocked = blocked.count();
    json!({
        "name": snapshot.team,
        "folder": snapshot.folder,
        "lead": snapshot.lead,
        "lead_unread": snapshot.lead_unread,
        "spent": spending(&snapshot.spent),
        "problem": snapshot.problem,
        "tasks": {
            "pending": pending,
            "ready": pending - blocked,
            "blocked": blocked,
            "in_progress": count(TaskStatus::InProgress),
            "completed": count(TaskStatus::Completed),
        },
    })
}

fn spending(spent: &Spending) -> Value {
    json!({
        "tokens": spent.tokens,
        "cost": spent.cost,
        "has_unpriced": spent.has_unpriced,
        "max_tokens": spent.max_tokens,
        "max_cost": spent.max_cost,
    })
}

fn member(at: usize, row: &MemberRow) -> Value {
    let (activity, since, waiting_for) = match &row.state {
        MemberState::Starting { since } => (None, *since, None),
        MemberState::Working { activity, since } => (activity.as_ref(), Some(*since), None),
        MemberState::Waiting { what, since } => (None, Some(*since), *what),
        MemberState::Idle { since } | MemberState::Failed { since, .. } => {
            (None, Some(*since), None)
        }
        MemberState::Hung { activity, .. } => (activity.as_ref(), None, None),
        MemberState::GaveUp { .. } | MemberState::Dead { .. } | MemberState::Shutdown => {
            (None, None, None)
        }
    };
    json!({
        "at": at,
        "name": row.name,
        "role": row.role,
        "host": row.host,
        "state": row.state.word(),
        "alive": row.state.is_alive(),
        "waiting_for": waiting_for,
        "reason": row.reason,
        "doing": activity.map(doing),
        "since": activity.map(|activity| activity.since).or(since),
        "restarts": row.incarnation.0.saturating_sub(1),
        "pid": row.pid,
        "model": row.model,
        "unread": row.unread,
        "task": row.task,
        "todo": row.todo,
        "branch": row.branch,
        "submission": row.submission.map(|(id, status)| json!({"id": id, "status": status})),
        "spent": spending(&row.spent),
    })
}

/// The running call as people write it.
fn doing(activity: &Activity) -> String {
    match activity.name.as_str() {
        "model" => "asks its model".to_owned(),
        tool => call_line(tool, activity.argument.as_deref()),
    }
}

fn request(at: usize, row: &RequestRow) -> Value {
    let mut object = json!({
        "at": at,
        "id": row.id,
        "kind": row.kind,
        "waits_for_person": row.kind.waits_for_person(),
        "from": row.from,
        "to": row.to,
        "host": row.host,
        "sent": row.is_sent,
        "summary": row.summary,
        "text": row.text.join("\n"),
        "created": row.created_at,
        "deadline": row.deadline,
    });
    let more = match &row.subject {
        Subject::Permission(ask) => json!({
            "tool": ask.tool, "arguments": ask.arguments, "cwd": ask.cwd, "why": ask.why,
            "grants": ask.grants,
        }),
        Subject::Question(ask) => json!({
            "question": ask.question, "choices": ask.choices, "free_text": ask.free_text,
        }),
        Subject::Plan { plan, .. } => json!({"plan": plan}),
        Subject::Shutdown { reason, .. } => json!({"reason": reason}),
    };
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// The tasks that the page is told of: those in progress, those that are ready next, and the newest that are
/// done.
fn shown_tasks(tasks: &[TaskRow]) -> Vec<&TaskRow> {
    let of = |status| tasks.iter().filter(move |task| task.status == status);
    let mut open: Vec<&TaskRow> = of(TaskStatus::Pending).collect();
    open.sort_by_key(|task| (Reverse(task.priority), task.id));
    let in_progress = of(TaskStatus::InProgress);
    let mut shown: Vec<&TaskRow> = in_progress.chain(open).take(MAX_OPEN).collect();
    shown.extend(of(TaskStatus::Completed).rev().take(MAX_COMPLETED));
    shown
}

/// A task as a row of the board.
pub(crate) fn task(row: &TaskRow) -> Value {
    json!({
        "id": row.id,
        "subject": row.subject,
        "status": row.status,
        "owner": row.owner,
        "blocked": row.blocked,
        "blocked_by": row.blocked_by,
        "priority": row.priority,
        "role": row.role,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_team(name: &str) -> Snapshot {
        Snapshot {
            team: name.to_owned(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn only_what_has_changed_is_told() {
        let (first, second) = (Rows::of(&with_team("a")), Rows::of(&with_team("b")));
        assert!(first.changes(&first).is_empty());
        let changes = second.changes(&first);
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["team"]);
        assert_eq!(changes["team"]["name"], "b");
    }

    #[test]
    fn of_a_long_board_the_next_tasks_are_told() {
        let row = |id: u64| TaskRow {
            id: protocol::TaskId(id),
            subject: "x".to_owned(),
            status: match id % 3 {
                0 => TaskStatus::Completed,
                _ => TaskStatus::Pending,
            },
            owner: None,
            blocked: false,
            blocked_by: Vec::new(),
            priority: protocol::Priority::default(),
            role: None,
        };
        let tasks: Vec<TaskRow> = (1..=10_000).map(row).collect();
        let shown = shown_tasks(&tasks);
        assert_eq!(shown.len(), MAX_OPEN + MAX_COMPLETED);
        assert_eq!(shown[0].id, protocol::TaskId(1));
        assert_eq!(shown[MAX_OPEN].id, protocol::TaskId(9_999));
    }
}
