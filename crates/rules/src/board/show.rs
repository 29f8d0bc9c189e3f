//! The board as text.

use super::{Board, list};
use protocol::{Task, TaskId, TaskStatus};
use std::fmt;

/// One task on one line, such as `[ ] #2: Write code (blocked by: [1])`.
///
/// `open` are the dependencies that are not completed.
pub fn line(task: &Task, open: &[TaskId]) -> String {
    let mark = match task.status {
        TaskStatus::Pending => "[ ]",
        TaskStatus::InProgress => "[>]",
        TaskStatus::Completed => "[x]",
    };
    // A subject with a line break would look like two tasks.
    let subject: String = task.subject.chars().map(printable).collect();
    let mut line = format!("{mark} #{}: {subject}", task.id);
    if let Some(owner) = &task.owner.0 {
        line.push_str(&format!(" @{owner}"));
    }
    if !open.is_empty() && task.status == TaskStatus::Pending {
        line.push_str(&format!(" (blocked by: {})", list(open)));
    }
    line
}

fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// One line for each task by number, or `No tasks.`
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self
            .tasks()
            .map(|task| line(task, &self.open_blockers(task)));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            return f.write_str("No tasks.");
        }
        f.write_str(&lines.join("\n"))
    }
}
