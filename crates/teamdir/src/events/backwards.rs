//! Reads the event log from its end, in bounded pieces.

use super::{CHUNK, LONGEST_LINE, Part, parts};
use crate::error::{Context, PathError};
use crate::team_dir::TeamDir;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// How much of the end is read first; each read after it is twice as long as the one before, up to a limit.
const FIRST_LOOK: u64 = 8 << 10;

/// A place in the event log. It stays valid when the log is set aside: the present file has the number that it
/// will get then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPosition {
    pub part: u64,
    /// The lines before this byte come next.
    pub before: u64,
}

impl TeamDir {
    /// Calls `visit` with lines of the event log from `from` towards its beginning, newest first. Without a place
    /// it starts at the end. It stops when `visit` says so or about `max_bytes` were read, and returns where
    /// to go on; `None` at the beginning of the log.
    pub fn read_events_backwards(
        &self,
        from: Option<EventPosition>,
        max_bytes: u64,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<EventPosition>, PathError> {
        let numbers = parts(&self.layout)?;
        let present = numbers.last().map_or(1, |last| last + 1);
        let mut left = max_bytes;
        let mut look = FIRST_LOOK;
        let files = numbers.into_iter().chain([present]).rev();
        let files = files.filter(|part| from.is_none_or(|from| *part <= from.part));
        for part in files {
            let path = match part == present {
                true => self.layout.events(),
                false => self.layout.events_part(part),
            };
            let Some(open) = Part::open(&path, None)? else {
                continue;
            };
            let size = open.file.metadata().context("look at", &path)?.len();
            let wanted = from.filter(|from| from.part == part);
            let mut lines = Backwards {
                path,
                part: open,
                before: wanted.map_or(size, |from| from.before.min(size)),
                rest: Vec::new(),
                look,
            };
            // The end of the file may be a line that is being written.
            let mut is_last = wanted.is_none();
            while lines.before > 0 {
                let goes_on = lines.step(&mut left, &mut is_last, &mut visit)?;
                if !goes_on {
                    let before = lines.before;
                    return Ok(Some(EventPosition { part, before }));
                }
            }
            look = lines.look;
        }
        Ok(None)
    }
}

struct Backwards {
    path: PathBuf,
    part: Part,
    /// Everything from here on was visited.
    before: u64,
    /// The end of a line whose beginning is before.
    rest: Vec<u8>,
    /// How much is read next.
    look: u64,
}

impl Backwards {
    /// Reads one chunk more. Returns whether to go on.
    fn step(
        &mut self,
        left: &mut u64,
        is_last: &mut bool,
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, PathError> {
        let unread = self.before - self.rest.len() as u64;
        let length = unread.min(self.look);
        self.look = (2 * self.look).min(CHUNK as u64);
        let start = unread - length;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(CHUNK)];
        let read = self.part.file.read_exact_at(&mut bytes, start);
        read.context("read", &self.path)?;
        bytes.append(&mut self.rest);
        *left = left.saturating_sub(length);
        let mut end = bytes.len();
        while let Some(newline) = bytes.get(..end).and_then(last_newline) {
            let line = bytes.get(newline + 1..end).unwrap_or_default();
            let is_whole = !std::mem::take(is_last);
            end = newline;
            self.before = start + newline as u64;
            if is_whole && !line.is_empty() && !visit(line) {
                return Ok(false);
            }
        }
        bytes.truncate(end);
        if start == 0 {
            self.before = 0;
            return Ok(bytes.is_empty() || visit(&bytes));
        }
        // What is longer than any event is passed over.
        if bytes.len() > LONGEST_LINE {
            bytes.clear();
            self.before = start;
        }
        self.rest = bytes;
        Ok(*left > 0)
    }
}

fn last_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}
