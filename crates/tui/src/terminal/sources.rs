//! Everything that can wake the view, and what there is to read then.

use super::WatchError;
use super::commands::Commands;
use super::signals::Signals;
use super::tail::Tail;
use crate::conversation::Conversation;
use crate::flow::flow;
use crate::harmless::harmless;
use crate::look::Look;
use crate::screen::Pane;
use processes::ProcessHandle;
use protocol::{AgentName, Incarnation, Recipient};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io::{self, Read, Write, stdin};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use teamdir::{EventReader, MAX_SLEEP, PathError, TeamDir, WatchChoice, Watcher};

/// How much of the history is shown at first.
const HISTORY: u64 = 64 << 10;
/// How much of a log is read at first.
const LOG: u64 = 32 << 10;
/// How much of a journal. A record may be long, so it is more.
const JOURNAL: u64 = 256 << 10;
/// How often the ages on the screen are brought up to date.
const TICK: Duration = Duration::from_secs(5);
/// How long files are left alone after a look: a busy team changes them all the time.
const PAUSE: Duration = Duration::from_millis(50);

/// What woke the view.
#[derive(Debug, Default)]
pub(super) struct Wake {
    pub(super) keyboard: bool,
    pub(super) files: bool,
    pub(super) deaths: bool,
}

/// What has come of whatever is followed.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Whether it begins anew.
    pub(super) is_anew: bool,
    /// Its new lines.
    pub(super) lines: Vec<String>,
    /// What goes on at its end.
    pub(super) running: Vec<String>,
}

/// A file that is followed, and how it is read.
struct Followed {
    tail: Tail,
    /// `None` for a log, whose lines are for people as they are.
    conversation: Option<Conversation>,
}

pub(super) struct Sources {
    watcher: Watcher,
    /// Becomes readable when a watched file has changed.
    wake: UnixStream,
    events: EventReader,
    followed: Option<Followed>,
    /// The processes of the members, each of a certain life. `None` for one that cannot be watched.
    processes: BTreeMap<(AgentName, Incarnation), Option<ProcessHandle>>,
    /// When the files were looked at last.
    looked: Instant,
    /// Whether there was a hint since.
    hinted: bool,
}

impl Sources {
    pub(super) fn new(team: &TeamDir) -> Result<Self, WatchError> {
        let mut events = team.event_reader();
        events.skip_to_last(HISTORY)?;
        let mut watcher = Watcher::new(team.layout().root(), WatchChoice::Auto);
        let wake = wake_on_changes(&mut watcher)?;
        Ok(Self {
            watcher,
            wake,
            events,
            followed: None,
            processes: BTreeMap::new(),
            looked: Instant::now(),
            hinted: false,
        })
    }

    /// Asks to be told of changes.
    pub(super) fn ask(&mut self, team: &TeamDir) {
        let layout = team.layout();
        self.watcher.watch_folder(layout.root());
        self.watcher.watch_file(&layout.events());
        self.watcher.watch_folder(&layout.requests_dir());
        self.watcher.watch_folder(&layout.tasks_dir());
        let members = team.roster().map(|roster| roster.members.clone());
        let names = members.into_iter().flatten().map(|member| member.name);
        let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
        for owner in owners {
            self.watcher.watch_folder(&layout.member_dir(&owner));
        }
        if let Some(followed) = &self.followed {
            self.watcher.watch_file(followed.tail.path());
        }
        self.looked = Instant::now();
        self.hinted = false;
    }

    /// Watches the processes of those who live.
    pub(super) fn attend(&mut self, team: &TeamDir, look: &Look) {
        let alive = look.members.iter().filter(|row| row.state.is_alive());
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

    /// Follows the conversation or the log of a member from its last lines on.
    pub(super) fn follow(&mut self, team: &TeamDir, member: Option<&AgentName>, pane: Pane) {
        if let Some(followed) = self.followed.take() {
            self.watcher.unwatch(followed.tail.path());
        }
        let owner = member.map(|name| Recipient::Member(name.clone()));
        self.followed = owner.map(|owner| match pane {
            Pane::Conversation => Followed {
                tail: Tail::new(team.layout().transcript(&owner), JOURNAL),
                conversation: Some(Conversation::default()),
            },
            Pane::Log => Followed {
                tail: Tail::new(team.layout().member_log(&owner), LOG),
                conversation: None,
            },
        });
        if let Some(followed) = &self.followed {
            self.watcher.watch_file(followed.tail.path());
        }
    }

    /// What has happened since the last time.
    pub(super) fn flow(&mut self) -> Result<Vec<String>, PathError> {
        let mut lines = Vec::new();
        self.events.read(|line| lines.extend(flow(line)))?;
        Ok(lines)
    }

    /// What has come of whatever is followed since the last time.
    pub(super) fn told(&mut self) -> Told {
        self.followed
            .as_mut()
            .map(Followed::told)
            .unwrap_or_default()
    }

    /// Sleeps until something happens.
    pub(super) fn wait(&mut self, signals: &Signals, commands: &Commands) -> io::Result<Wake> {
        let since = self.looked.elapsed();
        let limit = match self.hinted {
            true => PAUSE.saturating_sub(since),
            false => TICK,
        };
        let keys = stdin();
        let mut fds = vec![
            PollFd::new(&keys, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.descriptor(), PollFlags::IN),
            PollFd::from_borrowed_fd(commands.descriptor(), PollFlags::IN),
        ];
        let processes = self.processes.values().flatten();
        let processes =
            processes.map(|process| PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN));
        fds.extend(processes);
        let ends = fds.len();
        // Once it has hinted it would wake us at once until the files are looked at.
        if !self.hinted {
            fds.push(PollFd::new(&self.wake, PollFlags::IN));
        }
        match poll(&mut fds, Timespec::try_from(limit).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let woken = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let is_hung_up = fds
            .first()
            .is_some_and(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR));
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
        Ok(self.take_hints(signals, wake))
    }

    /// Takes what would wake us again although it has been seen.
    fn take_hints(&mut self, signals: &Signals, mut wake: Wake) -> Wake {
        signals.drain();
        for process in self.processes.values_mut() {
            // One that has ended says so for ever.
            if wake.deaths && process.as_ref().is_some_and(ProcessHandle::is_gone) {
                *process = None;
            }
        }
        let mut bytes = [0; 64];
        while let Ok(1..) = (&self.wake).read(&mut bytes) {}
        self.hinted |= self.watcher.check();
        let since = self.looked.elapsed();
        wake.files = (self.hinted && since >= PAUSE) || since >= MAX_SLEEP;
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
    fn told(&mut self) -> Told {
        let news = self.tail.news();
        let Some(conversation) = &mut self.conversation else {
            let lines = news.lines.iter();
            let lines = lines.map(|line| harmless(&String::from_utf8_lossy(line)));
            return Told {
                is_anew: news.is_anew,
                lines: lines.collect(),
                running: Vec::new(),
            };
        };
        if news.is_anew {
            *conversation = Conversation::default();
        }
        let lines = news.lines.iter();
        let lines = lines.flat_map(|line| conversation.read(line)).collect();
        Told {
            is_anew: news.is_anew,
            lines,
            running: conversation.running(),
        }
    }
}
