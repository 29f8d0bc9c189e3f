//! The shared notes of a team.

use crate::error::PathError;
use crate::files;
use crate::files::append::{AppendError, Target, append_lines};
use crate::team_dir::TeamDir;
use protocol::Note;
use safe_open::Opened;
use std::io::{self, Read, Seek, SeekFrom};
use uuid::Uuid;

/// The size from which on no note is accepted.
pub const NOTES_LIMIT: u64 = 4 << 20;
/// How much of the end of the file is read for the newest notes.
const TAIL: u64 = 64 << 10;

/// The notes that were read, and the lines between them that are none.
#[derive(Debug, Default)]
pub struct NotesRead {
    /// The oldest first.
    pub notes: Vec<Note>,
    /// The whole lines that are not notes, by their numbers in what was read, from 1 on.
    pub broken: Vec<usize>,
}

impl TeamDir {
    /// Appends a note. When this returns, it is there to stay.
    pub fn add_note(&self, note: &Note) -> Result<(), AppendError> {
        append_lines(&Target {
            path: self.layout.notes(),
            lock: self.layout.notes_lock(),
            lock_wait: self.options.lock_wait,
            durability: self.options.durability,
            limit: Some(NOTES_LIMIT),
            lines: &[note.to_line()],
        })
    }

    /// All notes.
    pub fn notes(&self) -> Result<NotesRead, PathError> {
        self.read_notes(0)
    }

    /// The notes at the end of the file. The cost does not grow with the file.
    pub fn newest_notes(&self) -> Result<NotesRead, PathError> {
        self.read_notes(TAIL)
    }

    /// The notes in the last `tail` bytes; all for 0.
    fn read_notes(&self, tail: u64) -> Result<NotesRead, PathError> {
        let path = self.layout.notes();
        let fail = |error| PathError::new("read", &path, error);
        let Opened { mut file, metadata } = match files::open_to_read(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(NotesRead::default());
            }
            Err(error) => return Err(fail(error)),
        };
        let size = metadata.len();
        let skipped = match tail {
            0 => 0,
            tail => size.saturating_sub(tail),
        };
        file.seek(SeekFrom::Start(skipped)).map_err(fail)?;
        // People may have appended to it beyond the limit.
        let mut bytes = Vec::new();
        let mut file = file.take(NOTES_LIMIT + TAIL);
        file.read_to_end(&mut bytes).map_err(fail)?;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        // The first may be the end of a longer one, and the last may be in the middle of being written.
        let lines = lines.skip(usize::from(skipped > 0));
        let lines = (1..).zip(lines);
        let lines =
            lines.filter(|(_, line)| line.ends_with(b"\n") && !line.trim_ascii().is_empty());
        let mut read = NotesRead::default();
        for (number, line) in lines {
            match serde_json::from_slice(line) {
                Ok(note) => read.notes.push(note),
                Err(_) => read.broken.push(number),
            }
        }
        Ok(read)
    }
}

/// A random id of a note, short enough to be typed.
pub fn new_note_id() -> String {
    let digits = Uuid::new_v4().simple().to_string();
    digits.chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use std::io::Write;

    fn texts(read: &NotesRead) -> Vec<&str> {
        read.notes.iter().map(|note| note.text.as_str()).collect()
    }

    #[test]
    fn notes_of_hands_and_torn_lines_do_not_disturb_others() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        assert_eq!(texts(&team.notes().unwrap()), [""; 0]);
        team.add_note(&Note::new("one")).unwrap();
        let path = team.layout().notes();
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"text\":\"by hand\",\"mood\":\"good\"}\nnot json\n{\"te")
            .unwrap();
        drop(file);
        // Half a line is not read, and the next writer ends it.
        assert_eq!(texts(&team.notes().unwrap()), ["one", "by hand"]);
        team.add_note(&Note::new("two\nlines")).unwrap();
        let read = team.notes().unwrap();
        assert_eq!(texts(&read), ["one", "by hand", "two\nlines"]);
        assert_eq!(read.broken, [3, 4]);
        assert_eq!(texts(&team.newest_notes().unwrap()), texts(&read));
    }

    #[test]
    fn the_end_of_a_long_file_is_read_from_a_whole_line_on() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        for number in 0..200 {
            let text = format!("{number} {}", "x".repeat(1000));
            team.add_note(&Note::new(text)).unwrap();
        }
        let newest = team.newest_notes().unwrap();
        assert_eq!(newest.broken, [0; 0]);
        assert!(
            (50..70).contains(&newest.notes.len()),
            "{}",
            newest.notes.len()
        );
        let last = newest.notes.last().unwrap();
        assert!(last.text.starts_with("199 "));
        assert_eq!(team.notes().unwrap().notes.len(), 200);
    }

    #[test]
    fn many_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let team = team.clone();
                scope.spawn(move || {
                    for number in 0..25 {
                        team.add_note(&Note::new(format!("{writer}-{number}")))
                            .unwrap();
                    }
                });
            }
        });
        let read = team.notes().unwrap();
        assert_eq!((read.notes.len(), read.broken.len()), (100, 0));
        for writer in 0..4 {
            let own = format!("{writer}-");
            let texts = texts(&read);
            let order: Vec<&&str> = texts.iter().filter(|text| text.starts_with(&own)).collect();
            let wanted: Vec<String> = (0..25).map(|number| format!("{writer}-{number}")).collect();
            assert_eq!(
                order,
                wanted.iter().collect::<Vec<_>>(),
                "in the order of each writer"
            );
        }
    }

    #[test]
    fn a_full_file_takes_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        std::fs::write(team.layout().notes(), "\n".repeat(NOTES_LIMIT as usize)).unwrap();
        let refused = team.add_note(&Note::new("more")).unwrap_err();
        assert!(matches!(refused, AppendError::Full { .. }), "{refused}");
    }
}
