//! Waking up when a file changes.
//!
//! A [`Watcher`] says "check again", never what happened: notifications may come twice, late, or
//! without a reason. Whoever waits asks for notifications first, checks once more, and only then
//! sleeps.
//!
//! Single files are watched rather than folders wherever possible: mail for one member then costs
//! the others nothing. The `notify` crate asks the system for changes only, so that a file that is
//! merely opened, read or closed wakes nobody. Where the system has no notifications to offer, the
//! files are polled.

mod changes;
mod folder;
mod mode;
mod polling;
mod remote;

pub use changes::Changes;
pub use folder::FolderWatch;
pub use mode::{PollReason, WatchChoice, WatchMode};
pub(crate) use remote::is_on_network;

use crate::files::{FileId, atomic};
use crate::team_dir::TeamDir;
use folder::FolderNames;
use mode::{poll_reason, refusal};
use notify::event::{EventKind, ModifyKind};
use notify::{Config, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use polling::{PolledFiles, Poller};
use protocol::Recipient;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a waiter sleeps at most. Notifications are reliable where they work; this bounds the
/// damage where they are not, at a cost that cannot be measured.
pub const MAX_SLEEP: Duration = Duration::from_secs(60);
/// How often files are polled where there are no notifications.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How many changes that the owner has not looked at show that it is busy, or that many are to come.
const UNNOTICED: u64 = 3;
/// How long the thread that receives notifications rests then.
const REST: Duration = Duration::from_millis(1);

/// Watches a set of files and folders.
#[derive(Debug)]
pub struct Watcher {
    backend: Backend,
    changes: Changes,
    /// Whether a handle was given out by [`Watcher::changes`].
    is_shared: bool,
    /// Wakes the [`FolderWatch`] where there are no notifications.
    folder_poller: Option<Poller>,
}

#[derive(Debug)]
enum Backend {
    Notify {
        watcher: RecommendedWatcher,
        watched: Watched,
    },
    Poll {
        reason: PollReason,
        files: Arc<Mutex<PolledFiles>>,
        poller: Option<Poller>,
    },
}

/// What notifications were asked for. Shared with the thread that receives them.
#[derive(Debug, Clone, Default)]
struct Watched(Arc<Mutex<WatchedNames>>);

#[derive(Debug, Default)]
struct WatchedNames {
    /// Each path with the file it was when the watch began. The receiving thread takes out files
    /// whose paths name another file now.
    files: BTreeMap<PathBuf, Option<FileId>>,
    /// The names of a [`FolderWatch`].
    folder: Option<FolderNames>,
}

impl Watcher {
    /// A watcher of files in `folder`.
    pub fn new(folder: &Path, choice: WatchChoice) -> Self {
        let changes = Changes::default();
        let backend = match poll_reason(folder, choice) {
            Some(reason) => Backend::poll(reason, PolledFiles::default()),
            None => notify_backend(&changes)
                .unwrap_or_else(|reason| Backend::poll(reason, PolledFiles::default())),
        };
        Self {
            backend,
            changes,
            is_shared: false,
            folder_poller: None,
        }
    }

    /// How changes are learned about. Polling is worth a line in a log.
    pub fn mode(&self) -> WatchMode {
        match &self.backend {
            Backend::Notify { .. } => WatchMode::Notified,
            Backend::Poll { reason, .. } => WatchMode::Polling(reason.clone()),
        }
    }

    /// A handle for an event loop to wait on, and to take what [`Watcher::check`] would take.
    pub fn changes(&mut self) -> Changes {
        self.is_shared = true;
        self.start_poller();
        self.changes.clone()
    }

    /// Watches the file at `path`. Does nothing if there is none.
    pub fn watch_file(&mut self, path: &Path) {
        self.watch(path);
    }

    /// Watches a folder for files that are created in it, replaced or removed.
    pub fn watch_folder(&mut self, path: &Path) {
        self.watch(path);
    }

    fn watch(&mut self, path: &Path) {
        let refused = match &mut self.backend {
            Backend::Poll { files, .. } => return lock(files).add(path),
            Backend::Notify { watcher, watched } => {
                // Taken before the watch begins: if the file is replaced in between, the next call
                // finds a difference.
                let id = std::fs::symlink_metadata(path);
                let Ok(id) = id.map(|found| FileId::of(&found)) else {
                    return;
                };
                if watched.holds(path, id) {
                    return;
                }
                // The path may still stand for a file that has been renamed since.
                if watched.insert(path, id) {
                    let _ = watcher.unwatch(path);
                }
                match watcher.watch(path, RecursiveMode::NonRecursive) {
                    Ok(()) => return,
                    Err(error) => {
                        watched.remove(path);
                        match refusal(&error) {
                            // The check that follows finds out what has become of it.
                            None => return,
                            Some(reason) => reason,
                        }
                    }
                }
            }
        };
        self.fall_back(refused, path);
    }

    /// Watches the folder of `team` itself for the process that is the member `owner`. It needs no
    /// notification instance of its own: a user has few, and a team has many members.
    pub fn watch_team_folder(&mut self, team: &TeamDir, owner: &Recipient) -> FolderWatch {
        let names = FolderNames {
            root: team.layout.root().to_path_buf(),
            lock: team.layout.member_lock(owner),
            changes: Changes::default(),
        };
        let is_watched = match &mut self.backend {
            Backend::Notify { watcher, watched } => {
                lock(&watched.0).folder = Some(names.clone());
                // Only the folder above reports that a folder is renamed and nothing of what is done
                // in it.
                let above = names.root.parent().unwrap_or(&names.root);
                [above, names.lock.as_path()]
                    .iter()
                    .all(|path| watcher.watch(path, RecursiveMode::NonRecursive).is_ok())
            }
            Backend::Poll { .. } => false,
        };
        if !is_watched {
            self.folder_poller = Some(names.poll());
        }
        FolderWatch::new(team.clone(), names.lock, names.changes)
    }

    /// Watches the file or folder at `path` no longer.
    pub fn unwatch(&mut self, path: &Path) {
        match &mut self.backend {
            Backend::Poll { files, .. } => lock(files).remove(path),
            Backend::Notify { watcher, watched } => {
                // The system has dropped the watch already if the file is gone.
                if watched.remove(path) {
                    let _ = watcher.unwatch(path);
                }
            }
        }
    }

    /// Whether the file or folder at `path` is watched.
    pub fn is_watched(&self, path: &Path) -> bool {
        match &self.backend {
            Backend::Poll { files, .. } => lock(files).contains(path),
            Backend::Notify { watched, .. } => lock(&watched.0).files.contains_key(path),
        }
    }

    /// Whether anything has changed since the last time. Does not wait.
    pub fn check(&mut self) -> bool {
        match &self.backend {
            Backend::Notify { .. } => self.changes.take(),
            Backend::Poll { files, .. } => lock(files).have_changed() | self.changes.take(),
        }
    }

    /// Sleeps until something changes, until `wake_at`, or for [`MAX_SLEEP`] at most. Returns whether
    /// something changed.
    pub fn wait(&mut self, wake_at: Option<Instant>) -> bool {
        let limit = Instant::now() + MAX_SLEEP;
        let wake_at = wake_at.map_or(limit, |at| at.min(limit));
        if let Backend::Notify { .. } = self.backend {
            return self.changes.wait(wake_at);
        }
        loop {
            let left = wake_at.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(POLL_INTERVAL));
            if self.check() {
                return true;
            }
            if Instant::now() >= wake_at {
                return false;
            }
        }
    }

    /// Goes on by polling, with all files that are watched.
    fn fall_back(&mut self, reason: PollReason, newest: &Path) {
        let mut files = PolledFiles::default();
        if let Backend::Notify { watched, .. } = &self.backend {
            let watched = lock(&watched.0);
            watched.files.keys().for_each(|path| files.add(path));
            self.folder_poller = watched.folder.as_ref().map(FolderNames::poll);
        }
        files.add(newest);
        self.backend = Backend::poll(reason, files);
        self.start_poller();
    }

    /// Whoever waits by [`Changes`] does not poll, so a thread does.
    fn start_poller(&mut self) {
        if let Backend::Poll { files, poller, .. } = &mut self.backend
            && self.is_shared
            && poller.is_none()
        {
            let (files, changes) = (Arc::clone(files), self.changes.clone());
            *poller = Some(Poller::start(POLL_INTERVAL, move || {
                if lock(&files).have_changed() {
                    changes.raise();
                }
            }));
        }
    }
}

impl Backend {
    fn poll(reason: PollReason, files: PolledFiles) -> Self {
        Self::Poll {
            reason,
            files: Arc::new(Mutex::new(files)),
            poller: None,
        }
    }
}

impl Watched {
    fn holds(&self, path: &Path, id: FileId) -> bool {
        lock(&self.0).files.get(path) == Some(&Some(id))
    }

    /// Returns whether the path was there before.
    fn insert(&self, path: &Path, id: FileId) -> bool {
        let mut names = lock(&self.0);
        names.files.insert(path.to_path_buf(), Some(id)).is_some()
    }

    /// Returns whether the path was there.
    fn remove(&self, path: &Path) -> bool {
        lock(&self.0).files.remove(path).is_some()
    }

    /// Whether an event means a change of something that is watched. A watch on a folder reports
    /// writes to all files in it, too, and the folder above the team's is watched for one name only. A file
    /// that is being written under another name is none yet: whoever looked at it then would see the old
    /// one, and would be busy with that when the new one comes.
    fn is_concerned(&self, event: &notify::Event) -> bool {
        let mut names = lock(&self.0);
        if let Some(folder) = &names.folder {
            folder.handle(event);
        }
        let files = &mut names.files;
        let is_watched = |path: &PathBuf| files.contains_key(path);
        let is_inside = |path: &PathBuf| {
            let is_ready = !atomic::is_temporary(path);
            is_ready && path.parent().is_some_and(|f| files.contains_key(f))
        };
        let is_about_us = event.paths.is_empty()
            || event
                .paths
                .iter()
                .any(|path| is_watched(path) || is_inside(path));
        match event.kind {
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
                event.paths.iter().any(is_watched)
            }
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                // The path may name another file from now on, which has to be watched anew. It stays
                // in the list for the case that all files are polled later.
                for path in &event.paths {
                    if let Some(id) = files.get_mut(path) {
                        *id = None;
                    }
                }
                is_about_us
            }
            EventKind::Any
            | EventKind::Access(_)
            | EventKind::Create(_)
            | EventKind::Modify(ModifyKind::Any | ModifyKind::Other)
            | EventKind::Other => is_about_us,
        }
    }
}

fn notify_backend(changes: &Changes) -> Result<Backend, PollReason> {
    let watched = Watched::default();
    let (shared, raised) = (watched.clone(), changes.clone());
    let handler = move |event: notify::Result<notify::Event>| {
        let is_write = event.as_ref().is_ok_and(is_write);
        if !event.map_or(true, |event| shared.is_concerned(&event)) {
            return;
        }
        if raised.raise() >= UNNOTICED && is_write {
            // The owner has been told already. While this thread rests the kernel keeps all further writes
            // to a file as one event; to wake it for each would cost the writers more than their writes.
            std::thread::sleep(REST);
        }
    };
    let config = Config::default().with_event_kinds(EventKindMask::CORE);
    match RecommendedWatcher::new(handler, config) {
        Ok(watcher) => Ok(Backend::Notify { watcher, watched }),
        Err(error) => Err(refusal(&error).unwrap_or(PollReason::Refused(error.to_string()))),
    }
}

fn is_write(event: &notify::Event) -> bool {
    matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)))
}

/// Nothing that is done under these locks leaves a half-done state.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
