//! Doing what the cures say.

use crate::finding::{Cure, Finding};
use crate::processes::end;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use teamdir::TeamDir;

/// What came of trying to cure a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cured<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Why it was not cured, if it was not.
    pub outcome: Result<(), String>,
}

/// Cures what can be cured without a person. Each cure looks again before it does anything.
pub fn cure<'a>(team: &TeamDir, findings: &'a [Finding]) -> Vec<Cured<'a>> {
    let mut repaired = None;
    let mut cured = Vec::new();
    for finding in findings {
        let outcome = match &finding.cure {
            None => continue,
            // Once for all of them: it deals with everything there is.
            Some(Cure::Repair) => repaired.get_or_insert_with(|| repair(team)).clone(),
            Some(Cure::Remove(leftover)) => {
                let removed = team.remove_leftover(leftover);
                removed.map(|_| ()).map_err(|error| error.to_string())
            }
            Some(Cure::Close(line)) => {
                let closed = team.close_line(line);
                closed.map(|_| ()).map_err(|error| error.to_string())
            }
            Some(Cure::Allow(path)) => allow(path),
            Some(Cure::End(stray)) => end(team, stray).map(|_| ()),
        };
        cured.push(Cured { finding, outcome });
    }
    cured
}

fn repair(team: &TeamDir) -> Result<(), String> {
    let repairs = crew::repair(team);
    match repairs.problems.is_empty() {
        true => Ok(()),
        false => Err(repairs.problems.join("; ")),
    }
}

/// Gives the owner the right to use what is his. Others get none by this.
fn allow(path: &Path) -> Result<(), String> {
    let allowed = fs::symlink_metadata(path).and_then(|metadata| {
        let needed = match metadata.is_dir() {
            true => 0o700,
            false => 0o600,
        };
        let mut rights = metadata.permissions();
        rights.set_mode(rights.mode() | needed);
        fs::set_permissions(path, rights)
    });
    allowed.map_err(|error| format!("cannot change {}: {error}", path.display()))
}
