//! Who has changed a file of a shared workspace, by the event log.
//!
//! The file tools of all members record what they write, and commands are recorded when they end. Only the
//! end of the log is read, and only when a member was about to overwrite a change.

use protocol::{Event, EventKind, EventLine, Incarnation, Recipient, Timestamp};
use std::path::Path;
use std::time::{Duration, SystemTime};
use teamdir::TeamDir;
use tools::{Bash, ChangedBy, Changes, Tool};

/// How much of the log is read.
const MOST_BYTES: u64 = 512 << 10;
/// How much later than the content of a file the event about it can be.
const LATE: Duration = Duration::from_secs(5);
/// By how much the beginning of a command can be known too late: the log has times of ends and durations.
const INACCURACY: Duration = Duration::from_millis(100);

/// The changes of the workspace by all members, as one of them records and asks for them.
#[derive(Debug)]
pub(crate) struct TeamChanges {
    pub(crate) team: TeamDir,
    pub(crate) me: Recipient,
    pub(crate) incarnation: Incarnation,
}

impl Changes for TeamChanges {
    fn record(&self, location: &Path) {
        // The events only tell who it was.
        let _ = self.team.log_event(EventKind::File {
            member: self.me.clone(),
            incarnation: self.incarnation,
            path: location.display().to_string(),
        });
    }

    fn find(&self, location: &Path, modified: SystemTime) -> Option<ChangedBy> {
        let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let modified = Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).ok()?);
        let mut search = Search {
            me: &self.me,
            path: location.display().to_string(),
            modified,
            file_tool: None,
            commands: Vec::new(),
        };
        let mut reader = self.team.event_reader();
        reader.skip_to_last(MOST_BYTES).ok()?;
        reader.read(|line| search.visit(line)).ok()?;
        search.result()
    }
}

/// A search for whoever changed a file at a time.
struct Search<'a> {
    me: &'a Recipient,
    path: String,
    modified: Timestamp,
    file_tool: Option<String>,
    commands: Vec<String>,
}

impl Search<'_> {
    fn visit(&mut self, line: &[u8]) {
        let EventLine::Known(Event { time, kind, .. }) = EventLine::decode(line) else {
            return;
        };
        if time < self.modified {
            return;
        }
        let after = time.since(self.modified);
        if let EventKind::File { member, path, .. } = &kind
            && *path == self.path
            && member != self.me
            && after <= LATE
        {
            // The first one after the change, which is its own.
            self.file_tool.get_or_insert(member.to_string());
        }
        if let EventKind::Tool {
            member,
            name,
            millis,
            ..
        } = &kind
            && name == <Bash as Tool>::NAME
            && member != self.me
            && after <= Duration::from_millis(*millis) + INACCURACY
            && !self.commands.contains(&member.to_string())
        {
            self.commands.push(member.to_string());
        }
    }

    fn result(self) -> Option<ChangedBy> {
        match self.file_tool {
            Some(name) => Some(ChangedBy::FileTool(name)),
            None if self.commands.is_empty() => None,
            None => Some(ChangedBy::Command(self.commands)),
        }
    }
}
