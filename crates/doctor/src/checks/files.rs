//! Checks of files: permissions, owners, leftovers, damage.

use super::{follows, misplaced, no_access, notes, or_no_access};
use crate::environment::Environment;
use crate::finding::{Finding, Fix, Kind};
use crate::fix::chown_command;
use protocol::{JournalLine, Recipient};
use safe_open::{Folder, Links};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use teamdir::{LogFile, PathError, RequestError, StaleFileKind, TaskError, TeamDir, TeamFileError};

/// The permissions that the owner needs.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

pub(super) fn check(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut permissions = Permissions {
        team,
        me: environment.uid,
        owner: owner(team, environment.uid),
        findings: Vec::new(),
    };
    permissions.walk(team.layout().root());
    findings.append(&mut permissions.findings);
    let mut damage = or_no_access(temporary(team));
    damage.extend(or_no_access(unfinished_lines(team)));
    damage.extend(or_no_access(dead_letters(team)));
    damage.extend(journals(team));
    damage.extend(or_no_access(tasks(team)));
    damage.extend(or_no_access(requests(team)));
    damage.extend(ledgers(team));
    damage.extend(or_no_access(notes::check(team)));
    damage.retain(|finding| !findings.iter().any(|cause| follows(finding, cause)));
    findings.extend(damage);
    findings
}

/// The expected owner of the files: for root the owner of the folder, otherwise the user.
fn owner(team: &TeamDir, me: u32) -> u32 {
    let folder = fs::metadata(team.layout().root()).map(|folder| folder.uid());
    match (me, folder) {
        (0, Ok(owner)) => owner,
        (me, _) => me,
    }
}

/// Checks owners and permissions of all files.
struct Permissions<'a> {
    team: &'a TeamDir,
    me: u32,
    owner: u32,
    findings: Vec<Finding>,
}

impl Permissions<'_> {
    fn walk(&mut self, path: &Path) {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            // The team keeps running during the check.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.findings.push(unreadable(path, &error)),
        };
        let layout = self.team.layout();
        // The trash is not checked.
        if path == layout.trash() {
            return;
        }
        if !metadata.is_file() && !metadata.is_dir() {
            if self.is_ours(path) {
                let found = safe_open::Kind::of(metadata.file_type());
                self.findings.push(self.in_its_place(path, found));
            }
            return;
        }
        if metadata.is_file() && metadata.nlink() > 1 && self.is_ours(path) {
            self.findings.push(self.several_names(path));
        }
        self.findings.extend(self.check_one(path, &metadata));
        // What is in repositories is git's, which makes files read-only.
        let is_repository = path == layout.neutral_git() || path == layout.trees_dir();
        if !metadata.is_dir() || is_repository {
            return;
        }
        let listed = Folder::open(path, Links::Refuse).map_err(io::Error::from);
        match listed.and_then(|folder| names(&folder)) {
            Ok(names) => {
                let mut paths: Vec<_> = names.iter().map(|name| path.join(name)).collect();
                paths.sort();
                paths.iter().for_each(|path| self.walk(path));
            }
            // Reported by `check_one`.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => self.findings.push(unreadable(path, &error)),
        }
    }

    /// Whether a path is one that the team itself uses. What others keep in folders of their own is
    /// theirs.
    fn is_ours(&self, path: &Path) -> bool {
        let layout = self.team.layout();
        let more = [layout.commands_dir(), layout.submissions_dir()];
        let mut folders = layout.folders().into_iter().chain(more);
        path.parent() == Some(layout.root()) || folders.any(|ours| path.starts_with(ours))
    }

    fn in_its_place(&self, path: &Path, found: safe_open::Kind) -> Finding {
        let layout = self.team.layout();
        let finding = misplaced(path, found);
        if path != layout.budget() && path != layout.limits() {
            return finding;
        }
        // Without it everything would be allowed.
        let shown = path.display();
        Finding {
            command: format!("mv {shown} {shown}.moved"),
            fix: None,
            ..finding
        }
    }

    fn several_names(&self, path: &Path) -> Finding {
        let shown = path.display().to_string();
        let problem = format!("{shown} has other names (hard links)");
        let meaning = "Who changes it under another name changes the team, and the team does not write to \
                       it. A backup of the folder that made links instead of copies does this too.";
        let kind = Kind::SeveralNames;
        match self.team.can_take_ownership(path) {
            true => {
                let fix = Fix::TakeOver(path.to_path_buf());
                Finding::automatic(kind, shown, problem, meaning, fix)
            }
            // Other processes may have it open.
            false => {
                let command = format!("cp -p {shown} {shown}.copy && mv {shown}.copy {shown}");
                Finding::manual(kind, shown, problem, meaning, command)
            }
        }
    }

    fn check_one(&self, path: &Path, metadata: &Metadata) -> Option<Finding> {
        if metadata.uid() != self.owner {
            return Some(self.foreign(path, metadata.uid()));
        }
        let shown = path.display().to_string();
        let needed = if metadata.is_dir() {
            FOLDER_MODE
        } else {
            FILE_MODE
        };
        (metadata.mode() & needed != needed).then(|| {
            Finding::automatic(
                Kind::NoAccess,
                &shown,
                format!("{shown} is not readable and writable for its owner"),
                "The team cannot work with a file that it cannot read and write.",
                Fix::GrantAccess(path.to_path_buf()),
            )
        })
    }

    fn foreign(&self, path: &Path, uid: u32) -> Finding {
        let shown = path.display().to_string();
        let problem = format!("{shown} belongs to user {uid}");
        let meaning = "A member was run as another user, often as root. Members of this user may not \
                       be able to change the file.";
        let path = path.to_path_buf();
        let fix = match self.me {
            0 => Fix::Chown {
                path,
                uid: self.owner,
            },
            _ if self.team.can_take_ownership(&path) => Fix::TakeOver(path),
            // Other processes may have it open, and only root can change its owner in place.
            _ => {
                let command = chown_command(&path);
                return Finding::manual(Kind::ForeignOwner, shown, problem, meaning, command);
            }
        };
        Finding::automatic(Kind::ForeignOwner, shown, problem, meaning, fix)
    }
}

fn names(folder: &Folder) -> io::Result<Vec<OsString>> {
    let names = folder.list()?.flatten().map(|entry| entry.file_name());
    Ok(names.collect())
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let shown = path.display().to_string();
    Finding::manual(
        Kind::NoAccess,
        &shown,
        format!("cannot read {shown}: {error}"),
        "The team cannot work with a file that it cannot read.",
        format!("ls -ld {shown}"),
    )
}

fn temporary(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let files = team.abandoned_files()?.into_iter();
    let found = files.map(|leftover| {
        let shown = leftover.path.display().to_string();
        let meaning = match &leftover.kind {
            StaleFileKind::CheckTree => {
                "A process was killed while it checked a submission, which is still in the queue. \
                 Nobody has worked in the checkout."
            }
            StaleFileKind::UnfinishedTree(_) => {
                "A process was killed while it made a tree. Nobody has worked in it."
            }
            StaleFileKind::Temporary
            | StaleFileKind::ReadMail(_)
            | StaleFileKind::LogOrOutput(_)
            | StaleFileKind::OldEvents(_)
            | StaleFileKind::OldDeadLetters(_)
            | StaleFileKind::OldTrash(_)
            | StaleFileKind::OldLog(..)
            | StaleFileKind::OldConversation(..) => {
                "A process was killed while it wrote. The file that it meant to replace is unchanged."
            }
        };
        Finding::automatic(
            Kind::TemporaryFile,
            &shown,
            format!("{shown} was left behind"),
            meaning,
            Fix::RemoveFile(leftover),
        )
    });
    Ok(found.collect())
}

fn unfinished_lines(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let lines = team.unfinished_lines()?.into_iter();
    let found = lines.map(|line| {
        let shown = line.path.display().to_string();
        let meaning = match &line.place {
            LogFile::Inbox(_) => {
                "A sender was killed while it wrote, or left out the newline. The line is not read \
                 before it is closed; if it is not a message, it then becomes a dead letter."
            }
            LogFile::Events | LogFile::Notes | LogFile::DeadLetters => {
                "A process was killed while it wrote. The line is skipped, and the next one \
                 closes it."
            }
        };
        Finding::automatic(
            Kind::UnfinishedLine,
            &shown,
            format!("{shown} ends in the middle of a line"),
            meaning,
            Fix::CloseLine(line),
        )
    });
    Ok(found.collect())
}

fn dead_letters(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let mut count = 0;
    let mut last = None;
    team.read_dead_letters(|dead_letter| {
        count += 1;
        last = Some(dead_letter);
    })?;
    let found = last.map(|last| {
        let path = team.layout().dead_letters();
        let shown = path.display().to_string();
        Finding::automatic(
            Kind::DeadLetters,
            &shown,
            format!(
                "{count} lines could not be delivered; the last was for '{}': {}",
                last.inbox, last.reason
            ),
            "Each is kept as it was written, with the reason. Known senders were notified. None is \
             sent again, because it may be outdated: read them in the trash.",
            Fix::DeadLetters,
        )
    });
    Ok(found.into_iter().collect())
}

fn journals(team: &TeamDir) -> Vec<Finding> {
    let roster = team.roster().map(|roster| roster.members.clone());
    let names = roster.into_iter().flatten().map(|member| member.spec.name);
    let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
    let checks = [damaged_journal, split_journal];
    owners
        .flat_map(|owner| checks.map(|check| check(team, &owner)))
        .filter_map(|found| found.unwrap_or_else(|error| Some(no_access(&error))))
        .collect()
}

fn split_journal(team: &TeamDir, owner: &Recipient) -> Result<Option<Finding>, PathError> {
    let count = team.split_records(owner)?;
    let path = team.layout().transcript(owner).display().to_string();
    Ok((count > 0).then(|| {
        Finding::automatic(
            Kind::SplitJournal,
            &path,
            format!("{count} records of the journal of '{owner}' are written over several lines"),
            "An older program wrote JSON of a model with its line breaks. The records are read as they \
             were meant, but other programs cannot read them. Joined, each is on one line; the lines \
             as they were are kept in the trash.",
            Fix::Journal(owner.clone()),
        )
    }))
}

fn damaged_journal(team: &TeamDir, owner: &Recipient) -> Result<Option<Finding>, PathError> {
    let (mut number, mut bad) = (0_u64, Vec::new());
    team.read_journal(owner, |_, line| {
        number += 1;
        match line {
            JournalLine::Known(_) | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => bad.push((number, reason)),
        }
    })?;
    let Some((first, reason)) = bad.first() else {
        return Ok(None);
    };
    let path = team.layout().transcript(owner).display().to_string();
    Ok(Some(Finding::automatic(
        Kind::DamagedJournal,
        &path,
        format!(
            "{} lines of the journal of '{owner}' are not records, the first is line {first}: \
             {reason}",
            bad.len()
        ),
        "Another program wrote to the journal, or the disk failed. The member skips such lines, so \
         their content is missing from its conversation.",
        Fix::Journal(owner.clone()),
    )))
}

fn tasks(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let broken = crate::clock::broken_tasks(team)?;
    let found = broken.into_iter().filter_map(|error| match &error {
        TaskError::Invalid { path, .. } => {
            let fix = Fix::Task(path.clone());
            Some(damaged(path, error.to_string(), fix))
        }
        TaskError::File(error) => Some(no_access(error)),
        TaskError::Unknown(_) | TaskError::Lock(_) => None,
    });
    Ok(found.collect())
}

fn requests(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let broken = team.requests()?.into_iter().filter_map(Result::err);
    let found = broken.filter_map(|error| match &error {
        RequestError::Invalid { path, .. } => {
            let fix = Fix::Request(path.clone());
            Some(damaged(path, error.to_string(), fix))
        }
        RequestError::File(error) => Some(no_access(error)),
        RequestError::Unknown(_) | RequestError::Exists(_) | RequestError::Lock(_) => None,
    });
    Ok(found.collect())
}

fn damaged(path: &Path, problem: String, fix: Fix) -> Finding {
    Finding::automatic(
        Kind::DamagedFile,
        path.display().to_string(),
        problem,
        "It was edited by hand, or the disk failed. Lists skip it, and changes that need it are \
         refused.",
        fix,
    )
}

/// Checks the files with budgets and limits. Without them everything would be allowed, so they are
/// left to a person.
fn ledgers(team: &TeamDir) -> Vec<Finding> {
    let errors = [team.budget().err(), team.limits().err()];
    let found = errors.into_iter().flatten().filter_map(|error| {
        let problem = error.to_string();
        match &error {
            TeamFileError::Invalid { path, .. } => {
                let path = path.display().to_string();
                let command = format!("mv {path} {path}.damaged");
                let meaning = "No model is called and no member is started while it cannot be \
                               read. Only a person knows what it allowed: check it, move it \
                               away, and set the limits again.";
                let kind = Kind::DamagedFile;
                Some(Finding::manual(kind, path, problem, meaning, command))
            }
            TeamFileError::File(error) => Some(no_access(error)),
            TeamFileError::Lock(_) => None,
        }
    });
    found.collect()
}
