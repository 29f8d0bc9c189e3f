//! Members that one host asks another one to start: what this host asks, and what it is asked.
//!
//! The file of an ask is created once, under its id, and is the fence: whoever does something about an ask looks
//! there first. What is asked here is changed by the bridge alone. What this host is asked gets its outcome from
//! the process that holds the lock of the ask, and nothing else is changed in it until then.

use super::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir, remove_file};
use crate::locks::{FileLock, LockError};
use crate::team_dir::TeamDir;
use crate::team_files::{self, TeamFileError, encode};
use protocol::{HostSpawn, RequestId, SpawnOutcome};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How many ended asks are kept in each of the two folders.
const KEPT: usize = 200;

/// The right to start the member of an ask of another host.
#[derive(Debug)]
pub struct SpawnGuard {
    id: RequestId,
    _lock: FileLock,
}

impl TeamDir {
    /// Makes the folders, so that they can be watched.
    pub fn prepare_spawns(&self, _: &BridgeGuard) -> Result<(), PathError> {
        self.create_spawn_dirs()
    }

    fn create_spawn_dirs(&self) -> Result<(), PathError> {
        create_dir(&self.layout.spawns_dir())?;
        create_dir(&self.layout.sent_spawns_dir())?;
        create_dir(&self.layout.taken_spawns_dir())
    }

    /// Asks another host, if `check` has nothing against it, given everything that is asked already. Nobody else
    /// asks meanwhile. It is synced when this returns.
    pub fn put_sent_spawn<E: From<TeamFileError>>(
        &self,
        spawn: &HostSpawn,
        check: impl FnOnce(&[HostSpawn]) -> Result<(), E>,
    ) -> Result<(), E> {
        let prepare = || -> Result<FileLock, TeamFileError> {
            self.create_spawn_dirs()?;
            let lock = FileLock::acquire(&self.layout.spawns_lock(), self.options.lock_wait)?;
            Ok(lock)
        };
        let _lock = prepare()?;
        check(&self.sent_spawns().map_err(TeamFileError::from)?)?;
        let path = self.layout.sent_spawn(&spawn.ask.id);
        let created = atomic::create(&path, &encode(spawn), self.options.durability);
        if !created.map_err(TeamFileError::from)? {
            let error = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(TeamFileError::from(PathError::new("create", &path, error)).into());
        }
        Ok(())
    }

    /// What this host has asked others, oldest first.
    pub fn sent_spawns(&self) -> Result<Vec<HostSpawn>, PathError> {
        read_all(&self.layout.sent_spawns_dir())
    }

    pub fn sent_spawn(&self, id: &RequestId) -> Result<Option<HostSpawn>, TeamFileError> {
        team_files::read(&self.layout.sent_spawn(id))
    }

    /// Changes what this host asks. It is synced when this returns.
    pub fn update_sent_spawn(
        &self,
        _: &BridgeGuard,
        spawn: &HostSpawn,
    ) -> Result<(), TeamFileError> {
        self.replace_spawn(&self.layout.sent_spawn(&spawn.ask.id), spawn)?;
        match spawn.outcome {
            Some(_) => Ok(prune(&self.layout.sent_spawns_dir())?),
            None => Ok(()),
        }
    }

    /// Keeps what another host asks. Returns `false` if there is an ask of that id. It is synced when this returns.
    pub fn put_taken_spawn(&self, _: &BridgeGuard, spawn: &HostSpawn) -> Result<bool, PathError> {
        let path = self.layout.taken_spawn(&spawn.ask.id);
        atomic::create(&path, &encode(spawn), self.options.durability)
    }

    /// What other hosts have asked this one, oldest first.
    pub fn taken_spawns(&self) -> Result<Vec<HostSpawn>, PathError> {
        read_all(&self.layout.taken_spawns_dir())
    }

    pub fn taken_spawn(&self, id: &RequestId) -> Result<Option<HostSpawn>, TeamFileError> {
        team_files::read(&self.layout.taken_spawn(id))
    }

    /// The outcome of an ask is in the outbox.
    pub fn mark_spawn_told(&self, _: &BridgeGuard, spawn: &HostSpawn) -> Result<(), TeamFileError> {
        let told = HostSpawn {
            told: true,
            ..spawn.clone()
        };
        self.replace_spawn(&self.layout.taken_spawn(&spawn.ask.id), &told)
    }

    /// Removes the oldest of what other hosts have asked, where the outcome was told.
    pub fn prune_taken_spawns(&self, _: &BridgeGuard) -> Result<(), PathError> {
        prune(&self.layout.taken_spawns_dir())
    }

    /// Becomes the process that starts the member of an ask, unless another one is.
    pub fn lock_taken_spawn(&self, id: &RequestId) -> Result<SpawnGuard, LockError> {
        let path = self.layout.taken_spawn_lock(id);
        Ok(SpawnGuard {
            id: id.clone(),
            _lock: FileLock::acquire(&path, Duration::ZERO)?,
        })
    }

    /// Records how an ask has ended, once. It is synced when this returns.
    pub fn end_taken_spawn(
        &self,
        guard: &SpawnGuard,
        outcome: SpawnOutcome,
    ) -> Result<(), TeamFileError> {
        let Some(spawn) = self.taken_spawn(&guard.id)? else {
            return Ok(());
        };
        if spawn.outcome.is_some() {
            return Ok(());
        }
        let ended = HostSpawn {
            outcome: Some(outcome),
            ended_at: Some(crate::now()),
            ..spawn
        };
        self.replace_spawn(&self.layout.taken_spawn(&guard.id), &ended)
    }

    fn replace_spawn(&self, path: &Path, spawn: &HostSpawn) -> Result<(), TeamFileError> {
        team_files::put(path, spawn, self.options.durability)?;
        Ok(atomic::sync_parent(path, self.options.durability)?)
    }
}

/// All asks in a folder, oldest first. A file that is none is left alone.
fn read_all(folder: &Path) -> Result<Vec<HostSpawn>, PathError> {
    let listed = match files::list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.context("list", folder)?,
    };
    let mut found: Vec<HostSpawn> = Vec::new();
    for entry in listed.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        let Some(id) = id.and_then(|id| RequestId::new(id).ok()) else {
            continue;
        };
        // By its name in the folder: an entry of the list may be named by way of an open descriptor.
        let path = folder.join(&name);
        if let Ok(Some(spawn)) = team_files::read::<HostSpawn>(&path)
            && spawn.ask.id == id
        {
            found.push(spawn);
        }
    }
    found.sort_by_key(|spawn| (spawn.at, spawn.ask.id.clone()));
    Ok(found)
}

/// Removes the oldest of those that have ended and were told.
fn prune(folder: &Path) -> Result<(), PathError> {
    let ended = read_all(folder)?.into_iter();
    let ended: Vec<HostSpawn> = ended
        .filter(|spawn| spawn.told && spawn.outcome.is_some())
        .collect();
    for spawn in ended.iter().take(ended.len().saturating_sub(KEPT)) {
        let path = folder.join(format!("{}.json", spawn.ask.id));
        remove(&path.with_extension("lock"))?;
        remove(&path)?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), PathError> {
    match remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.context("remove", path),
    }
}
