//! What a member is reminded of besides the state of the team: its own to-do list and the newest notes.

use protocol::{Recipient, TodoItem};
use team::newest_note_lines;
use teamdir::TeamDir;

/// The open items of the member's to-do list and the newest notes of the team, as lines for its model. They
/// are read from the disk for each request, so that neither a restart nor a compaction loses them.
pub fn memory_lines(team: &TeamDir, owner: &Recipient) -> Vec<String> {
    let mut lines = Vec::new();
    // A list that cannot be read is replaced when the member writes the next one.
    if let Ok(list) = team.todo_list(owner) {
        let open: Vec<&TodoItem> = list.open().collect();
        if !open.is_empty() {
            let done = list.items.len() - open.len();
            lines.push(format!("Your to-do list ({done} done):"));
            lines.extend(open.iter().map(|item| format!("  {item}")));
        }
    }
    let notes = newest_note_lines(team);
    if !notes.is_empty() {
        lines.push("Newest notes of the team (the tool notes has all):".to_owned());
        lines.extend(notes.iter().map(|note| format!("  - {note}")));
    }
    lines
}
