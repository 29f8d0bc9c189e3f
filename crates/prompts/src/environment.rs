//! What a model has to know of the place it works in.

use crate::git;
use protocol::Timestamp;
use std::path::Path;

/// The facts about a place, as lines. `sandbox` says what commands may do.
///
/// The date stands without the time of day: with it no two prompts would be the same.
///
/// `is_own` says that nobody else works in the folder.
pub(crate) fn facts(workspace: &Path, is_own: bool, sandbox: &str, now: Timestamp) -> String {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let folder = workspace.display();
    let repository = match git::head(workspace) {
        Some(head) => format!("a git repository, {head}"),
        None => "no git repository".to_owned(),
    };
    let shared = match is_own {
        true => {
            "It is yours alone: commit your work there with git, and call submit when a part of it is done. \
             The branch team/main has what was merged of everybody's work."
        }
        false => "Everybody in the team works in it.",
    };
    let date = now.date();
    format!(
        "- Folder: {folder} ({repository} at the start). {shared}\n\
         - System: {system} {machine}; commands run in bash; today is {date} (UTC).\n\
         - {sandbox}"
    )
}
