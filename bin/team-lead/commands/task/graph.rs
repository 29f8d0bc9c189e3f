//! `task graph`: the dependencies between tasks as text, Graphviz or Mermaid.

use super::args::{Format, Graph};
use crate::cli::Args;
use crate::failure::Failure;
use crate::output::{print, print_json};
use protocol::{Task, TaskId, TaskStatus};
use rules::{Board, board};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use teamdir::TeamDir;

pub(super) fn show(team: &TeamDir, args: &Args, command: &Graph) -> Result<(), Failure> {
    let listed = team::list(team)?;
    super::show::note_copy(team, args);
    for error in &listed.broken {
        args.note(&format!("warning: {error}"));
    }
    let board = &listed.board;
    if args.json {
        return print_json(&object(board));
    }
    print(&match command.format {
        Format::Text => text(board),
        Format::Dot => dot(board),
        Format::Mermaid => mermaid(board),
    })
}

/// The dependencies, each from the blocking task to the blocked one.
fn edges(board: &Board) -> impl Iterator<Item = (TaskId, TaskId)> {
    board
        .tasks()
        .flat_map(|task| task.blocked_by.iter().map(|from| (*from, task.id)))
}

/// Tasks that others depend on and that do not exist.
fn missing(board: &Board) -> BTreeSet<TaskId> {
    let from = edges(board).map(|(from, _)| from);
    from.filter(|id| board.get(*id).is_err()).collect()
}

fn object(board: &Board) -> Value {
    let node = |task: &Task| json!({"id": task.id, "subject": task.subject, "status": task.status, "owner": task.owner});
    let edge = |(from, to): (TaskId, TaskId)| json!({"from": from, "to": to});
    json!({
        "nodes": board.tasks().map(node).collect::<Vec<Value>>(),
        "edges": edges(board).map(edge).collect::<Vec<Value>>(),
    })
}

/// The earliest step in which each task can be done: one after the last of its dependencies. A task
/// that can never be done has none.
fn steps(board: &Board) -> BTreeMap<TaskId, usize> {
    let mut waiting: BTreeMap<TaskId, BTreeSet<TaskId>> = BTreeMap::new();
    let mut dependents: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for task in board.tasks() {
        waiting.insert(task.id, task.blocked_by.iter().copied().collect());
    }
    for (from, to) in edges(board) {
        dependents.entry(from).or_default().push(to);
    }
    let free = waiting.iter().filter(|(_, after)| after.is_empty());
    let mut now: Vec<TaskId> = free.map(|(id, _)| *id).collect();
    let mut steps = BTreeMap::new();
    let mut step = 1;
    while !now.is_empty() {
        let mut next = Vec::new();
        for done in now {
            steps.insert(done, step);
            for to in dependents.get(&done).into_iter().flatten() {
                let after = waiting.get_mut(to);
                // A dependency that is listed twice must not count twice.
                if after.is_some_and(|after| after.remove(&done) && after.is_empty()) {
                    next.push(*to);
                }
            }
        }
        now = next;
        step += 1;
    }
    steps
}

fn text(board: &Board) -> String {
    let steps = steps(board);
    let mut parts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for task in board.tasks() {
        let step = steps.get(&task.id).copied().unwrap_or(usize::MAX);
        let after: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
        let mut line = format!("  {}", board::line(task, &[]));
        if !after.is_empty() {
            line.push_str(&format!("  <- {}", after.join(", ")));
        }
        parts.entry(step).or_default().push(line);
    }
    if parts.is_empty() {
        return "No tasks.".to_owned();
    }
    let part = |(step, lines): (usize, Vec<String>)| {
        let title = match step {
            usize::MAX => "Never: a dependency is missing or circular".to_owned(),
            step => format!("Step {step}"),
        };
        format!("{title}\n{}", lines.join("\n"))
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join("\n")
}

/// The label of a task.
fn label(task: &Task) -> String {
    let owner = task.owner.0.as_ref();
    let owner = owner.map(|owner| format!(" @{owner}")).unwrap_or_default();
    let subject = task.subject.replace(|c: char| c.is_control(), " ");
    format!("#{}: {subject}{owner}", task.id)
}

const fn colour(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "#ffffff",
        TaskStatus::InProgress => "#fff3c4",
        TaskStatus::Completed => "#d8f0d8",
    }
}

fn dot(board: &Board) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut lines = vec![
        "digraph tasks {".to_owned(),
        "  rankdir=LR;".to_owned(),
        "  node [shape=box, style=\"rounded,filled\"];".to_owned(),
    ];
    lines.extend(board.tasks().map(|task| {
        let (id, label, colour) = (task.id, quoted(&label(task)), colour(task.status));
        format!("  t{id} [label=\"{label}\", fillcolor=\"{colour}\"];")
    }));
    let gone = missing(board).into_iter();
    lines.extend(gone.map(|id| format!("  t{id} [label=\"#{id} is missing\", style=dashed];")));
    lines.extend(edges(board).map(|(from, to)| format!("  t{from} -> t{to};")));
    lines.push("}".to_owned());
    lines.join("\n")
}

fn mermaid(board: &Board) -> String {
    let class = |status: TaskStatus| match status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "progress",
        TaskStatus::Completed => "completed",
    };
    let mut lines = vec!["graph LR".to_owned()];
    lines.extend(board.tasks().map(|task| {
        let (id, label, class) = (task.id, entities(&label(task)), class(task.status));
        format!("  t{id}[\"{label}\"]:::{class}")
    }));
    let gone = missing(board).into_iter();
    lines.extend(gone.map(|id| format!("  t{id}[\"#35;{id} is missing\"]")));
    lines.extend(edges(board).map(|(from, to)| format!("  t{from} --> t{to}")));
    for status in [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
    ] {
        let (class, colour) = (class(status), colour(status));
        lines.push(format!("  classDef {class} fill:{colour},stroke:#888"));
    }
    lines.join("\n")
}

/// Escapes the characters that have a meaning in Mermaid.
fn entities(text: &str) -> String {
    let escaped = |c: char| match c {
        '#' => "#35;".to_owned(),
        '"' => "#quot;".to_owned(),
        '<' => "#lt;".to_owned(),
        '>' => "#gt;".to_owned(),
        '&' => "#amp;".to_owned(),
        _ => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64, subject: &str, after: &[u64]) -> Task {
        let mut task = Task::new(TaskId(id), subject);
        task.blocked_by = after.iter().copied().map(TaskId).collect();
        task
    }

    #[test]
    fn steps_follow_the_dependencies() {
        let board: Board = [
            task(1, "Setup", &[]),
            task(2, "Code", &[1, 1]),
            task(3, "Docs", &[1]),
            task(4, "Ship", &[2, 3]),
            task(5, "Never", &[9]),
            task(6, "This", &[7]),
            task(7, "That", &[6]),
        ]
        .into_iter()
        .collect();
        let shown = text(&board);
        let wanted = "Step 1\n  [ ] #1: Setup\nStep 2\n  [ ] #2: Code  <- #1, #1\n  [ ] #3: Docs  <- #1\n\
            Step 3\n  [ ] #4: Ship  <- #2, #3\n\
            Never: a dependency is missing or circular\n  [ ] #5: Never  <- #9\n  \
            [ ] #6: This  <- #7\n  [ ] #7: That  <- #6";
        assert_eq!(shown, wanted);
        assert_eq!(text(&Board::default()), "No tasks.");
        assert!(dot(&board).contains("t9 [label=\"#9 is missing\""));
    }

    #[test]
    fn subjects_are_escaped() {
        let board: Board = [task(1, "say \"hi\\\" <b>\n#x;", &[])]
            .into_iter()
            .collect();
        let wanted = r##"t1 [label="#1: say \"hi\\\" <b> #x;", fillcolor="#ffffff"];"##;
        assert!(dot(&board).contains(wanted), "{}", dot(&board));
        let wanted = "t1[\"#35;1: say #quot;hi\\#quot; #lt;b#gt; #35;x;\"]:::pending";
        assert!(mermaid(&board).contains(wanted), "{}", mermaid(&board));
    }
}
