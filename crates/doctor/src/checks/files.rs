//! The files: what is torn, damaged, left over, or not ours.

use super::{no_access, or_no_access};
use crate::cure::give_by_hand;
use crate::finding::{Cure, Finding, Kind};
use crate::surroundings::Surroundings;
use protocol::{JournalLine, Recipient};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use teamdir::{LogFile, PathError, RequestError, TaskError, TeamDir, TeamFileError};

/// What a folder and a file must allow their owner.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

pub(super) fn check(team: &TeamDir, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut look = Rights {
        team,
        me: surroundings.uid,
        owner: owner(team, surroundings.uid),
        findings: Vec::new(),
    };
    look.walk(team.layout().root());
    findings.append(&mut look.findings);
    // Without the right to look the rest would only say so again.
    if findings
        .iter()
        .any(|finding| finding.kind == Kind::NoAccess)
    {
        return findings;
    }
    findings.extend(or_no_access(temporary(team)));
    findings.extend(or_no_access(open_lines(team)));
    findings.extend(or_no_access(dead_letters(team)));
    findings.extend(journals(team));
    findings.extend(or_no_access(tasks(team)));
    findings.extend(or_no_access(requests(team)));
    findings.extend(ledgers(team));
    findings
}

/// Whose a team is: root mends that of whom the folder belongs to, everybody else his own.
fn owner(team: &TeamDir, me: u32) -> u32 {
    let folder = fs::metadata(team.layout().root()).map(|folder| folder.uid());
    match (me, folder) {
        (0, Ok(owner)) => owner,
        (me, _) => me,
    }
}

/// Whose everything is, and whether he may use it.
struct Rights<'a> {
    team: &'a TeamDir,
    me: u32,
    owner: u32,
    findings: Vec<Finding>,
}

impl Rights<'_> {
    fn walk(&mut self, path: &Path) {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            // The team goes on while we look.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.findings.push(unreadable(path, &error)),
        };
        // What was set aside is nobody's affair any more.
        if metadata.is_symlink() || path == self.team.layout().trash() {
            return;
        }
        self.findings.extend(self.right(path, &metadata));
        if !metadata.is_dir() {
            return;
        }
        match fs::read_dir(path) {
            Ok(entries) => {
                let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
                paths.sort();
                paths.iter().for_each(|path| self.walk(path));
            }
            // One without the right to it was found a moment ago.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => self.findings.push(unreadable(path, &error)),
        }
    }

    fn right(&self, path: &Path, metadata: &Metadata) -> Option<Finding> {
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
            Finding::with_cure(
                Kind::NoAccess,
                &shown,
                format!("{shown} may not be read and written by its owner"),
                "The team cannot work with a file that it cannot read and write.",
                Cure::Allow(path.to_path_buf()),
            )
        })
    }

    fn foreign(&self, path: &Path, uid: u32) -> Finding {
        let shown = path.display().to_string();
        let problem = format!("{shown} belongs to user {uid}");
        let meaning = "Somebody ran a member as another user, often as root. Members of this user \
                       may not be able to change the file.";
        let path = path.to_path_buf();
        let cure = match self.me {
            0 => Cure::Give {
                path,
                uid: self.owner,
            },
            _ if self.team.can_take_ownership(&path) => Cure::TakeOver(path),
            // Others may have it open, and the system lets only root give it away in its place.
            _ => {
                let fix = give_by_hand(&path);
                return Finding::for_a_person(Kind::ForeignOwner, shown, problem, meaning, fix);
            }
        };
        Finding::with_cure(Kind::ForeignOwner, shown, problem, meaning, cure)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let shown = path.display().to_string();
    Finding::for_a_person(
        Kind::NoAccess,
        &shown,
        format!("cannot look at {shown}: {error}"),
        "The team cannot work with a file that it cannot read.",
        format!("ls -ld {shown}"),
    )
}

fn temporary(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let files = team.abandoned_files()?.into_iter();
    let found = files.map(|leftover| {
        let shown = leftover.path.display().to_string();
        Finding::with_cure(
            Kind::TemporaryFile,
            &shown,
            format!("{shown} was left behind"),
            "A process was killed while it wrote. What it meant to replace is as it was before.",
            Cure::Remove(leftover),
        )
    });
    Ok(found.collect())
}

fn open_lines(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let lines = team.unfinished_lines()?.into_iter();
    let found = lines.map(|line| {
        let shown = line.path.display().to_string();
        let meaning = match &line.place {
            LogFile::Inbox(_) => {
                "A sender was killed while it wrote, or somebody forgot the newline. Nobody reads \
                 the line before it is closed; one that is no message then becomes a dead letter."
            }
            LogFile::Events | LogFile::DeadLetters => {
                "A process was killed while it wrote. The line is passed over, and the next one \
                 closes it."
            }
        };
        Finding::with_cure(
            Kind::UnfinishedLine,
            &shown,
            format!("{shown} ends in the middle of a line"),
            meaning,
            Cure::Close(line),
        )
    });
    Ok(found.collect())
}

fn dead_letters(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let mut count = 0;
    let mut last = None;
    team.read_dead_letters(|letter| {
        count += 1;
        last = Some(letter);
    })?;
    let found = last.map(|last| {
        let path = team.layout().dead_letters();
        let shown = path.display().to_string();
        Finding::with_cure(
            Kind::DeadLetters,
            &shown,
            format!(
                "{count} lines could not be delivered; the last was for '{}': {}",
                last.inbox, last.reason
            ),
            "Each is kept as it was written, with the reason. Its sender was told if it is known. \
             None is sent again, since its time may be over: read them in the trash.",
            Cure::DeadLetters,
        )
    });
    Ok(found.into_iter().collect())
}

fn journals(team: &TeamDir) -> Vec<Finding> {
    let roster = team.roster().map(|roster| roster.members.clone());
    let names = roster.into_iter().flatten().map(|member| member.name);
    let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
    owners
        .filter_map(|owner| journal(team, &owner).unwrap_or_else(|error| Some(no_access(&error))))
        .collect()
}

fn journal(team: &TeamDir, owner: &Recipient) -> Result<Option<Finding>, PathError> {
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
    Ok(Some(Finding::with_cure(
        Kind::DamagedJournal,
        &path,
        format!(
            "{} lines of the journal of '{owner}' are no records, the first is line {first}: \
             {reason}",
            bad.len()
        ),
        "Something else than the member wrote to its memory, or the disk failed. The member passes \
         over such lines, so it has forgotten what stood there.",
        Cure::Journal(owner.clone()),
    )))
}

fn tasks(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let broken = team.tasks()?.into_iter().filter_map(Result::err);
    let found = broken.filter_map(|error| match &error {
        TaskError::Invalid { path, .. } => {
            let cure = Cure::Task(path.clone());
            Some(damaged(path, error.to_string(), cure))
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
            let cure = Cure::Request(path.clone());
            Some(damaged(path, error.to_string(), cure))
        }
        RequestError::File(error) => Some(no_access(error)),
        RequestError::Unknown(_) | RequestError::Exists(_) | RequestError::Lock(_) => None,
    });
    Ok(found.collect())
}

fn damaged(path: &Path, problem: String, cure: Cure) -> Finding {
    Finding::with_cure(
        Kind::DamagedFile,
        path.display().to_string(),
        problem,
        "It was edited by hand, or the disk failed. It is passed over by those who list such \
         files, and a change that needs it is refused.",
        cure,
    )
}

/// The files that say what may be spent and done. Without them everything would be allowed that they
/// forbid, so they are left to a person.
fn ledgers(team: &TeamDir) -> Vec<Finding> {
    let errors = [team.budget().err(), team.limits().err()];
    let found = errors.into_iter().flatten().filter_map(|error| {
        let problem = error.to_string();
        match &error {
            TeamFileError::Invalid { path, .. } => {
                let path = path.display().to_string();
                let fix = format!("mv {path} {path}.damaged");
                let meaning = "No model is asked and nobody is started as long as it cannot be \
                               read. What it allowed only a person knows: look at it, move it \
                               away, and set the limits again.";
                let kind = Kind::DamagedFile;
                Some(Finding::for_a_person(kind, path, problem, meaning, fix))
            }
            TeamFileError::File(error) => Some(no_access(error)),
            TeamFileError::Lock(_) => None,
        }
    });
    found.collect()
}
