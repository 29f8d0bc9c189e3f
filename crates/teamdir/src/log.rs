//! The two logs of the whole team: events, and dead letters.

use crate::append::{AppendError, Target, append_line};
use crate::clock::now;
use crate::error::PathError;
use crate::team::TeamDir;
use crate::{Durability, file};
use protocol::{DeadLetter, Event, EventKind};
use std::io::{self, Read, Seek, SeekFrom};

/// How much of the end of the dead letters is searched for one that may be there already.
const DEAD_LETTER_TAIL: u64 = 256 << 10;

impl TeamDir {
    /// Appends an event. Not synced: events tell what happened, nothing depends on them.
    pub fn log_event(&self, kind: EventKind) -> Result<(), AppendError> {
        let event = Event { time: now(), kind };
        append_line(&Target {
            path: self.layout.events(),
            lock: self.layout.events_lock(),
            lock_wait: self.options.lock_wait,
            durability: Durability::ProcessDeath,
            limit: None,
            line: &event.to_line(),
        })
    }

    /// Puts a line where undelivered mail is kept, unless it is there already.
    pub fn bury(&self, letter: &DeadLetter) -> Result<(), AppendError> {
        if self.is_buried(&letter.id)? {
            return Ok(());
        }
        let mut line = serde_json::to_vec(letter).expect("text keys and finite numbers encode");
        line.push(b'\n');
        append_line(&Target {
            path: self.layout.dead_letters(),
            lock: self.layout.dead_letters_lock(),
            lock_wait: self.options.lock_wait,
            durability: self.options.durability,
            limit: None,
            line: &line,
        })
    }

    /// Whether a dead letter is among the last ones. A reader that died between burying a line
    /// and recording that it did would bury it twice.
    fn is_buried(&self, id: &str) -> Result<bool, PathError> {
        let path = self.layout.dead_letters();
        let fail = |error| PathError::new("read", &path, error);
        let mut file = match file::options().read(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(fail(error)),
        };
        let size = file.metadata().map_err(fail)?.len();
        let from = size.saturating_sub(DEAD_LETTER_TAIL);
        file.seek(SeekFrom::Start(from)).map_err(fail)?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).map_err(fail)?;
        let mut lines = tail.split(|byte| *byte == b'\n');
        Ok(lines.any(|line| {
            serde_json::from_slice::<DeadLetter>(line).is_ok_and(|letter| letter.id == id)
        }))
    }
}
