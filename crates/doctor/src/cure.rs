//! Doing what the cures say.

use crate::clock::redate;
use crate::finding::{Cure, Finding};
use crate::holders::release;
use crate::processes::end;
use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::Path;
use std::time::{Duration, Instant};
use teamdir::{RepairError, Repaired, TeamDir};

/// How long somebody else may take to deal with a death.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What came of trying to cure a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cured {
    /// The finding.
    pub finding: Finding,
    /// What was done, or why it was not cured.
    pub outcome: Result<String, String>,
}

/// Cures what can be cured without a person. Each cure looks again before it does anything.
pub fn cure(team: &TeamDir, findings: &[Finding]) -> Vec<Cured> {
    let mut repaired = None;
    let mut cured = Vec::new();
    for finding in findings {
        let outcome = match &finding.cure {
            None => continue,
            // Once for all of them: it deals with everything there is.
            Some(Cure::Repair) => repaired.get_or_insert_with(|| repair(team)).clone(),
            Some(cure) => apply(team, cure),
        };
        cured.push(Cured {
            finding: finding.clone(),
            outcome,
        });
    }
    cured
}

fn apply(team: &TeamDir, cure: &Cure) -> Result<String, String> {
    match cure {
        Cure::Repair => repair(team),
        Cure::Remove(leftover) => team
            .remove_stale_file(leftover)
            .map(|_| "removed".to_owned())
            .map_err(|error| error.to_string()),
        Cure::Close(line) => team
            .finish_line(line)
            .map(|_| "the line is closed".to_owned())
            .map_err(|error| error.to_string()),
        Cure::Allow(path) => allow(path),
        Cure::End(stray) => end(team, stray).map(|ended| match ended {
            true => "ended".to_owned(),
            false => "it belongs to somebody by now, or is gone".to_owned(),
        }),
        Cure::Release(owner) => release(team, owner),
        Cure::DeadLetters => set_aside(team.trash_dead_letters()),
        Cure::Task(path) => set_aside(team.repair_task(path)),
        Cure::Request(path) => set_aside(team.trash_request(path)),
        Cure::Journal(owner) => set_aside(team.repair_journal(owner)),
        Cure::Folder(path) => set_aside(team.trash_folder(path)),
        Cure::Give { path, uid } => lchown(path, Some(*uid), None)
            .map(|()| format!("it belongs to user {uid} now"))
            .map_err(|error| format!("cannot change {}: {error}", path.display())),
        Cure::TakeOver(path) => team
            .take_ownership(path)
            .map(|_| "a copy that is yours has its place now".to_owned())
            .map_err(|error| format!("{error}; {}", give_by_hand(path))),
        Cure::Raise(setting) => raise(setting),
        Cure::Redate => redate(team),
    }
}

/// How a person gives a file to himself.
pub(crate) fn give_by_hand(path: &Path) -> String {
    format!("sudo chown \"$(id -u)\" {}", path.display())
}

/// How many notification instances are plenty where so many are too few.
pub(crate) fn enough(limit: u64) -> u64 {
    limit.saturating_mul(2).max(1024)
}

/// Whether a death is not dealt with yet.
fn is_reaping(team: &TeamDir) -> bool {
    processes::views(team).is_ok_and(|views| views.iter().any(processes::MemberView::is_unreaped))
}

fn repair(team: &TeamDir) -> Result<String, String> {
    let began = Instant::now();
    let mut repairs = processes::repair(team);
    // Somebody else may be dealing with a death at this moment, and it is his to finish.
    while is_reaping(team) && began.elapsed() < PATIENCE {
        std::thread::sleep(LOOK_AGAIN);
        repairs = processes::repair(team);
    }
    match repairs.problems.is_empty() {
        true => Ok("what the dead left is set right".to_owned()),
        false => Err(repairs.problems.join("; ")),
    }
}

fn set_aside(mended: Result<Option<Repaired>, RepairError>) -> Result<String, String> {
    match mended.map_err(|error| error.to_string())? {
        None => Ok("it was in order by then".to_owned()),
        Some(Repaired {
            kept_in,
            is_in_place,
        }) => {
            let kept = format!("kept in {}", kept_in.display());
            Ok(match is_in_place {
                true => format!("what can be read stays in its place; the damaged text is {kept}"),
                false => kept,
            })
        }
    }
}

/// Gives the owner the right to use what is his. Others get none by this.
pub(crate) fn allow(path: &Path) -> Result<String, String> {
    let allowed = fs::symlink_metadata(path).and_then(|metadata| {
        let needed = match metadata.is_dir() {
            true => 0o700,
            false => 0o600,
        };
        let mut rights = metadata.permissions();
        rights.set_mode(rights.mode() | needed);
        fs::set_permissions(path, rights)
    });
    allowed
        .map(|()| "its owner may use it now".to_owned())
        .map_err(|error| format!("cannot change {}: {error}", path.display()))
}

/// Allows more notification instances. Only ever more: somebody may have raised it meanwhile.
fn raise(setting: &Path) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("cannot change {}: {error}", setting.display());
    let text = fs::read_to_string(setting).map_err(fail)?;
    let now: u64 = text.trim().parse().unwrap_or(0);
    let wanted = enough(now);
    fs::write(setting, format!("{wanted}\n")).map_err(fail)?;
    Ok(format!(
        "{wanted} are allowed until the system starts anew; to make it last: \
         echo fs.inotify.max_user_instances={wanted} | sudo tee /etc/sysctl.d/60-team-lead.conf"
    ))
}
