//! Mail that could not be delivered.

use crate::error::PathError;
use crate::files;
use crate::files::append::{AppendError, Target, append_lines};
use crate::team_dir::TeamDir;
use protocol::{DeadLetter, JsonLine};
use safe_open::Opened;
use std::collections::HashSet;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// How much of the end of the dead letters is searched for one that may be there already.
const DEAD_LETTER_TAIL: u64 = 256 << 10;

/// The longest line. A dead letter holds a message, in hex if it was no text.
const LONGEST_LINE: u64 = 64 << 20;

impl TeamDir {
    /// Puts a line where undelivered mail is kept, unless it is there already.
    pub fn add_dead_letter(&self, dead_letter: &DeadLetter) -> Result<(), AppendError> {
        self.add_dead_letters(std::slice::from_ref(dead_letter))
            .map(|_| ())
    }

    /// Puts lines where undelivered mail is kept, but for those that are there already. Returns
    /// the ones that were not.
    pub(crate) fn add_dead_letters<'a>(
        &self,
        dead_letters: &'a [DeadLetter],
    ) -> Result<Vec<&'a DeadLetter>, AppendError> {
        if dead_letters.is_empty() {
            return Ok(Vec::new());
        }
        let lines: Vec<JsonLine> = dead_letters.iter().map(DeadLetter::to_line).collect();
        let size: u64 = lines.iter().map(|line| line.len() as u64).sum();
        // An earlier try has left about as much, and others may have written since.
        let dead = self.last_dead_letters(size + DEAD_LETTER_TAIL)?;
        let new = dead_letters.iter().zip(lines);
        let (new, lines): (Vec<_>, Vec<_>) = new
            .filter(|(dead_letter, _)| !dead.contains(&dead_letter.id))
            .unzip();
        if new.is_empty() {
            return Ok(new);
        }
        append_lines(&Target {
            path: self.layout.dead_letters(),
            lock: self.layout.dead_letters_lock(),
            lock_wait: self.options.lock_wait,
            durability: self.options.durability,
            limit: None,
            lines: &lines,
        })?;
        Ok(new)
    }

    /// Calls `visit` with each dead letter, oldest first. Lines that are not dead letters are skipped.
    pub fn read_dead_letters(&self, mut visit: impl FnMut(DeadLetter)) -> Result<(), PathError> {
        let path = self.layout.dead_letters();
        let file = match files::open_to_read(&path) {
            Ok(opened) => opened.file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(PathError::new("read", &path, error)),
        };
        let mut reader = BufReader::new(file);
        let fail = |error| PathError::new("read", &path, error);
        while let Some(line) = files::read_line(&mut reader, LONGEST_LINE).map_err(fail)? {
            if let Ok(dead_letter) = serde_json::from_slice(&line) {
                visit(dead_letter);
            }
        }
        Ok(())
    }

    /// The ids of the last dead letters. A reader that died between burying a line
    /// and recording that it did would add it twice.
    fn last_dead_letters(&self, tail: u64) -> Result<HashSet<String>, PathError> {
        let path = self.layout.dead_letters();
        let fail = |error| PathError::new("read", &path, error);
        let Opened { mut file, metadata } = match files::open_to_read(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
            Err(error) => return Err(fail(error)),
        };
        let from = metadata.len().saturating_sub(tail);
        file.seek(SeekFrom::Start(from)).map_err(fail)?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).map_err(fail)?;
        let lines = tail.split(|byte| *byte == b'\n');
        let dead_letters = lines.filter_map(|line| serde_json::from_slice::<DeadLetter>(line).ok());
        Ok(dead_letters.map(|dead_letter| dead_letter.id).collect())
    }
}
