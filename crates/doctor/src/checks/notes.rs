//! The check of the shared notes.

use crate::finding::{Finding, Kind};
use command::shell_word;
use teamdir::{PathError, TeamDir};

/// The most lines that the command for the notes names.
const MOST_LINES: usize = 100;

/// Finds lines that are not notes. Readers pass over them.
pub(super) fn check(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let broken = team.notes()?.broken;
    if broken.is_empty() {
        return Ok(Vec::new());
    }
    let path = team.layout().notes().display().to_string();
    let numbers = broken.iter().take(MOST_LINES);
    let deletions: Vec<String> = numbers.map(|number| format!("{number}d")).collect();
    let finding = Finding::manual(
        Kind::DamagedFile,
        path.as_str(),
        format!("{} lines are not notes", broken.len()),
        "Nobody is told what these lines say. The command removes them and keeps a copy of the file; \
         run it while no member works.",
        format!(
            "sed -i.damaged '{}' {}",
            deletions.join(";"),
            shell_word(&path)
        ),
    );
    Ok(vec![finding])
}
