//! A team folder that cannot be opened at all, because its roster cannot be read.

use crate::cure::{Cured, allow};
use crate::finding::{Cure, Finding, Kind};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::RosterError;

/// Why a team cannot be opened. `None` for what passes by itself, such as a lock that is held.
pub fn examine_door(error: &RosterError) -> Option<Finding> {
    match error {
        RosterError::Invalid { path, .. } => Some(not_a_roster(path, error.to_string())),
        RosterError::File(cause) => match cause.kind() {
            io::ErrorKind::PermissionDenied => Some(locked(cause.path(), error.to_string())),
            io::ErrorKind::NotFound => Some(missing(cause.path())),
            _ => None,
        },
        RosterError::Lock(_) | RosterError::Contested(_) => None,
    }
}

/// Opens the door, if that takes no more than a right that is ours to give.
pub fn open_door(finding: &Finding) -> Option<Cured> {
    match &finding.cure {
        Some(Cure::Allow(path)) => Some(Cured {
            finding: finding.clone(),
            outcome: allow(path),
        }),
        Some(_) | None => None,
    }
}

fn not_a_roster(path: &Path, problem: String) -> Finding {
    let shown = path.display().to_string();
    Finding::for_a_person(
        Kind::DamagedFile,
        &shown,
        problem,
        "It was edited by hand, or the disk failed. Members that run go on, and nobody can be started \
         or looked at. Who may do what in the team only a person knows, so nothing is made up.",
        format!("${{EDITOR:-vi}} {shown}"),
    )
}

fn missing(path: &Path) -> Finding {
    let shown = path.display().to_string();
    Finding::for_a_person(
        Kind::NoAccess,
        &shown,
        format!("there is no {shown}"),
        "Somebody deleted the roster. A copy of it brings the team back; without one the next command \
         that starts a member begins a new roster, and mail and journals are found by name.",
        "team-lead spawn NAME ROLE",
    )
}

/// The file, or a folder on the way to it, keeps even its owner out.
fn locked(path: &Path, problem: String) -> Finding {
    let meaning = "The team cannot work with a file that it cannot read and write.";
    let ours = rustix::process::geteuid().as_raw();
    let on_the_way = [path.parent(), Some(path)].into_iter().flatten();
    let closed: Option<PathBuf> = on_the_way
        .filter(|path| {
            let found = fs::symlink_metadata(path);
            let needed = match path.is_dir() {
                true => 0o700,
                false => 0o600,
            };
            found.is_ok_and(|found| found.uid() == ours && found.mode() & needed != needed)
        })
        .map(Path::to_path_buf)
        .next();
    let shown = path.display().to_string();
    match closed {
        Some(closed) => {
            let cure = Cure::Allow(closed);
            Finding::with_cure(Kind::NoAccess, shown, problem, meaning, cure)
        }
        None => {
            let fix = crate::cure::give_by_hand(path);
            Finding::for_a_person(Kind::ForeignOwner, shown, problem, meaning, fix)
        }
    }
}
