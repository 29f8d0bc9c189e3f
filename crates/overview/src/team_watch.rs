//! Wakes whoever shows a team when its files change or one of its processes ends.

use crate::snapshot::Snapshot;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use processes::ProcessHandle;
use protocol::{AgentName, Incarnation, Recipient};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use teamdir::{MAX_SLEEP, TeamDir, WatchChoice, Watcher};

/// The minimum time between two reads of the files: a busy team changes them all the time.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Why a wait has ended.
#[derive(Debug, Default)]
pub struct Wake {
    /// Whether each of the descriptors that were passed is ready, in their order.
    pub ready: Vec<PollFlags>,
    pub files: bool,
    pub deaths: bool,
}

/// The files and the processes of a team.
pub struct TeamWatch {
    watcher: Watcher,
    /// Becomes readable when a watched file has changed.
    wake: UnixStream,
    /// The processes of the members, by incarnation. `None` for one that cannot be watched.
    processes: BTreeMap<(AgentName, Incarnation), Option<ProcessHandle>>,
    last_read: Instant,
    /// Whether the watch reported a change since the last read.
    has_changes: bool,
    pause: Duration,
}

impl TeamWatch {
    pub fn new(team: &TeamDir) -> io::Result<Self> {
        let mut watcher = Watcher::new(team.layout().root(), WatchChoice::Auto);
        let wake = wake_on_changes(&mut watcher)?;
        Ok(Self {
            watcher,
            wake,
            processes: BTreeMap::new(),
            last_read: Instant::now(),
            has_changes: false,
            pause: PAUSE,
        })
    }

    /// Watches all files of the team. Call it before they are read, so that no change is missed.
    pub fn watch_files(&mut self, team: &TeamDir) {
        let layout = team.layout();
        self.watcher.watch_folder(layout.root());
        self.watcher.watch_file(&layout.events());
        self.watcher.watch_folder(&layout.requests_dir());
        self.watcher.watch_folder(&team.board_news_dir());
        let members = team.roster().map(|roster| roster.members.clone());
        let names = members.into_iter().flatten().map(|member| member.spec.name);
        let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
        for owner in owners {
            self.watcher.watch_folder(&layout.member_dir(&owner));
        }
        self.last_read = Instant::now();
        self.has_changes = false;
    }

    /// Watches one more file.
    pub fn watch_file(&mut self, path: &Path) {
        self.watcher.watch_file(path);
    }

    pub fn unwatch(&mut self, path: &Path) {
        self.watcher.unwatch(path);
    }

    /// Changes the minimum time between two reads.
    pub const fn set_pause(&mut self, pause: Duration) {
        self.pause = pause;
    }

    /// Watches the processes of running members.
    pub fn watch_processes(&mut self, team: &TeamDir, snapshot: &Snapshot) {
        let alive = snapshot.members.iter().filter(|row| row.state.is_alive());
        let alive: Vec<(AgentName, Incarnation)> = alive
            .map(|row| (row.name.clone(), row.incarnation))
            .collect();
        self.processes
            .retain(|incarnation, _| alive.contains(incarnation));
        for (name, incarnation) in alive {
            let owner = Recipient::Member(name.clone());
            let key = (name, incarnation);
            if self.processes.contains_key(&key) {
                continue;
            }
            let process = ProcessHandle::of(team, &owner).ok().flatten();
            let process = process.filter(|process| process.incarnation() == incarnation);
            // It may have ended since the snapshot was taken, which no file tells: look once more.
            self.has_changes |= process.is_none();
            self.processes.insert(key, process);
        }
    }

    /// Sleeps until there is something to read, one of `others` is readable, or `limit` is over. A team at rest
    /// is looked at every [`MAX_SLEEP`], in case a notification was lost.
    pub fn wait(&mut self, others: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<Wake> {
        let since = self.last_read.elapsed();
        let limit = match self.has_changes {
            true => self.pause.saturating_sub(since),
            false => MAX_SLEEP
                .saturating_sub(since)
                .min(limit.unwrap_or(MAX_SLEEP)),
        };
        let others = others.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
        let mut fds: Vec<PollFd<'_>> = others.collect();
        let first = fds.len();
        let processes = self.processes.values().flatten();
        let processes = processes.map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN));
        fds.extend(processes);
        let ends = fds.len();
        // After a change the descriptor stays readable until the files are read.
        if !self.has_changes {
            fds.push(PollFd::new(self.wake.as_fd(), PollFlags::POLLIN));
        }
        match ppoll(&mut fds, Some(TimeSpec::from(limit)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let found = |fd: &PollFd<'_>| fd.revents().unwrap_or_else(PollFlags::empty);
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        let mut wake = Wake {
            ready: fds.iter().take(first).map(found).collect(),
            deaths: fds.iter().take(ends).skip(first).any(is_ready),
            files: false,
        };
        drop(fds);
        self.clear_wakeups(&mut wake);
        Ok(wake)
    }

    /// Clears the sources that would end the next wait at once.
    fn clear_wakeups(&mut self, wake: &mut Wake) {
        for process in self.processes.values_mut() {
            // The descriptor of an ended process stays readable.
            if wake.deaths && process.as_ref().is_some_and(ProcessHandle::is_gone) {
                *process = None;
            }
        }
        let mut bytes = [0; 64];
        while let Ok(1..) = (&self.wake).read(&mut bytes) {}
        self.has_changes |= self.watcher.check();
        let since = self.last_read.elapsed();
        wake.files = (self.has_changes && since >= self.pause) || since >= MAX_SLEEP;
    }
}

/// A socket that becomes readable when a watched file changes.
fn wake_on_changes(watcher: &mut Watcher) -> io::Result<UnixStream> {
    let (wake, waker) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    // A socket that is full will wake its reader anyway.
    watcher.changes().call(move || drop((&waker).write(&[1])));
    Ok(wake)
}
