//! Examines a team folder that cannot be opened, because its roster cannot be read.

use crate::finding::{Finding, Fix, Kind};
use crate::fix::{Fixed, grant_access};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::RosterError;

/// Explains why a team cannot be opened. `None` for temporary causes, such as a held lock.
pub fn examine_unreadable_roster(error: &RosterError) -> Option<Finding> {
    match error {
        RosterError::Invalid { path, .. } => Some(not_a_roster(path, error.to_string())),
        RosterError::File(cause) if cause.refusal().is_some() => {
            Some(refused(cause.path(), error.to_string()))
        }
        RosterError::File(cause) => match cause.kind() {
            io::ErrorKind::PermissionDenied => Some(no_permission(cause.path(), error.to_string())),
            io::ErrorKind::NotFound => Some(missing(cause.path())),
            _ => None,
        },
        RosterError::Lock(_) | RosterError::Contested(_) => None,
    }
}

/// Makes the roster readable, if the owner only lacks a permission.
pub fn fix_unreadable_roster(finding: &Finding) -> Option<Fixed> {
    match &finding.fix {
        Some(Fix::GrantAccess(path)) => Some(Fixed {
            finding: finding.clone(),
            outcome: grant_access(path),
        }),
        Some(_) | None => None,
    }
}

fn not_a_roster(path: &Path, problem: String) -> Finding {
    let shown = path.display().to_string();
    Finding::manual(
        Kind::DamagedFile,
        &shown,
        problem,
        "It was edited by hand, or the disk failed. Running members continue, but no member can be \
         started or shown. Only a person knows what belongs in the roster.",
        format!("${{EDITOR:-vi}} {shown}"),
    )
}

fn refused(path: &Path, problem: String) -> Finding {
    let shown = path.display().to_string();
    Finding::manual(
        Kind::Misplaced,
        &shown,
        problem,
        "Somebody put something else in the place of the roster. Running members continue, but no \
         member can be started or shown.",
        format!("mv {shown} {shown}.moved"),
    )
}

fn missing(path: &Path) -> Finding {
    let shown = path.display().to_string();
    Finding::manual(
        Kind::NoAccess,
        &shown,
        format!("there is no {shown}"),
        "The roster was deleted. A copy of it restores the team; without one, the next command that \
         starts a member creates a new roster, and mail and journals are found by name.",
        "team-lead spawn NAME ROLE",
    )
}

/// The owner has no access to the file or to its folder.
fn no_permission(path: &Path, problem: String) -> Finding {
    let meaning = "The team cannot work with a file that it cannot read and write.";
    let ours = nix::unistd::geteuid().as_raw();
    let path_and_parent = [path.parent(), Some(path)].into_iter().flatten();
    let closed: Option<PathBuf> = path_and_parent
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
            let fix = Fix::GrantAccess(closed);
            Finding::automatic(Kind::NoAccess, shown, problem, meaning, fix)
        }
        None => {
            let command = crate::fix::chown_command(path);
            Finding::manual(Kind::ForeignOwner, shown, problem, meaning, command)
        }
    }
}
