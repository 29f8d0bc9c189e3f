//! The event log, in parts of limited size.
//!
//! Events are appended to one file. When it has grown large, whoever is about to append renames it
//! under the lock and begins a new one. A reader goes from part to part by their numbers. It has the
//! last file open, so that it loses nothing by a rename: it reads the open file to
//! its end, finds out by what number the file goes now, and goes on with the next.

mod backwards;
pub(crate) mod pending;

pub use backwards::EventPosition;

use crate::Durability;
use crate::clock::now;
use crate::error::{Context, PathError};
use crate::files::append::{AppendError, Target, append_lines};
use crate::files::{self, FileId};
use crate::layout::Layout;
use crate::locks::FileLock;
use crate::team_dir::TeamDir;
use protocol::{Event, EventKind, JsonLine};
use safe_open::Opened;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// No event is longer.
const LONGEST_LINE: usize = 2 << 20;
/// How much is read at once.
const CHUNK: usize = 64 << 10;

impl TeamDir {
    /// Appends an event. Not synced: nothing depends on events.
    pub fn log_event(&self, kind: EventKind) -> Result<(), AppendError> {
        self.log_events(&[Event::new(now(), kind)])
    }

    /// Appends several events in one go, with the times they have.
    pub fn log_events(&self, events: &[Event]) -> Result<(), AppendError> {
        if events.is_empty() {
            return Ok(());
        }
        let lines: Vec<JsonLine> = events.iter().map(|event| self.line_of(event)).collect();
        let target = |limit| Target {
            path: self.layout.events(),
            lock: self.layout.events_lock(),
            lock_wait: self.options.lock_wait,
            durability: Durability::ProcessDeath,
            limit,
            lines: &lines,
        };
        match append_lines(&target(Some(self.options.events_limit))) {
            Err(AppendError::Full { .. }) => {
                // A log that cannot be set aside grows on: better too long than incomplete.
                let _ = self.set_events_aside();
                append_lines(&target(None))
            }
            result => result,
        }
    }

    /// The line of an event, with the person whom this process acts for.
    fn line_of(&self, event: &Event) -> JsonLine {
        match &self.person {
            Some(person) if event.person.is_none() => Event {
                person: Some(person.to_string()),
                ..event.clone()
            }
            .to_line(),
            Some(_) | None => event.to_line(),
        }
    }

    /// Begins a new log if the present one is large.
    fn set_events_aside(&self) -> Result<(), AppendError> {
        let _lock = FileLock::acquire(&self.layout.events_lock(), self.options.lock_wait)?;
        let path = self.layout.events();
        let size = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(PathError::new("look at", &path, error).into()),
        };
        // Somebody else may have done so while we waited for the lock.
        if size < self.options.events_limit {
            return Ok(());
        }
        let last = parts(&self.layout)?.pop().unwrap_or(0);
        let part = self.layout.events_part(last + 1);
        // Under the lock no other number is given out, so nothing is replaced.
        Ok(files::rename(&path, &part).context("set aside", &path)?)
    }

    /// Calls `visit` with each line of the event log, oldest first, in all its parts.
    pub fn read_events(&self, visit: impl FnMut(&[u8])) -> Result<(), PathError> {
        self.event_reader().read(visit)
    }

    /// A reader of the event log that stands at its beginning.
    pub fn event_reader(&self) -> EventReader {
        EventReader {
            layout: self.layout.clone(),
            done: 0,
            open: None,
        }
    }
}

/// Reads the event log, and goes on where it stopped.
#[derive(Debug)]
pub struct EventReader {
    layout: Layout,
    /// The highest number of a part that was read to its end.
    done: u64,
    open: Option<Part>,
}

/// A file of the log that is being read.
#[derive(Debug)]
struct Part {
    file: File,
    id: FileId,
    /// Its number; `None` for the one that is appended to.
    number: Option<u64>,
    at: u64,
    /// The beginning of a line that has no end yet.
    rest: Vec<u8>,
    /// Whether the line is longer than any event.
    is_too_long: bool,
}

impl EventReader {
    /// Calls `visit` with each whole line that was not read before. The line has no newline.
    ///
    /// To wait for more, ask a [`Watcher`](crate::Watcher) about [`Layout::events`] and the folder it is
    /// in before calling this, and sleep after.
    pub fn read(&mut self, mut visit: impl FnMut(&[u8])) -> Result<(), PathError> {
        loop {
            let Some(mut part) = self.take_part()? else {
                return Ok(());
            };
            part.read(&self.layout, &mut visit)?;
            let number = match part.number {
                Some(number) => Some(number),
                None if self.is_last(&part)? => {
                    self.open = Some(part);
                    return Ok(());
                }
                None => self.number_of(&part)?,
            };
            // What was written between the last read and the rename.
            part.read(&self.layout, &mut visit)?;
            if !part.rest.is_empty() {
                // Its writer was killed, and nobody will end the line.
                visit(&part.rest);
            }
            self.done = self.done.max(number.unwrap_or(0));
        }
    }

    /// Passes over everything but about the last `keep` bytes of the present part, to the beginning
    /// of a line.
    pub fn skip_to_last(&mut self, keep: u64) -> Result<(), PathError> {
        self.done = parts(&self.layout)?.pop().unwrap_or(0);
        self.open = None;
        let Some(mut part) = self.take_part()? else {
            return Ok(());
        };
        let path = self.layout.events();
        let size = part.file.metadata().context("look at", &path)?.len();
        if size > keep {
            // From the byte before on, which shows whether a whole line follows.
            let from = size - keep - 1;
            let mut tail = vec![0; usize::try_from(keep + 1).unwrap_or(0)];
            let read = part.file.read_exact_at(&mut tail, from);
            read.context("read", &path)?;
            let end = tail.iter().position(|byte| *byte == b'\n');
            part.at = end.map_or(size, |end| from + end as u64 + 1);
        }
        self.open = Some(part);
        Ok(())
    }

    /// The file to go on with.
    fn take_part(&mut self) -> Result<Option<Part>, PathError> {
        if let Some(part) = self.open.take() {
            return Ok(Some(part));
        }
        loop {
            let later = |number: &u64| *number > self.done;
            if let Some(number) = parts(&self.layout)?.into_iter().find(later) {
                match Part::open(&self.layout.events_part(number), Some(number))? {
                    Some(part) => return Ok(Some(part)),
                    // Somebody deleted it since.
                    None => self.done = number,
                }
                continue;
            }
            let live = Part::open(&self.layout.events(), None)?;
            // A log that was set aside between the two checks comes before the one just opened.
            let missed = parts(&self.layout)?.into_iter().find(later);
            match (live, missed) {
                (live, None) => return Ok(live),
                (Some(live), Some(number)) if self.is_number(number, &live)? => {
                    return Ok(Some(live));
                }
                (_, Some(_)) => {}
            }
        }
    }

    /// Whether new events still go into this file.
    fn is_last(&self, part: &Part) -> Result<bool, PathError> {
        let path = self.layout.events();
        match std::fs::symlink_metadata(&path) {
            Ok(found) => Ok(FileId::of(&found) == part.id),
            // It was renamed and no other begun yet, or it was deleted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(self.number_of(part)?.is_none())
            }
            Err(error) => Err(PathError::new("look at", &path, error)),
        }
    }

    /// The number by which an open file goes now.
    fn number_of(&self, part: &Part) -> Result<Option<u64>, PathError> {
        for number in parts(&self.layout)?.into_iter().rev() {
            if self.is_number(number, part)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn is_number(&self, number: u64, part: &Part) -> Result<bool, PathError> {
        let path = self.layout.events_part(number);
        match std::fs::symlink_metadata(&path) {
            Ok(found) => Ok(FileId::of(&found) == part.id),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(PathError::new("look at", &path, error)),
        }
    }
}

impl Part {
    fn open(path: &Path, number: Option<u64>) -> Result<Option<Self>, PathError> {
        let Opened { file, metadata } = match files::open_to_read(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(PathError::new("read", path, error)),
        };
        let id = FileId::of(&metadata);
        Ok(Some(Self {
            file,
            id,
            number,
            at: 0,
            rest: Vec::new(),
            is_too_long: false,
        }))
    }

    /// Visits the lines up to the end of the file.
    fn read(&mut self, layout: &Layout, visit: &mut impl FnMut(&[u8])) -> Result<(), PathError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = match self.file.read_at(&mut chunk, self.at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.context("read", &layout.events())?,
            };
            if read == 0 {
                return Ok(());
            }
            self.at += read as u64;
            let bytes = chunk.get(..read).unwrap_or_default();
            for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                let ends = piece.ends_with(b"\n");
                // What follows the beginning of a line that is no event is passed over.
                if !self.is_too_long {
                    self.rest.extend_from_slice(piece);
                    self.rest.pop_if(|byte| *byte == b'\n');
                }
                self.is_too_long = !ends && self.rest.len() > LONGEST_LINE;
                if ends {
                    visit(&self.rest);
                    self.rest.clear();
                }
            }
        }
    }
}

/// The numbers of the parts that were set aside, in order.
pub(crate) fn parts(layout: &Layout) -> Result<Vec<u64>, PathError> {
    let folder = layout.root();
    let mut numbers = Vec::new();
    for entry in files::list(folder).context("list", folder)? {
        let name = entry.context("list", folder)?.file_name();
        numbers.extend(name.to_str().and_then(Layout::events_part_number));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests;
