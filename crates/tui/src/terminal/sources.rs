//! The sources of input: files, processes, keyboard, signals.

use super::WatchError;
use super::commands::Commands;
use super::signals::Signals;
use super::tail::Tail;
use crate::conversation::Conversation;
use crate::event_text::event_text;
use crate::screen::Pane;
use crate::snapshot::Snapshot;
use crate::text_line::{LineKind, TextLine};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use processes::ProcessHandle;
use protocol::{AgentName, Incarnation, Recipient};
use std::collections::BTreeMap;
use std::io::{self, Read, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use teamdir::{EventReader, MAX_SLEEP, PathError, TeamDir, WatchChoice, Watcher};

/// The part of the event log that is shown at first.
const EVENT_BYTES: u64 = 64 << 10;
/// The part of a log that is shown at first.
const LOG_BYTES: u64 = 32 << 10;
/// The part of a journal that is shown at first. Records may be long.
const JOURNAL_BYTES: u64 = 256 << 10;
/// The minimum time between two reads of the files: a busy team changes them all the time.
const PAUSE: Duration = Duration::from_millis(50);

/// What woke the view.
#[derive(Debug, Default)]
pub(super) struct Wake {
    pub(super) keyboard: bool,
    pub(super) files: bool,
    pub(super) deaths: bool,
}

/// The new lines of the followed file.
#[derive(Debug, Default)]
pub(super) struct FollowedLines {
    /// Whether the file was replaced, so that the old lines are obsolete.
    pub(super) is_new_file: bool,
    pub(super) lines: Vec<TextLine>,
    /// The unfinished tool calls at the end.
    pub(super) running: Vec<TextLine>,
}

/// A followed conversation or log.
struct Followed {
    tail: Tail,
    /// `None` for a log, whose lines are shown as they are.
    conversation: Option<Conversation>,
}

pub(super) struct Sources {
    watcher: Watcher,
    /// Becomes readable when a watched file has changed.
    wake: UnixStream,
    events: EventReader,
    followed: Option<Followed>,
    /// The processes of the members, by incarnation. `None` for one that cannot be watched.
    processes: BTreeMap<(AgentName, Incarnation), Option<ProcessHandle>>,
    last_read: Instant,
    /// Whether the watch reported a change since the last read.
    has_changes: bool,
}

impl Sources {
    pub(super) fn new(team: &TeamDir) -> Result<Self, WatchError> {
        let mut events = team.event_reader();
        events.skip_to_last(EVENT_BYTES)?;
        let mut watcher = Watcher::new(team.layout().root(), WatchChoice::Auto);
        let wake = wake_on_changes(&mut watcher)?;
        Ok(Self {
            watcher,
            wake,
            events,
            followed: None,
            processes: BTreeMap::new(),
            last_read: Instant::now(),
            has_changes: false,
        })
    }

    /// Watches all files of the team.
    pub(super) fn watch_files(&mut self, team: &TeamDir) {
        let layout = team.layout();
        self.watcher.watch_folder(layout.root());
        self.watcher.watch_file(&layout.events());
        self.watcher.watch_folder(&layout.requests_dir());
        self.watcher.watch_folder(&layout.tasks_dir());
        let members = team.roster().map(|roster| roster.members.clone());
        let names = members.into_iter().flatten().map(|member| member.spec.name);
        let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
        for owner in owners {
            self.watcher.watch_folder(&layout.member_dir(&owner));
        }
        if let Some(followed) = &self.followed {
            self.watcher.watch_file(followed.tail.path());
        }
        self.last_read = Instant::now();
        self.has_changes = false;
    }

    /// Watches the processes of running members.
    pub(super) fn watch_processes(&mut self, team: &TeamDir, snapshot: &Snapshot) {
        let alive = snapshot.members.iter().filter(|row| row.state.is_alive());
        let alive: Vec<(AgentName, Incarnation)> = alive
            .map(|row| (row.name.clone(), row.incarnation))
            .collect();
        self.processes
            .retain(|incarnation, _| alive.contains(incarnation));
        for (name, incarnation) in alive {
            let owner = Recipient::Member(name.clone());
            self.processes
                .entry((name, incarnation))
                .or_insert_with(|| {
                    let process = ProcessHandle::of(team, &owner).ok().flatten();
                    process.filter(|process| process.incarnation() == incarnation)
                });
        }
    }

    /// Follows the conversation or the log of a member, starting with its last lines.
    pub(super) fn follow(&mut self, team: &TeamDir, member: Option<&AgentName>, pane: Pane) {
        if let Some(followed) = self.followed.take() {
            self.watcher.unwatch(followed.tail.path());
        }
        let owner = member.map(|name| Recipient::Member(name.clone()));
        self.followed = owner.map(|owner| match pane {
            Pane::Conversation => Followed {
                tail: Tail::new(team.layout().transcript(&owner), JOURNAL_BYTES),
                conversation: Some(Conversation::default()),
            },
            Pane::Log => Followed {
                tail: Tail::new(team.layout().member_log(&owner), LOG_BYTES),
                conversation: None,
            },
        });
        if let Some(followed) = &self.followed {
            self.watcher.watch_file(followed.tail.path());
        }
    }

    /// The text of new events.
    pub(super) fn events(&mut self) -> Result<Vec<String>, PathError> {
        let mut lines = Vec::new();
        self.events.read(|line| lines.extend(event_text(line)))?;
        Ok(lines)
    }

    /// The new lines of the followed file.
    pub(super) fn followed_lines(&mut self) -> FollowedLines {
        self.followed
            .as_mut()
            .map(Followed::new_lines)
            .unwrap_or_default()
    }

    /// Sleeps until there is input, or until a clock on the screen shows something else. A team at rest is
    /// looked at every [`MAX_SLEEP`], in case a notification was lost.
    pub(super) fn wait(
        &mut self,
        signals: &Signals,
        commands: &Commands,
        tick: Option<Duration>,
    ) -> io::Result<Wake> {
        let since = self.last_read.elapsed();
        let limit = match self.has_changes {
            true => PAUSE.saturating_sub(since),
            false => MAX_SLEEP
                .saturating_sub(since)
                .min(tick.unwrap_or(MAX_SLEEP)),
        };
        let keys = stdin();
        let mut fds = vec![
            PollFd::new(keys.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.descriptor(), PollFlags::POLLIN),
            PollFd::new(commands.descriptor(), PollFlags::POLLIN),
        ];
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
        let woken = |at: usize| fds.get(at).and_then(PollFd::any).unwrap_or(false);
        let is_hung_up = fds
            .first()
            .and_then(PollFd::revents)
            .is_some_and(|found| found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR));
        if is_hung_up {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the terminal is gone",
            ));
        }
        let wake = Wake {
            keyboard: woken(0),
            deaths: (3..ends).any(woken),
            files: false,
        };
        drop(fds);
        Ok(self.clear_wakeups(signals, wake))
    }

    /// Clears the sources that would wake the view again.
    fn clear_wakeups(&mut self, signals: &Signals, mut wake: Wake) -> Wake {
        signals.drain();
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
        wake.files = (self.has_changes && since >= PAUSE) || since >= MAX_SLEEP;
        wake
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

impl Followed {
    fn new_lines(&mut self) -> FollowedLines {
        let new = self.tail.new_lines();
        let Some(conversation) = &mut self.conversation else {
            let lines = new.lines.iter();
            let lines =
                lines.map(|line| TextLine::new(LineKind::Said, &String::from_utf8_lossy(line)));
            return FollowedLines {
                is_new_file: new.is_new_file,
                lines: lines.collect(),
                running: Vec::new(),
            };
        };
        if new.is_new_file {
            *conversation = Conversation::default();
        }
        let lines = new.lines.iter();
        let lines = lines.flat_map(|line| conversation.read(line)).collect();
        FollowedLines {
            is_new_file: new.is_new_file,
            lines,
            running: conversation.running(),
        }
    }
}
