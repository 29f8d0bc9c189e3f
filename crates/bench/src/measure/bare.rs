//! The least that any mailbox of files must do, in bare system calls.

use super::end::{End, Kind, LINE, Medium};
use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::time::TimeSpec;
use notify::{Config, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// An end whose mailbox is a file that is appended to and never emptied.
pub(super) struct BareEnd {
    peer: PathBuf,
    synced: bool,
    inbox: Option<Inbox>,
}

struct Inbox {
    file: File,
    offset: u64,
    notices: Notices,
    journal: Option<File>,
    buffer: Vec<u8>,
}

/// How the reader learns of a line.
enum Notices {
    /// The reader's own thread waits for the kernel.
    Inotify(Inotify),
    /// The thread of the crate `notify` waits for the kernel, and wakes the reader's.
    Notify {
        _watcher: RecommendedWatcher,
        woken: Receiver<()>,
    },
}

impl BareEnd {
    pub(super) fn prepare(dir: &Path, members: &[&str]) -> anyhow::Result<()> {
        for name in members {
            File::create(inbox(dir, name))?;
        }
        Ok(())
    }

    pub(super) fn open_to_send(medium: &Medium) -> Self {
        Self {
            peer: inbox(&medium.dir, &medium.peer),
            synced: medium.kind == Kind::BareSynced,
            inbox: None,
        }
    }

    pub(super) fn open(medium: &Medium) -> anyhow::Result<Self> {
        let path = inbox(&medium.dir, &medium.me);
        let journal = if medium.kind == Kind::Bare {
            None
        } else {
            let path = medium.dir.join(format!("{}.journal", medium.me));
            Some(OpenOptions::new().append(true).create(true).open(path)?)
        };
        let inbox = Inbox {
            file: File::open(&path).with_context(|| format!("open {}", path.display()))?,
            offset: 0,
            notices: match medium.kind {
                Kind::BareNotify => Notices::notify(&path)?,
                _ => Notices::Inotify(watch(&path)?),
            },
            journal,
            buffer: vec![0; CHUNK],
        };
        Ok(Self {
            inbox: Some(inbox),
            ..Self::open_to_send(medium)
        })
    }
}

impl End for BareEnd {
    fn send(&mut self, content: &str) -> anyhow::Result<bool> {
        let mut line = content.as_bytes().to_vec();
        line.resize(LINE - 1, b' ');
        line.push(b'\n');
        append(&self.peer, &line, self.synced)?;
        Ok(true)
    }

    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>> {
        let inbox = self.inbox.as_mut().context("this end only sends")?;
        loop {
            let lines = inbox.read()?;
            if !lines.is_empty() {
                if let Some(journal) = &mut inbox.journal {
                    journal.write_all(&lines)?;
                    if self.synced {
                        journal.sync_data()?;
                    }
                }
                let text = String::from_utf8(lines)?;
                return Ok(text.lines().map(str::to_owned).collect());
            }
            if !inbox.notices.wait(deadline)? {
                return Ok(Vec::new());
            }
        }
    }
}

impl Inbox {
    /// The whole lines that were not read yet.
    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        let read = self.file.read_at(&mut self.buffer, self.offset)?;
        let bytes = self.buffer.get(..read).unwrap_or_default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let lines = bytes.get(..whole.map_or(0, |at| at + 1));
        let lines = lines.unwrap_or_default().to_vec();
        self.offset += lines.len() as u64;
        Ok(lines)
    }
}

/// Opens, appends, and syncs if asked to.
pub(super) fn append(path: &Path, line: &[u8], synced: bool) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(line)?;
    if synced { file.sync_data() } else { Ok(()) }
}

/// Watches the file at `path` for writes.
pub(super) fn watch(path: &Path) -> anyhow::Result<Inotify> {
    let notices = Inotify::init(InitFlags::IN_CLOEXEC)?;
    notices.add_watch(path, AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_MOVED_TO)?;
    Ok(notices)
}

impl Notices {
    fn notify(path: &Path) -> anyhow::Result<Self> {
        let (wake, woken) = sync_channel(1);
        let config = Config::default().with_event_kinds(EventKindMask::CORE);
        let handler = move |_| {
            // A full channel means that the reader is woken already.
            let _ = wake.try_send(());
        };
        let mut watcher = RecommendedWatcher::new(handler, config)?;
        watcher.watch(path, RecursiveMode::NonRecursive)?;
        Ok(Self::Notify {
            _watcher: watcher,
            woken,
        })
    }

    /// Sleeps until there is a notice, and takes it. `false` if the deadline came first.
    fn wait(&self, deadline: Option<Instant>) -> anyhow::Result<bool> {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        match self {
            Self::Inotify(notices) => {
                if let Some(left) = left {
                    let left = TimeSpec::from(left.max(Duration::from_millis(1)));
                    let mut sources = [PollFd::new(notices.as_fd(), PollFlags::POLLIN)];
                    if ppoll(&mut sources, Some(left), None)? == 0 {
                        return Ok(false);
                    }
                }
                notices.read_events()?;
                Ok(true)
            }
            Self::Notify { woken, .. } => match left {
                None => Ok(woken.recv().map(|()| true)?),
                Some(left) => match woken.recv_timeout(left) {
                    Ok(()) => Ok(true),
                    Err(RecvTimeoutError::Timeout) => Ok(false),
                    Err(error @ RecvTimeoutError::Disconnected) => Err(error.into()),
                },
            },
        }
    }
}

fn inbox(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.jsonl"))
}
