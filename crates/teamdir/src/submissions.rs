//! Submission files: numbered once, changed under one lock, replaced whole.

use crate::MemberGuard;
use crate::error::PathError;
use crate::events::pending::PendingEvents;
use crate::files::{self, atomic, create_dir};
use crate::layout::Layout;
use crate::locks::{FileLock, LockError, is_running};
use crate::team_dir::TeamDir;
use protocol::{EventKind, Holder, Incarnation, JsonLine, Submission, SubmissionId};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the copy of a lock in a child of a killed process is waited for.
const ORPHAN_WAIT: Duration = Duration::from_secs(5);

/// Why a submission could not be stored, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    #[error("there is no submission {0}")]
    Unknown(SubmissionId),
    #[error("{} is not a valid submission: {reason}; `team-lead doctor --fix`", path.display())]
    Invalid {
        id: SubmissionId,
        path: PathBuf,
        reason: String,
    },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] PathError),
}

/// Held by the one process that integrates submissions. The kernel frees it when the process dies.
#[derive(Debug)]
pub struct IntegrationGuard {
    lock: FileLock,
}

impl Drop for IntegrationGuard {
    fn drop(&mut self) {
        self.lock.wipe();
    }
}

impl TeamDir {
    /// Takes the right to integrate submissions, or `None` if another process has it. A process that runs is
    /// not waited for: it looks for new submissions after giving the right up.
    pub fn try_integrate(&self) -> Result<Option<IntegrationGuard>, LockError> {
        create_dir(&self.layout.submissions_dir())?;
        let path = self.layout.integration_lock();
        let lock = match FileLock::acquire(&path, Duration::ZERO) {
            // Whoever had it was killed, and a child that it was just starting still has a copy.
            Err(LockError::Busy { .. }) if !self.is_integrating() => {
                FileLock::acquire(&path, ORPHAN_WAIT)
            }
            acquired => acquired,
        };
        match lock {
            Ok(lock) => {
                // What a killed holder has left is not true any more.
                lock.wipe();
                let holder = MemberGuard::describe_self(Incarnation(0));
                // Without the note nobody is kept from anything, see `is_integrating`.
                if let Ok(line) = JsonLine::encode(&holder) {
                    let _ = lock.note(&line);
                }
                Ok(Some(IntegrationGuard { lock }))
            }
            Err(LockError::Busy { .. }) => Ok(None),
            Err(error @ LockError::File(_)) => Err(error),
        }
    }

    /// Whether a process integrates submissions now. The lock is not tried for it: whoever finds it taken
    /// relies on its holder.
    pub fn is_integrating(&self) -> bool {
        let noted = files::read_whole(&self.layout.integration_lock()).unwrap_or_default();
        serde_json::from_slice::<Holder>(&noted).is_ok_and(|holder| is_running(&holder))
    }

    /// Stores a new submission under the next number, and logs its event. `make` gets the number, and
    /// may refuse.
    pub fn create_submission<E: From<SubmissionError>>(
        &self,
        make: impl FnOnce(SubmissionId) -> Result<Submission, E>,
    ) -> Result<Submission, E> {
        let failed = |error: PathError| E::from(SubmissionError::File(error));
        create_dir(&self.layout.submissions_dir()).map_err(failed)?;
        let lock = self.lock_submissions().map_err(SubmissionError::Lock)?;
        let last = self.submission_ids().map_err(failed)?.into_iter().max();
        let id = SubmissionId(last.map_or(0, |last| last.0).saturating_add(1));
        let submission = Submission { id, ..make(id)? };
        let event = submission_event(&submission);
        lock.prepare(&event).map_err(failed)?;
        // Nobody else creates a file of this name without the lock.
        self.put_submission(&lock, &submission).map_err(failed)?;
        lock.publish(vec![event]);
        Ok(submission)
    }

    /// Writes the file of a submission.
    pub(crate) fn put_submission(
        &self,
        _: &PendingEvents<'_>,
        submission: &Submission,
    ) -> Result<(), PathError> {
        let path = self.layout.submission(submission.id);
        atomic::replace(&path, &encode(submission), self.options.durability)
    }

    /// The submission `id` as it is now.
    pub fn submission(&self, id: SubmissionId) -> Result<Submission, SubmissionError> {
        let found = read(&self.layout.submission(id), id)?;
        found.ok_or(SubmissionError::Unknown(id))
    }

    /// All submissions by number, and an error for each file that is none.
    pub fn submissions(&self) -> Result<Vec<Result<Submission, SubmissionError>>, PathError> {
        let mut ids = self.submission_ids()?;
        ids.sort_unstable();
        let all = ids.into_iter();
        Ok(all
            .filter_map(|id| read(&self.layout.submission(id), id).transpose())
            .collect())
    }

    /// The newest submissions, newest first, and an error for each file that is none.
    pub fn newest_submissions(
        &self,
        most: usize,
    ) -> Result<Vec<Result<Submission, SubmissionError>>, PathError> {
        let newest = self.newest_submission_ids(most)?.into_iter();
        Ok(newest
            .filter_map(|id| read(&self.layout.submission(id), id).transpose())
            .collect())
    }

    /// The numbers of the newest submissions, newest first.
    pub fn newest_submission_ids(&self, most: usize) -> Result<Vec<SubmissionId>, PathError> {
        let mut ids = self.submission_ids()?;
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.truncate(most);
        Ok(ids)
    }

    fn submission_ids(&self) -> Result<Vec<SubmissionId>, PathError> {
        let folder = self.layout.submissions_dir();
        let fail = |error| PathError::new("list", &folder, error);
        let entries = match files::list(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(fail)?.file_name();
            ids.extend(name.to_str().and_then(Layout::submission_id));
        }
        Ok(ids)
    }

    /// Changes the submission `id` under the lock of all submissions, and logs its event if its status
    /// changes. If `change` refuses, nothing is written.
    pub fn update_submission<E: From<SubmissionError>>(
        &self,
        id: SubmissionId,
        change: impl FnOnce(&Submission) -> Result<Submission, E>,
    ) -> Result<Submission, E> {
        let lock = self.lock_submissions().map_err(SubmissionError::Lock)?;
        let before = self.submission(id)?;
        let after = change(&before)?;
        let event = (before.status != after.status).then(|| submission_event(&after));
        if let Some(event) = &event {
            lock.prepare(event).map_err(SubmissionError::File)?;
        }
        self.put_submission(&lock, &after)
            .map_err(SubmissionError::File)?;
        lock.publish(event.into_iter().collect());
        Ok(after)
    }

    /// Takes the lock of all submissions.
    pub(crate) fn lock_submissions(&self) -> Result<PendingEvents<'_>, LockError> {
        let path = self.layout.submissions_lock();
        PendingEvents::acquire(self, path, |noted| match noted {
            EventKind::Submission { submission, .. } => {
                let found = self.submission(submission).ok();
                found.iter().map(submission_event).collect()
            }
            _ => Vec::new(),
        })
    }
}

fn submission_event(submission: &Submission) -> EventKind {
    let merge = submission.merge.as_ref();
    EventKind::Submission {
        submission: submission.id,
        member: submission.member.clone(),
        status: submission.status,
        commit: merge.unwrap_or(&submission.commit).clone(),
        task: submission.task,
        host: submission.host.clone(),
        origin: submission.origin,
    }
}

fn encode(submission: &Submission) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(submission).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

fn read(path: &Path, id: SubmissionId) -> Result<Option<Submission>, SubmissionError> {
    let bytes = match files::read_whole(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PathError::new("read", path, error).into()),
    };
    let invalid = |reason: String| SubmissionError::Invalid {
        id,
        path: path.to_path_buf(),
        reason,
    };
    let found: Submission =
        serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    match found.id == id {
        true => Ok(Some(found)),
        false => Err(invalid(format!("its id is {}", found.id))),
    }
}
