//! Applies fixes.

use crate::clock::redate;
use crate::environment::{Environment, Trees};
use crate::finding::{Finding, Fix};
use crate::fix_error::FixError;
use crate::lock_holders::release_lock;
use crate::orphan_processes::end_orphan;
use integration::Integration;
use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::Path;
use std::time::{Duration, Instant};
use teamdir::{Repaired, TeamDir};

/// How long another process may take to reap a dead member.
const REAP_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An attempted fix.
#[derive(Debug)]
pub struct Fixed {
    pub finding: Finding,
    /// What was done, or why it failed.
    pub outcome: Result<String, FixError>,
}

/// Applies the fixes that need no decision of a person. Each fix checks again before it changes anything.
pub fn fix(team: &TeamDir, environment: &Environment, findings: &[Finding]) -> Vec<Fixed> {
    let mut repaired = None;
    let mut attempts = Vec::new();
    for finding in findings {
        let outcome = match &finding.fix {
            None => continue,
            // One repair fixes all findings of this kind.
            Some(Fix::Repair) => {
                let problems = repaired.get_or_insert_with(|| repair(team)).clone();
                repair_outcome(problems)
            }
            Some(fix) => apply(team, environment, fix),
        };
        attempts.push(Fixed {
            finding: finding.clone(),
            outcome,
        });
    }
    attempts
}

fn apply(team: &TeamDir, environment: &Environment, fix: &Fix) -> Result<String, FixError> {
    Ok(match fix {
        Fix::Repair => repair_outcome(repair(team))?,
        Fix::RemoveFile(leftover) => {
            team.remove_stale_file(leftover)?;
            "removed".to_owned()
        }
        Fix::CloseLine(line) => {
            team.finish_line(line)?;
            "the line is closed".to_owned()
        }
        Fix::GrantAccess(path) => grant_access(path)?,
        Fix::EndProcess(orphan) => match end_orphan(team, orphan)? {
            true => "ended".to_owned(),
            false => "it has ended or belongs to a member by now".to_owned(),
        },
        Fix::ReleaseLock(owner) => release_lock(team, owner)?,
        Fix::DeadLetters => trashed(team.trash_dead_letters()?),
        Fix::Task(path) => trashed(team.repair_task(path)?),
        Fix::Request(path) => trashed(team.trash_request(path)?),
        Fix::Journal(owner) => trashed(team.repair_journal(owner)?),
        Fix::Misplaced(path) => trashed(team.trash_misplaced(path)?),
        Fix::Chown { path, uid } => {
            lchown(path, Some(*uid), None).map_err(|cause| unchanged(path, cause))?;
            format!("it now belongs to user {uid}")
        }
        Fix::TakeOver(path) => {
            let taken = team.take_ownership(path);
            taken.map_err(|cause| FixError::TakeOver {
                path: path.clone(),
                cause,
            })?;
            "replaced by a copy that belongs to you".to_owned()
        }
        Fix::RaiseInotifyLimit(setting) => raise_inotify_limit(setting)?,
        Fix::Redate => redate(team)?,
        Fix::Submission(id) => trashed(trees(environment)?.restore_submission(*id)?),
        Fix::BrokenTree(name) => trashed(trees(environment)?.set_tree_aside(name)?),
        Fix::TreeWithoutMember(name) => {
            let removed = trees(environment)?.remove_tree(name, true)?;
            match removed.rescued.is_empty() {
                true => "removed; everything in it is in team/main".to_owned(),
                false => format!("removed; kept: {}", removed.rescued.join(", ")),
            }
        }
    })
}

/// The trees, which were usable when they were examined.
fn trees(environment: &Environment) -> Result<&Integration, FixError> {
    match &environment.trees {
        Trees::Usable(trees) => Ok(trees),
        Trees::None | Trees::Unusable(_) => Err(FixError::NoTrees),
    }
}

fn unchanged(path: &Path, cause: std::io::Error) -> FixError {
    FixError::Change {
        path: path.to_path_buf(),
        cause,
    }
}

/// The command with which a person takes over the ownership of a file.
pub(crate) fn chown_command(path: &Path) -> String {
    format!("sudo chown \"$(id -u)\" {}", path.display())
}

/// The number of inotify instances to set if `limit` is too low.
pub(crate) fn sufficient_instances(limit: u64) -> u64 {
    limit.saturating_mul(2).max(1024)
}

/// Whether a dead member has not been reaped yet.
fn has_unreaped(team: &TeamDir) -> bool {
    processes::member_views(team)
        .is_ok_and(|views| views.iter().any(processes::MemberView::is_unreaped))
}

/// Repairs what dead members left. Returns what could not be repaired.
fn repair(team: &TeamDir) -> Vec<String> {
    let began = Instant::now();
    let mut repairs = processes::repair(team);
    // Another process may be reaping a member right now.
    while has_unreaped(team) && began.elapsed() < REAP_LIMIT {
        std::thread::sleep(POLL_INTERVAL);
        repairs = processes::repair(team);
    }
    repairs.problems
}

fn repair_outcome(problems: Vec<String>) -> Result<String, FixError> {
    match problems.is_empty() {
        true => Ok("what dead members left behind is repaired".to_owned()),
        false => Err(FixError::Unrepaired(problems)),
    }
}

fn trashed(repaired: Option<Repaired>) -> String {
    match repaired {
        None => "it was already fixed".to_owned(),
        Some(Repaired {
            kept_in,
            is_in_place,
        }) => {
            let kept = format!("kept in {}", kept_in.display());
            match is_in_place {
                true => format!("the readable part stays in place; the damaged text is {kept}"),
                false => kept,
            }
        }
    }
}

/// Grants the owner of a file or folder access to it, and nobody else.
pub(crate) fn grant_access(path: &Path) -> Result<String, FixError> {
    let granted = fs::symlink_metadata(path).and_then(|metadata| {
        let needed = match metadata.is_dir() {
            true => 0o700,
            false => 0o600,
        };
        let mut permissions = metadata.permissions();
        permissions.set_mode(permissions.mode() | needed);
        fs::set_permissions(path, permissions)
    });
    granted
        .map(|()| "its owner now has access".to_owned())
        .map_err(|cause| unchanged(path, cause))
}

/// Raises the limit of inotify instances. It never lowers a limit that was raised in the meantime.
fn raise_inotify_limit(setting: &Path) -> Result<String, FixError> {
    let fail = |cause| unchanged(setting, cause);
    let text = fs::read_to_string(setting).map_err(fail)?;
    let now: u64 = text.trim().parse().unwrap_or(0);
    let wanted = sufficient_instances(now);
    fs::write(setting, format!("{wanted}\n")).map_err(fail)?;
    Ok(format!(
        "{wanted} are allowed until the system restarts; to make it permanent: \
         echo fs.inotify.max_user_instances={wanted} | sudo tee /etc/sysctl.d/60-team-lead.conf"
    ))
}
