//! Being woken when a file changes.
//!
//! A hint says "look again", never what happened: hints may come twice, late, or for nothing.
//! Whoever waits asks for notifications first, looks a last time, and only then sleeps.
//!
//! Single files are watched rather than folders: mail for one member then costs the others
//! nothing at all, and a reader's own opening of files is not reported back to it. The system's
//! inotify is used directly. The `notify` crate was measured beside it: it asks for events that
//! mean nothing here (every opening and closing), which wakes its thread three times for a
//! message, and hands each over to the waiting thread; together that was about a third of the time
//! from sending a message to its being shown.

mod polling;

use polling::Looks;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::statfs;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a waiter sleeps at most. Notifications are reliable where they work; this is the net
/// below them, and wide enough to cost nothing.
pub const MAX_SLEEP: Duration = Duration::from_secs(60);
/// How often files are looked at where the system does not tell.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);

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
    /// The files are looked at every [`POLL_INTERVAL`].
    Polling(PollReason),
}

/// Why notifications are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// It was asked for.
    Asked,
    /// The folder lies on a file system that does not report what other machines do.
    Remote(&'static str),
    /// The user has no notification instance or watch left.
    Limit,
    /// The system refused.
    Refused(String),
}

/// Hints about a set of files.
#[derive(Debug)]
pub struct Watch {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Notified {
        instance: OwnedFd,
        asked: BTreeMap<PathBuf, i32>,
    },
    Polling {
        reason: PollReason,
        files: Looks,
    },
}

impl Watch {
    /// A watch on files in `folder`.
    pub fn new(folder: &Path, choice: WatchChoice) -> Self {
        let reason = match choice {
            WatchChoice::Poll => Some(PollReason::Asked),
            WatchChoice::Auto => remote_file_system(folder).map(PollReason::Remote),
        };
        let source = match reason {
            Some(reason) => Source::polling(reason),
            None => match inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
                Ok(instance) => Source::Notified {
                    instance,
                    asked: BTreeMap::new(),
                },
                Err(error) => Source::polling(refusal(error)),
            },
        };
        Self { source }
    }

    /// How changes are learned about. Worth telling a person once if it is by polling.
    pub fn mode(&self) -> WatchMode {
        match &self.source {
            Source::Notified { .. } => WatchMode::Notified,
            Source::Polling { reason, .. } => WatchMode::Polling(reason.clone()),
        }
    }

    /// What becomes readable when there is a hint, for an event loop; `None` where files have to
    /// be looked at. Call [`Watch::check`] then.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Notified { instance, .. } => Some(instance.as_fd()),
            Source::Polling { .. } => None,
        }
    }

    /// Asks for hints about the file at `path`. A file that is not there gives none.
    pub fn ask(&mut self, path: &Path) {
        let events = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE_SELF
            | WatchFlags::DELETE_SELF;
        self.ask_for(path, events);
    }

    /// Asks for hints about a folder: files that come into it, are replaced or go.
    pub fn ask_folder(&mut self, path: &Path) {
        self.ask_for(
            path,
            WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::DELETE,
        );
    }

    fn ask_for(&mut self, path: &Path, events: WatchFlags) {
        let refused = match &mut self.source {
            Source::Polling { files, .. } => return files.add(path),
            Source::Notified { instance, asked } => {
                match inotify::add_watch(&*instance, path, events) {
                    Ok(watch) => {
                        asked.insert(path.to_path_buf(), watch);
                        return;
                    }
                    // The look that follows finds out what has become of it.
                    Err(Errno::NOENT) => return,
                    Err(error) => refusal(error),
                }
            }
        };
        self.fall_back(refused, path);
    }

    /// Asks for no more hints about the file at `path`.
    pub fn forget(&mut self, path: &Path) {
        match &mut self.source {
            Source::Polling { files, .. } => files.remove(path),
            Source::Notified { instance, asked } => {
                if let Some(watch) = asked.remove(path) {
                    // It is gone already if the file is.
                    let _ = inotify::remove_watch(&*instance, watch);
                }
            }
        }
    }

    /// Whether there has been a hint since the last time. Does not wait.
    pub fn check(&mut self) -> bool {
        match &mut self.source {
            Source::Polling { files, .. } => files.changed(),
            Source::Notified { instance, .. } => drain(instance),
        }
    }

    /// Sleeps until a hint comes, until `wake_at`, or for [`MAX_SLEEP`] at most. Returns whether a
    /// hint came.
    pub fn wait(&mut self, wake_at: Option<Instant>) -> bool {
        let net = Instant::now() + MAX_SLEEP;
        let wake_at = wake_at.map_or(net, |at| at.min(net));
        loop {
            let rest = wake_at.saturating_duration_since(Instant::now());
            match &mut self.source {
                Source::Polling { files, .. } => {
                    std::thread::sleep(rest.min(POLL_INTERVAL));
                    if files.changed() {
                        return true;
                    }
                }
                Source::Notified { instance, .. } => {
                    sleep_on(instance, rest);
                    if drain(instance) {
                        return true;
                    }
                }
            }
            if Instant::now() >= wake_at {
                return false;
            }
        }
    }

    /// Goes on by looking, with all the files that were asked for.
    fn fall_back(&mut self, reason: PollReason, newest: &Path) {
        let mut files = Looks::default();
        if let Source::Notified { asked, .. } = &self.source {
            asked.keys().for_each(|path| files.add(path));
        }
        files.add(newest);
        self.source = Source::Polling { reason, files };
    }
}

impl Source {
    fn polling(reason: PollReason) -> Self {
        let files = Looks::default();
        Self::Polling { reason, files }
    }
}

fn sleep_on(instance: &OwnedFd, limit: Duration) {
    let timeout = Timespec::try_from(limit).ok();
    // An interruption is a wake-up like any other: the caller looks at the clock.
    let _ = poll(
        &mut [PollFd::new(instance, PollFlags::IN)],
        timeout.as_ref(),
    );
}

/// Takes the events that are there. Returns whether one of them can mean something: our own
/// forgetting of a file is reported too.
fn drain(instance: &OwnedFd) -> bool {
    let mut space = [MaybeUninit::uninit(); 1024];
    let mut reader = Reader::new(instance, &mut space);
    let mut hint = false;
    loop {
        match reader.next() {
            Ok(event) => hint |= event.events() != ReadFlags::IGNORED,
            Err(Errno::INTR) => {}
            Err(_) => return hint,
        }
        // What does not fit is found by the next wait, which does not sleep then.
        if reader.is_buffer_empty() {
            return hint;
        }
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
    let known = REMOTE.iter().find(|(known, _)| *known == magic);
    known.map(|(_, name)| *name)
}

fn refusal(error: Errno) -> PollReason {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOSPC => PollReason::Limit,
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
