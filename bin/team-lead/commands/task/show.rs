//! `task list` and `task show`.

use super::{args as typed, failure};
use crate::cli::Args;
use crate::duration;
use crate::failure::Failure;
use crate::output::{indented, print, print_json};
use command::shell_word;
use protocol::{Task, TaskHistory, TaskId, TaskStatus, Timestamp};
use rules::board;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use team::MissingRole;
use teamdir::TeamDir;
use terminal_text::{clean, one_line};

pub(super) fn list(team: &TeamDir, args: &Args, command: &typed::List) -> Result<(), Failure> {
    let listed = team::list(team)?;
    note_copy(team, args);
    for error in &listed.broken {
        args.note(&format!("warning: {error}"));
    }
    let wanted = |task: &&Task| command.status.is_none_or(|status| status == task.status);
    let tasks: Vec<&Task> = listed.board.tasks().filter(wanted).collect();
    if args.json {
        let ready: BTreeSet<TaskId> = listed.board.ready().iter().map(|task| task.id).collect();
        let tasks: Vec<Value> = tasks
            .into_iter()
            .map(|task| with_ready(task, ready.contains(&task.id)))
            .collect();
        return print_json(&json!({"tasks": tasks}));
    }
    for missing in team::missing_roles(team, &listed.board)? {
        args.note(&missing_role(&missing));
    }
    if tasks.is_empty() {
        return print("No tasks.");
    }
    let lines = tasks
        .into_iter()
        .map(|task| board::line(task, &listed.board.open_blockers(task)))
        .map(|line| one_line(&line).into_owned());
    print(&lines.collect::<Vec<String>>().join("\n"))
}

/// Says whose board this is, if it is a copy.
pub(super) fn note_copy(team: &TeamDir, args: &Args) {
    if let Some(copy) = team::describe_copy(team) {
        args.note(&one_line(&copy));
    }
}

/// That nobody has a role, and the command that changes it.
pub(crate) fn missing_role(missing: &MissingRole) -> String {
    let role = shell_word(&missing.role);
    one_line(&format!("note: {missing}: team-lead spawn NAME {role}")).into_owned()
}

pub(super) fn show(team: &TeamDir, args: &Args, command: &typed::Show) -> Result<(), Failure> {
    let task = team::get(team, command.id);
    let task = task.map_err(|error| failure(&error, Some(command.id)))?;
    note_copy(team, args);
    if args.json {
        return print_json(&json!(task));
    }
    let board = team::list(team)?.board;
    print(&describe(
        &task,
        &board.open_blockers(&task),
        teamdir::now(),
    ))
}

fn with_ready(task: &Task, ready: bool) -> Value {
    let mut value = json!(task);
    value["ready"] = json!(ready);
    value
}

fn describe(task: &Task, open: &[TaskId], now: Timestamp) -> String {
    let mut lines = vec![one_line(&board::line(task, open)).into_owned()];
    lines.push(format!("  status: {}", status(task)));
    lines.push(format!("  priority: {}", task.priority.get()));
    if let Some(role) = &task.role {
        lines.push(format!("  role: {}", one_line(role)));
    }
    if !task.blocked_by.is_empty() {
        let shown = |id: &TaskId| {
            let state = if open.contains(id) { "open" } else { "done" };
            format!("#{id} ({state})")
        };
        let after: Vec<String> = task.blocked_by.iter().map(shown).collect();
        lines.push(format!("  after: {}", after.join(", ")));
    }
    for (title, text) in [
        ("description", Some(&task.description)),
        ("result", task.result.as_ref()),
    ] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            lines.push(format!("  {title}:\n{}", indented(text)));
        }
    }
    if !task.history.is_empty() {
        lines.push("  history:".to_owned());
        lines.extend(task.history.iter().map(|line| entry(line, now)));
    }
    lines.join("\n")
}

fn status(task: &Task) -> String {
    let word = task.status.as_str();
    match (&task.owner.0, task.owner_incarnation, task.status) {
        (None, _, _) => word.to_owned(),
        (Some(owner), Some(incarnation), TaskStatus::InProgress) => {
            format!("{word}, by {owner} (incarnation {incarnation})")
        }
        (Some(owner), _, TaskStatus::Pending) => format!("{word}, reserved for {owner}"),
        (Some(owner), _, TaskStatus::InProgress | TaskStatus::Completed) => {
            format!("{word}, by {owner}")
        }
    }
}

/// One entry of the history.
fn entry(line: &TaskHistory, now: Timestamp) -> String {
    let ago = duration::format(now.since(line.at));
    let action = one_line(&line.action);
    let text = format!("    {ago} ago: {action} by {}", line.by);
    match &line.note {
        Some(note) => format!("{text}: {}", clean(note).replace('\n', "\n      ")),
        None => text,
    }
}
