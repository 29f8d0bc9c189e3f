//! What a model has to know of the place it works in.

use crate::git;
use protocol::Timestamp;
use std::path::Path;

/// The facts about a place, as lines. `sandbox` says what commands may do.
///
/// The date stands without the time of day: with it no two prompts would be the same.
pub(crate) fn facts(workspace: &Path, sandbox: &str, now: Timestamp) -> String {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let folder = workspace.display();
    let repository = match git::head(workspace) {
        Some(head) => format!("a git repository, {head}"),
        None => "no git repository".to_owned(),
    };
    let date = now.date();
    format!(
        "- Folder: {folder} ({repository} at the start). Everybody in the team works in it.\n\
         - System: {system} {machine}; commands run in bash; today is {date} (UTC).\n\
         - {sandbox}"
    )
}
