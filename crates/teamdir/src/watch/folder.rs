//! Noticing that the team folder was removed, moved away or replaced by another.

use super::polling::Poller;
use super::{Changes, WatchChoice, poll_reason};
use crate::team_dir::TeamDir;
use notify::{Config, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use protocol::Recipient;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the folder is checked where there are no notifications.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// How often it is checked while it seems to be in the middle of being removed.
const RECHECK_EVERY: Duration = Duration::from_millis(20);

/// Waits for the end of the team folder of one member.
///
/// Nothing that members do in the folder wakes this: the system is asked only about the folder's own
/// name, and about the name of the member's lock, which is unlinked when the folder is deleted.
#[derive(Debug)]
pub struct FolderWatch {
    team: TeamDir,
    lock: PathBuf,
    changes: Changes,
    _source: Source,
}

#[derive(Debug)]
enum Source {
    Notify { _watcher: RecommendedWatcher },
    Poll { _poller: Poller },
}

impl FolderWatch {
    /// Watches the folder of `team` for the process that is the member `owner`.
    pub fn new(team: &TeamDir, owner: &Recipient, choice: WatchChoice) -> Self {
        let changes = Changes::default();
        let (root, lock) = (team.layout.root(), team.layout.member_lock(owner));
        let watcher = match poll_reason(root, choice) {
            Some(_) => None,
            None => watch(root, &lock, &changes),
        };
        let source = match watcher {
            Some(watcher) => Source::Notify { _watcher: watcher },
            None => {
                let changes = changes.clone();
                let poller = Poller::start(CHECK_EVERY, move || changes.raise());
                Source::Poll { _poller: poller }
            }
        };
        Self {
            team: team.clone(),
            lock,
            changes,
            _source: source,
        }
    }

    /// Returns when the folder is not the team's any more. Can be dropped at any time.
    pub async fn gone(&self) {
        while !self.is_gone() {
            if self.lock.exists() {
                self.changes.changed().await;
            } else {
                tokio::time::sleep(RECHECK_EVERY).await;
            }
        }
    }

    /// Whether the folder is not the team's any more. One without a roster and without the lock of a
    /// member that runs was deleted, and something in it could not be.
    pub fn is_gone(&self) -> bool {
        self.team.is_gone() || !self.lock.exists() && !self.team.layout.roster().exists()
    }
}

fn watch(root: &Path, lock: &Path, changes: &Changes) -> Option<RecommendedWatcher> {
    let raised = changes.clone();
    let handler = move |_: notify::Result<notify::Event>| raised.raise();
    let kinds = EventKindMask::MODIFY_NAME | EventKindMask::MODIFY_META;
    let config = Config::default().with_event_kinds(kinds);
    let mut watcher = RecommendedWatcher::new(handler, config).ok()?;
    watcher.watch(root, RecursiveMode::NonRecursive).ok()?;
    watcher.watch(lock, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}
