//! The sources of input: files, processes, keyboard, signals.

use super::WatchError;
use super::commands::Commands;
use super::signals::Signals;
use crate::conversation::Conversation;
use crate::screen::Pane;
use crate::text_line::{LineKind, TextLine};
use nix::poll::PollFlags;
use overview::{FileChange, Snapshot, Tail, TeamWatch, event_text};
use protocol::{AgentName, Recipient};
use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::time::Duration;
use teamdir::{EventReader, PathError, TeamDir};

/// The part of the event log that is shown at first.
const EVENT_BYTES: u64 = 64 << 10;
/// The part of a log that is shown at first.
const LOG_BYTES: u64 = 32 << 10;
/// The part of a journal that is shown at first. Records may be long.
const JOURNAL_BYTES: u64 = 256 << 10;

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
    watch: TeamWatch,
    events: EventReader,
    followed: Option<Followed>,
    colors: bool,
}

impl Sources {
    pub(super) fn new(team: &TeamDir, colors: bool) -> Result<Self, WatchError> {
        let mut events = team.event_reader();
        events.skip_to_last(EVENT_BYTES)?;
        Ok(Self {
            watch: TeamWatch::new(team)?,
            events,
            followed: None,
            colors,
        })
    }

    /// Watches all files of the team.
    pub(super) fn watch_files(&mut self, team: &TeamDir) {
        self.watch.watch_files(team);
        if let Some(followed) = &self.followed {
            self.watch.watch_file(followed.tail.path());
        }
    }

    /// Watches the processes of running members.
    pub(super) fn watch_processes(&mut self, team: &TeamDir, snapshot: &Snapshot) {
        self.watch.watch_processes(team, snapshot);
    }

    /// Follows the conversation or the log of a member, starting with its last lines.
    pub(super) fn follow(&mut self, team: &TeamDir, member: Option<&AgentName>, pane: Pane) {
        if let Some(followed) = self.followed.take() {
            self.watch.unwatch(followed.tail.path());
        }
        let owner = member.map(|name| Recipient::Member(name.clone()));
        self.followed = owner.map(|owner| match pane {
            Pane::Conversation => Followed {
                tail: Tail::new(team.layout().transcript(&owner), JOURNAL_BYTES),
                conversation: Some(Conversation::new(self.colors)),
            },
            Pane::Log => Followed {
                tail: Tail::new(team.layout().member_log(&owner), LOG_BYTES),
                conversation: None,
            },
        });
        if let Some(followed) = &self.followed {
            self.watch.watch_file(followed.tail.path());
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
        let Some(followed) = &mut self.followed else {
            return FollowedLines::default();
        };
        // The file may be another one since the last time.
        self.watch.watch_file(followed.tail.path());
        followed.new_lines()
    }

    /// Sleeps until there is input, or until a clock on the screen shows something else.
    pub(super) fn wait(
        &mut self,
        signals: &Signals,
        commands: &Commands,
        tick: Option<Duration>,
    ) -> io::Result<Wake> {
        let keys = stdin();
        let others = [keys.as_fd(), signals.descriptor(), commands.descriptor()];
        let woken = self.watch.wait(&others, tick)?;
        signals.drain();
        let keyboard = woken.ready.first().copied();
        let keyboard = keyboard.unwrap_or_else(PollFlags::empty);
        if keyboard.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the terminal is gone",
            ));
        }
        Ok(Wake {
            keyboard: !keyboard.is_empty(),
            files: woken.files,
            deaths: woken.deaths,
        })
    }
}

impl Followed {
    fn new_lines(&mut self) -> FollowedLines {
        let new = self.tail.new_lines();
        let Some(conversation) = &mut self.conversation else {
            let lines = new.lines.iter();
            let lines =
                lines.map(|line| TextLine::new(LineKind::Said, &String::from_utf8_lossy(line)));
            return FollowedLines {
                is_new_file: new.file != FileChange::Same,
                lines: lines.collect(),
                running: Vec::new(),
            };
        };
        let is_new_file = new.is_other_conversation();
        if is_new_file {
            conversation.restart();
        }
        let lines = new.of_conversation();
        let lines = lines.flat_map(|line| conversation.read(line)).collect();
        FollowedLines {
            is_new_file,
            lines,
            running: conversation.running(),
        }
    }
}
