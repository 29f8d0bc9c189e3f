//! Being woken when a file changes.
//!
//! A hint says "look again", never what happened: hints may come twice, late, or for nothing.
//! Whoever waits asks for notifications first, looks a last time, and only then sleeps.
//!
//! Single files are watched rather than folders: mail for one member then costs the others
//! nothing at all, and a reader's own opening of files is not reported back to it.

mod poll;

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use poll::Poller;
use rustix::fs::statfs;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How long a waiter sleeps at most. Notifications are reliable where they work; this is the net
/// below them, and wide enough to cost nothing.
pub const NET: Duration = Duration::from_secs(60);

/// How to learn about changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchChoice {
    /// By notification where that works, otherwise by looking.
    #[default]
    Auto,
    /// By looking.
    Poll,
}

/// How changes are learned about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMode {
    /// The system tells.
    Notified,
    /// Somebody looks every [`poll::EVERY`].
    Polling(PollReason),
}

/// Why notifications are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// It was asked for.
    Asked,
    /// The folder lies on a file system that does not report what other machines do.
    Remote(&'static str),
    /// The user has no notification instance left.
    Limit,
    /// The system refused.
    Refused(String),
}

type Hint = Arc<dyn Fn() + Send + Sync>;

/// Notifications for a set of files.
pub struct Watch {
    backend: Backend,
    asked: BTreeSet<PathBuf>,
    mode: WatchMode,
    hint: Hint,
}

enum Backend {
    Notify(RecommendedWatcher),
    Poll(Poller),
}

/// The blocking side of a [`Watch`].
#[derive(Debug)]
pub struct Waiter {
    hints: Receiver<()>,
}

impl Watch {
    /// A watch on files in `folder` that calls `hint` on a thread of its own. The call must not
    /// block.
    pub fn new(
        folder: &Path,
        choice: WatchChoice,
        hint: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let hint: Hint = Arc::new(hint);
        let (backend, mode) = match choose(folder, choice) {
            Some(reason) => (poller(&hint), WatchMode::Polling(reason)),
            None => match notifier(&hint) {
                Ok(watcher) => (Backend::Notify(watcher), WatchMode::Notified),
                Err(error) => (poller(&hint), WatchMode::Polling(reason(&error))),
            },
        };
        let asked = BTreeSet::new();
        Self {
            backend,
            asked,
            mode,
            hint,
        }
    }

    /// A watch for a thread that sleeps until a hint comes.
    pub fn blocking(folder: &Path, choice: WatchChoice) -> (Self, Waiter) {
        // One waiting hint says as much as many.
        let (sender, hints): (SyncSender<()>, _) = sync_channel(1);
        let watch = Self::new(folder, choice, move || {
            let _ = sender.try_send(());
        });
        (watch, Waiter { hints })
    }

    /// How changes are learned about. Worth telling a person once if it is by polling.
    pub const fn mode(&self) -> &WatchMode {
        &self.mode
    }

    /// Asks for hints about the file at `path`, which must exist. Returns whether that is new.
    pub fn ask(&mut self, path: &Path) -> bool {
        if !self.asked.insert(path.to_path_buf()) {
            return false;
        }
        let refused = match &mut self.backend {
            Backend::Poll(poller) => {
                poller.add(path);
                None
            }
            Backend::Notify(watcher) => watcher.watch(path, RecursiveMode::NonRecursive).err(),
        };
        match refused {
            // A file that has just gone is found out by the next look.
            Some(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => (self.hint)(),
            Some(error) => self.fall_back(reason(&error)),
            None => {}
        }
        true
    }

    /// Asks for no more hints about the file at `path`.
    pub fn forget(&mut self, path: &Path) {
        if !self.asked.remove(path) {
            return;
        }
        match &mut self.backend {
            Backend::Poll(poller) => poller.remove(path),
            // It may have been removed by the watcher itself when the file was deleted.
            Backend::Notify(watcher) => drop(watcher.unwatch(path)),
        }
    }

    fn fall_back(&mut self, reason: PollReason) {
        let mut backend = poller(&self.hint);
        if let Backend::Poll(poller) = &mut backend {
            for path in &self.asked {
                poller.add(path);
            }
        }
        self.backend = backend;
        self.mode = WatchMode::Polling(reason);
        // What happened while nobody watched is found by looking.
        (self.hint)();
    }
}

impl Waiter {
    /// Sleeps until a hint comes, until `wake_at`, or for [`NET`] at most. Returns whether a
    /// hint came.
    pub fn wait(&self, wake_at: Option<Instant>) -> bool {
        let limit = wake_at.map_or(NET, |at| {
            at.saturating_duration_since(Instant::now()).min(NET)
        });
        match self.hints.recv_timeout(limit) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

fn poller(hint: &Hint) -> Backend {
    Backend::Poll(Poller::start(Arc::clone(hint)))
}

fn notifier(hint: &Hint) -> notify::Result<RecommendedWatcher> {
    let hint = Arc::clone(hint);
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let relevant = event.map_or(true, |event| event.need_rescan() || matters(&event.kind));
        if relevant {
            hint();
        }
    })
}

/// Whether an event can mean new mail. Opening, reading and closing cannot.
fn matters(kind: &EventKind) -> bool {
    match kind {
        EventKind::Modify(
            ModifyKind::Any
            | ModifyKind::Data(_)
            | ModifyKind::Name(_)
            | ModifyKind::Metadata(_)
            | ModifyKind::Other,
        )
        | EventKind::Remove(_)
        | EventKind::Any => true,
        EventKind::Access(_) | EventKind::Create(_) | EventKind::Other => false,
    }
}

/// The reason to look rather than be told, if there is one beforehand.
fn choose(folder: &Path, choice: WatchChoice) -> Option<PollReason> {
    match choice {
        WatchChoice::Poll => Some(PollReason::Asked),
        WatchChoice::Auto => remote_file_system(folder).map(PollReason::Remote),
    }
}

/// The name of a file system that other machines write to unseen by this one.
fn remote_file_system(folder: &Path) -> Option<&'static str> {
    const REMOTE: [(u32, &str); 9] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "FUSE"),
        (0x00c3_6400, "Ceph"),
        (0x5346_414f, "AFS"),
        (0x786f_4256, "vboxsf"),
    ];
    let kind = statfs(folder).ok()?.f_type;
    // The field is signed on some systems; the low 32 bits are the magic number everywhere.
    let magic = u32::try_from(i128::from(kind) & 0xffff_ffff).ok()?;
    REMOTE
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, name)| *name)
}

fn reason(error: &notify::Error) -> PollReason {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => PollReason::Limit,
        notify::ErrorKind::Io(cause) if cause.raw_os_error() == Some(libc::EMFILE) => {
            PollReason::Limit
        }
        _ => PollReason::Refused(error.to_string()),
    }
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("polling was asked for"),
            Self::Remote(name) => write!(
                f,
                "the folder lies on {name}, which does not report changes made elsewhere"
            ),
            Self::Limit => f.write_str(
                "this user has no inotify instance or watch left; raise the limit with \
                 `sysctl fs.inotify.max_user_instances=1024`",
            ),
            Self::Refused(cause) => write!(f, "the system refused notifications: {cause}"),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("mode", &self.mode)
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}
