//! The files of the bridge to other hosts: its lock, and for each host an outbox, two marks and what people
//! are shown of it.
//!
//! Only the process that holds the lock writes them. An outbox is therefore a file with one writer, as a
//! journal is: what a failed or killed append leaves at its end is left out when the file is next replaced.

mod bundles;
mod copies;
mod outbox;
mod spawns;
mod tree_notes;
mod tries;
mod waiting;

pub use bundles::{IncomingBundle, NewPart, PartError, Space};
pub use outbox::{Outbox, OutboxError};
pub use spawns::SpawnGuard;
pub use tree_notes::Notes;

use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::locks::{FileLock, LockError};
use crate::members::lock::liveness_of;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use crate::{Liveness, MemberGuard};
use protocol::{AppliedMark, HostId, Incarnation, JsonLine, Peer, SentMark};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use waiting::count_waiting;

/// How long the copy of the lock in a child of a killed bridge is waited for.
const ORPHAN_WAIT: Duration = Duration::from_secs(2);

/// The right to be the bridge of this host. Dropping it gives it up.
#[derive(Debug)]
pub struct BridgeGuard {
    _lock: FileLock,
}

impl TeamDir {
    /// Makes this process the bridge of this host, unless another one is.
    pub fn lock_bridge(&self) -> Result<BridgeGuard, LockError> {
        create_dir(&self.layout.bridge_dir())?;
        let lock = FileLock::acquire(&self.layout.bridge_lock(), ORPHAN_WAIT)?;
        lock.wipe();
        if let Ok(line) = JsonLine::encode(&MemberGuard::describe_self(Incarnation(0))) {
            // For people only.
            let _ = lock.note(&line);
        }
        Ok(BridgeGuard { _lock: lock })
    }

    /// Whether a bridge runs on this host, and which process it is.
    pub fn bridge_liveness(&self) -> Result<Liveness, PathError> {
        liveness_of(&self.layout.bridge_lock())
    }

    /// The other hosts that this one has had to do with.
    pub fn peers(&self) -> Result<Vec<HostId>, PathError> {
        let folder = self.layout.bridge_dir();
        let listed = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.context("list", &folder)?,
        };
        let names = listed.flatten().map(|entry| entry.file_name());
        let mut peers: Vec<HostId> = names
            .filter_map(|name| HostId::new(name.to_str()?).ok())
            .collect();
        peers.sort();
        Ok(peers)
    }

    /// Moves what was kept of a host into the trash, frames that wait for it included. Returns where it is.
    pub fn forget_peer(
        &self,
        _: &BridgeGuard,
        host: &HostId,
    ) -> Result<Option<PathBuf>, PathError> {
        let kept = self.to_trash(&self.layout.bridge_peer_dir(host))?;
        self.remove_copies_of(host)?;
        Ok(kept)
    }

    /// What people are shown of a host.
    pub fn peer(&self, host: &HostId) -> Result<Option<Peer>, TeamFileError> {
        team_files::read(&self.layout.peer(host))
    }

    /// Not synced: it means nothing after a power cut.
    pub fn put_peer(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        peer: &Peer,
    ) -> Result<(), TeamFileError> {
        create_dir(&self.layout.bridge_peer_dir(host))?;
        team_files::put(&self.layout.peer(host), peer, Durability::ProcessDeath)
    }

    /// How far the frames from a host were applied; `None` before the first.
    pub fn applied_mark(&self, host: &HostId) -> Result<Option<AppliedMark>, TeamFileError> {
        team_files::read(&self.layout.applied_mark(host))
    }

    /// Records that frames from a host were applied. It is synced when this returns.
    pub fn put_applied_mark(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        mark: &AppliedMark,
    ) -> Result<(), TeamFileError> {
        create_dir(&self.layout.bridge_peer_dir(host))?;
        let path = self.layout.applied_mark(host);
        if self.options.durability == Durability::ProcessDeath {
            let bytes = serde_json::to_vec(mark).expect("text keys encode");
            return Ok(atomic::exchange(&path, &bytes)?);
        }
        team_files::put(&path, mark, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }

    /// How many frames wait for a host, for whoever is not its bridge. Those that only tell who is at home here,
    /// and what they ask, do not count: nobody misses them. If nothing waits, only the end of the outbox is read.
    pub fn frames_waiting(&self, host: &HostId) -> Result<u64, TeamFileError> {
        let mark: Option<SentMark> = team_files::read(&self.layout.sent_mark(host))?;
        let Some(mark) = mark else {
            return Ok(0);
        };
        let path = self.layout.outbox(host);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            opened => opened.context("read", &path)?.file,
        };
        Ok(count_waiting(&file, &mark).context("read", &path)?)
    }
}
