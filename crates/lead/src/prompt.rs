//! The state of the team as the lead's model is told it.

use member::memory_lines;
use processes::member_views;
use prompts::one_line;
use protocol::{Recipient, TaskStatus, TextBlock};
use rules::request_line;
use team_tools::member_line;
use teamdir::TeamDir;

/// The most tasks, and the most requests, that a reminder lists.
const MAX_LISTED: usize = 30;

/// How things stand now: who is in the team, what waits for an answer, what is on the board.
pub(crate) fn reminder(team: &TeamDir) -> String {
    let memory = memory_lines(team, &Recipient::Lead);
    let rest = [requests(team), tasks(team), memory].concat();
    let members = members(team);
    if members.is_empty() && rest.is_empty() {
        return String::new();
    }
    let lines = [members, rest].concat();
    // Roles, names of tasks and notes are texts of others.
    TextBlock::new(lines.join("\n")).render("team-state")
}

fn members(team: &TeamDir) -> Vec<String> {
    match member_views(team) {
        Ok(views) if views.is_empty() => Vec::new(),
        Ok(views) => {
            let lines = views.iter().map(|view| {
                let mut line = format!("  {}", one_line(&member_line(view)));
                if let Some(task) = view.task {
                    line.push_str(&format!(", task #{task}"));
                }
                if view.unread > 0 {
                    line.push_str(&format!(", {} unread", view.unread));
                }
                line
            });
            let title = "Your teammates:".to_owned();
            std::iter::once(title).chain(lines).collect()
        }
        Err(error) => vec![format!("The team cannot be read: {error}")],
    }
}

fn requests(team: &TeamDir) -> Vec<String> {
    let pending = match team::all_pending(team) {
        Ok(pending) => pending,
        Err(error) => return vec![format!("The requests cannot be read: {error}")],
    };
    if pending.is_empty() {
        return Vec::new();
    }
    let title = "Pending requests:".to_owned();
    let lines = pending.iter().take(MAX_LISTED);
    let lines = lines.map(|request| format!("  {}", request_line(request)));
    let more = more("requests", pending.len());
    std::iter::once(title).chain(lines).chain(more).collect()
}

fn tasks(team: &TeamDir) -> Vec<String> {
    let board = match team::list(team) {
        Ok(list) => list.board,
        Err(error) => return vec![format!("The board cannot be read: {error}")],
    };
    let all = board.tasks().count();
    if all == 0 {
        return Vec::new();
    }
    let is_open = |task: &&protocol::Task| task.status != TaskStatus::Completed;
    let open = board.tasks().filter(is_open).count();
    let mut lines = vec![format!("Tasks ({} of {all} done):", all - open)];
    let shown = board.to_string();
    let shown = shown.lines().filter(|line| !line.starts_with("[x]"));
    lines.extend(shown.take(MAX_LISTED).map(|line| format!("  {line}")));
    lines.extend(more("tasks", open));
    lines
}

/// How many of these there are that are not listed. By the beginning of this line the agent knows that what is
/// missing in a list may still be there.
fn more(what: &str, all: usize) -> Option<String> {
    let more = all.saturating_sub(MAX_LISTED);
    (more > 0).then(|| format!("  More {what}: {more}"))
}
