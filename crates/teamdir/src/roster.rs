//! The roster on disk: read without a lock, changed under one, replaced whole.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::version::FileVersion;
use crate::files::{self, atomic};
use crate::locks::{FileLock, LockError};
use crate::team_dir::TeamDir;
use protocol::Roster;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often a roster that does not parse is read again: an editor may be saving it.
const TRIES: u32 = 5;
/// The pause between two such tries.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a change is retried because another program changed the file without its lock.
const CONTESTED: u32 = 100;
/// The most members of a team. Many commands look at the files of each.
const MOST_MEMBERS: usize = 10_000;

/// Why the roster could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RosterError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another program keeps changing the file without its lock.
    #[error("{} is changed continually by a program that does not take its lock", .0.display())]
    Contested(PathBuf),
    /// The file is not a roster.
    #[error("{} is not a valid roster: {reason}; repair the file or restore it", path.display())]
    Invalid {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The roster as last read, with the version of its file.
#[derive(Debug, Default)]
pub(crate) struct RosterCache {
    last: Mutex<Option<(FileVersion, Arc<Roster>)>>,
}

impl TeamDir {
    /// The roster as it is now. Takes no lock and never sees a half-written file.
    pub fn roster(&self) -> Result<Arc<Roster>, RosterError> {
        let path = self.layout.roster();
        let metadata = std::fs::symlink_metadata(&path).context("read the roster", &path)?;
        let stamp = FileVersion::of(&metadata);
        let mut last = self
            .cache
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((known, roster)) = last.as_ref()
            && *known == stamp
        {
            return Ok(Arc::clone(roster));
        }
        // Asked before reading: a change after it must show in the stamp.
        let is_settled = stamp.is_settled();
        let roster = Arc::new(read_patiently(&path)?.0);
        if is_settled {
            *last = Some((stamp, Arc::clone(&roster)));
        }
        Ok(roster)
    }

    /// Changes the roster under its lock. What `change` returns is handed through; if that is an
    /// error nothing is written.
    pub fn update_roster<T, E: From<RosterError>>(
        &self,
        change: impl FnMut(&mut Roster) -> Result<T, E>,
    ) -> Result<T, E> {
        self.replace_roster(self.options.durability, change)
    }

    /// The same for a change that a power cut may take back. Afterwards the roster is whole, with the change or
    /// without it.
    pub fn update_roster_unsynced<T, E: From<RosterError>>(
        &self,
        change: impl FnMut(&mut Roster) -> Result<T, E>,
    ) -> Result<T, E> {
        self.replace_roster(Durability::ProcessDeath, change)
    }

    /// Replaces the roster under its lock, with a name that lasts as `name` says.
    fn replace_roster<T, E: From<RosterError>>(
        &self,
        name: Durability,
        mut change: impl FnMut(&mut Roster) -> Result<T, E>,
    ) -> Result<T, E> {
        let path = self.layout.roster();
        let wait = self.options.lock_wait;
        let _lock =
            FileLock::acquire(&self.layout.roster_lock(), wait).map_err(RosterError::Lock)?;
        for _ in 0..CONTESTED {
            let (mut roster, before) = read_patiently(&path)?;
            let outcome = change(&mut roster)?;
            roster.rev = roster.rev.saturating_add(1);
            let bytes = encode(&roster);
            let mut temporary = atomic::write_beside(&path, &bytes, self.options.durability)
                .map_err(RosterError::File)?;
            // A person's editor takes no lock: what it saved since we read must not be lost.
            let now = std::fs::symlink_metadata(&path).context("read the roster", &path);
            if FileVersion::of(&now.map_err(RosterError::File)?) != before {
                continue;
            }
            let persisted = temporary.persist().context("replace", &path);
            persisted.map_err(RosterError::File)?;
            temporary
                .sync_name(&path, name)
                .map_err(RosterError::File)?;
            return Ok(outcome);
        }
        Err(RosterError::Contested(path).into())
    }
}

/// The text of a roster file, for people as much as for programs.
pub(crate) fn encode(roster: &Roster) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(roster).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

fn read_patiently(path: &Path) -> Result<(Roster, FileVersion), RosterError> {
    let mut tries = 1;
    loop {
        match read(path) {
            Err(RosterError::Invalid { .. }) if tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

fn read(path: &Path) -> Result<(Roster, FileVersion), RosterError> {
    let invalid = |reason: String| RosterError::Invalid {
        path: path.to_path_buf(),
        reason,
    };
    // The stamp comes from the same open file as the text: by name they could be two files.
    let opened = files::open_whole(path).context("read the roster", path)?;
    let bytes = files::read_opened(&opened).context("read the roster", path)?;
    let roster = Roster::decode(&bytes).map_err(|error| invalid(error.to_string()))?;
    if roster.members.len() > MOST_MEMBERS {
        let members = roster.members.len();
        return Err(invalid(format!(
            "it has {members} members, and at most {MOST_MEMBERS} are possible"
        )));
    }
    if let Some(name) = roster.namesakes() {
        return Err(invalid(format!("two members are called {name}")));
    }
    Ok((roster, FileVersion::of(&opened.metadata)))
}
