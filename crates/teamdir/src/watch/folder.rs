//! Noticing that the team folder was removed, moved away or replaced by another.

use super::Changes;
use super::polling::Poller;
use crate::files;
use crate::team_dir::TeamDir;
use notify::event::{EventKind, ModifyKind};
use std::path::PathBuf;
use std::time::Duration;

/// How often the folder is checked where there are no notifications.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// How often it is checked while it seems to be in the middle of being removed.
const RECHECK_EVERY: Duration = Duration::from_millis(20);

/// Waits for the end of the team folder of one member.
///
/// Nothing that members do in the folder wakes this: it depends only on the folder's own name, and on
/// the name of the member's lock, which is unlinked when the folder is deleted.
#[derive(Debug)]
pub struct FolderWatch {
    team: TeamDir,
    lock: PathBuf,
    changes: Changes,
}

impl FolderWatch {
    pub(super) const fn new(team: TeamDir, lock: PathBuf, changes: Changes) -> Self {
        Self {
            team,
            lock,
            changes,
        }
    }

    #[cfg(test)]
    pub(super) const fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Returns when the folder is not the team's any more. Can be dropped at any time.
    pub async fn gone(&self) {
        while !self.is_gone() {
            if files::is_there(&self.lock) {
                self.changes.changed().await;
            } else {
                tokio::time::sleep(RECHECK_EVERY).await;
            }
        }
    }

    /// Whether the folder is not the team's any more. One without a roster and without the lock of a
    /// member that runs was deleted, and something in it could not be.
    pub fn is_gone(&self) -> bool {
        self.team.is_gone()
            || !files::is_there(&self.lock) && !files::is_there(&self.team.layout.roster())
    }
}

/// The names that a [`FolderWatch`] depends on, and how it is woken.
#[derive(Debug, Clone)]
pub(super) struct FolderNames {
    pub(super) root: PathBuf,
    pub(super) lock: PathBuf,
    pub(super) changes: Changes,
}

impl FolderNames {
    /// Wakes the [`FolderWatch`] if the event may be about one of the names. The lock of a running
    /// process stays open, so that its removal shows as a change of its metadata.
    pub(super) fn handle(&self, event: &notify::Event) {
        let is_name = |path: &PathBuf| *path == self.root || *path == self.lock;
        let may_concern = match event.kind {
            EventKind::Modify(ModifyKind::Data(_)) | EventKind::Access(_) => false,
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => event.paths.is_empty() || event.paths.iter().any(is_name),
        };
        if may_concern {
            self.changes.raise();
        }
    }

    /// Wakes the [`FolderWatch`] at intervals, for as long as the poller exists.
    pub(super) fn poll(&self) -> Poller {
        let changes = self.changes.clone();
        Poller::start(CHECK_EVERY, move || {
            changes.raise();
        })
    }
}
