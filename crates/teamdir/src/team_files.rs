//! Files of the whole team: the budget, the limits, and the count of mail between agents.

use crate::error::{Context, PathError};
use crate::files::{self, atomic};
use crate::locks::{FileLock, LockError};
use crate::team_dir::{Durability, TeamDir};
use protocol::{Budget, Caps, TeamLimits, Traffic};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};

/// Why one of these files could not be read or changed. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum TeamFileError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file holds something else.
    #[error(
        "{} cannot be read: {reason}; repair the file, or delete it to start a new one",
        path.display()
    )]
    Invalid {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl TeamDir {
    /// The budget as it is now. Takes no lock. Without a file nothing is limited or spent.
    pub fn budget(&self) -> Result<Budget, TeamFileError> {
        Ok(read(&self.layout.budget())?.unwrap_or_default())
    }

    /// Changes the budget under its lock. What `change` returns is handed through; if that is an
    /// error, or nothing is different, nothing is written.
    ///
    /// A file with limits is synced, so that a power cut leaves it whole; its name in the folder
    /// only when limits change, so that booking stays cheap. Without limits nothing is synced.
    pub fn update_budget<T, E: From<TeamFileError>>(
        &self,
        change: impl FnOnce(&mut Budget) -> Result<T, E>,
    ) -> Result<T, E> {
        let path = self.layout.budget();
        let _lock = self.lock_team_file(&self.layout.budget_lock())?;
        let before = self.budget()?;
        let mut after = before.clone();
        let outcome = change(&mut after)?;
        if after == before {
            return Ok(outcome);
        }
        let has_new_limits = caps(&after) != caps(&before);
        let durability = match has_new_limits || after.is_limited() {
            true => self.options.durability,
            false => Durability::ProcessDeath,
        };
        put(&path, &after, durability)?;
        if has_new_limits {
            atomic::sync_parent(&path, durability).map_err(TeamFileError::File)?;
        }
        Ok(outcome)
    }

    /// The limits of the team. Without a file all of them have their defaults.
    pub fn limits(&self) -> Result<TeamLimits, TeamFileError> {
        Ok(read(&self.layout.limits())?.unwrap_or_default())
    }

    /// Sets the limits of the team.
    pub fn set_limits(&self, limits: &TeamLimits) -> Result<(), TeamFileError> {
        let path = self.layout.limits();
        put(&path, limits, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }

    /// The same folder with a lower limit on unread mail in an inbox.
    #[must_use]
    pub fn with_inbox_limit(&self, most: u64) -> Self {
        let mut team = self.clone();
        team.options.inbox_limit = most.min(team.options.inbox_limit);
        team
    }

    /// The recent count of mail between agents. A file that does not parse counts as empty: its
    /// counts expire within a minute.
    pub fn traffic(&self) -> Result<Traffic, TeamFileError> {
        match read(&self.layout.traffic()) {
            Ok(found) => Ok(found.unwrap_or_default()),
            Err(TeamFileError::Invalid { .. }) => Ok(Traffic::default()),
            Err(error @ (TeamFileError::File(_) | TeamFileError::Lock(_))) => Err(error),
        }
    }

    /// Changes the count under its lock. Not synced.
    pub fn update_traffic<T>(
        &self,
        change: impl FnOnce(&mut Traffic) -> T,
    ) -> Result<T, TeamFileError> {
        let _lock = self.lock_team_file(&self.layout.traffic_lock())?;
        let before = self.traffic()?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        if after != before {
            // Every message of an agent does this, and what a power cut leaves of it counts as empty.
            atomic::exchange(&self.layout.traffic(), &encode(&after))?;
        }
        Ok(outcome)
    }

    fn lock_team_file(&self, path: &Path) -> Result<FileLock, TeamFileError> {
        Ok(FileLock::acquire(path, self.options.lock_wait)?)
    }
}

/// All limits of a budget.
fn caps(budget: &Budget) -> Vec<&Caps> {
    let all = budget.allowances();
    all.map(|allowance| &allowance.limits).collect()
}

/// What a file holds, if there is one. An empty one is what a power cut may leave of a file that was
/// never synced, and counts as none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TeamFileError> {
    let bytes = match files::read_whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.context("read", path)?,
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    let decoded = serde_json::from_slice(&bytes).map_err(|error| TeamFileError::Invalid {
        path: path.to_path_buf(),
        reason: error.to_string(),
    });
    decoded.map(Some)
}

pub(crate) fn put(
    path: &Path,
    value: &impl Serialize,
    durability: Durability,
) -> Result<(), TeamFileError> {
    let mut temporary = atomic::write_beside(path, &encode(value), durability)?;
    temporary.persist().context("replace", path)?;
    Ok(())
}

/// The text of a file, for people as much as for programs.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn team(dir: &Path) -> TeamDir {
        TeamDir::create(dir, "default", Options::default()).unwrap()
    }

    #[test]
    fn without_files_there_are_defaults_and_reading_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let team = team(dir.path());
        assert_eq!(team.budget().unwrap(), Budget::default());
        assert_eq!(team.limits().unwrap(), TeamLimits::default());
        team.update_budget(|_| Ok::<_, TeamFileError>(())).unwrap();
        assert!(!team.layout().budget().exists());
    }

    #[test]
    fn many_threads_change_the_budget_and_no_change_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let team = team(dir.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let team = team.clone();
                scope.spawn(move || {
                    for _ in 0..50 {
                        let change = |budget: &mut Budget| {
                            budget.last_slot += 1;
                            Ok::<_, TeamFileError>(())
                        };
                        team.update_budget(change).unwrap();
                    }
                });
            }
        });
        assert_eq!(team.budget().unwrap().last_slot, 200);
    }

    #[test]
    fn an_invalid_budget_is_an_error_and_an_empty_one_counts_as_new() {
        let dir = tempfile::tempdir().unwrap();
        let team = team(dir.path());
        let path = team.layout().budget();
        std::fs::write(&path, "").unwrap();
        assert_eq!(team.budget().unwrap(), Budget::default());
        std::fs::write(&path, "{\"team\": 3}").unwrap();
        let error = team.budget().unwrap_err().to_string();
        assert!(
            error.contains("budget.json") && error.contains("`team`"),
            "{error}"
        );
        std::fs::write(team.layout().traffic(), "{").unwrap();
        assert_eq!(team.traffic().unwrap(), Traffic::default());
    }

    #[test]
    fn unknown_fields_survive_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let team = team(dir.path());
        let path = team.layout().budget();
        std::fs::write(
            &path,
            r#"{"team":{"limits":{"max_smiles":3}},"colour":"red"}"#,
        )
        .unwrap();
        let change = |budget: &mut Budget| {
            budget.team.limits.max_turns = Some(5);
            Ok::<_, TeamFileError>(())
        };
        team.update_budget(change).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("max_smiles") && text.contains("colour"),
            "{text}"
        );
    }
}
