//! Unfinished last lines of shared logs: left by a killed writer, or by a person who forgot the
//! newline. The next append finishes such a line; until then no reader takes it.

use crate::error::{Context, PathError};
use crate::files;
use crate::files::append::{AppendError, close_tail, ends_with_newline};
use crate::locks::has_no_writer;
use crate::repair::stale_files::age;
use crate::team_dir::TeamDir;
use protocol::Recipient;
use safe_open::Opened;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the system cannot report writers, a file that has not changed for so long has none.
const UNCHANGED_FOR: Duration = Duration::from_secs(60);

/// A file that ends in the middle of a line and has no writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedLine {
    pub path: PathBuf,
    /// Which of the files it is.
    pub place: LogFile,
}

/// A log that many processes append to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFile {
    /// An inbox.
    Inbox(Recipient),
    /// The event log.
    Events,
    /// The shared notes.
    Notes,
    /// The dead letters.
    DeadLetters,
}

impl TeamDir {
    /// The files that end in the middle of a line.
    pub fn unfinished_lines(&self) -> Result<Vec<UnfinishedLine>, PathError> {
        let mut places = vec![LogFile::Events, LogFile::Notes, LogFile::DeadLetters];
        places.extend(self.inboxes()?.into_iter().map(LogFile::Inbox));
        let mut found = Vec::new();
        for place in places {
            let path = self.path_of(&place);
            if is_open(&path)? {
                found.push(UnfinishedLine { path, place });
            }
        }
        Ok(found)
    }

    /// Finishes the line, so that it is read. Returns whether it was still unfinished.
    pub fn finish_line(&self, line: &UnfinishedLine) -> Result<bool, AppendError> {
        let lock = match &line.place {
            LogFile::Inbox(owner) => self.layout.inbox_lock(owner),
            LogFile::Events => self.layout.events_lock(),
            LogFile::Notes => self.layout.notes_lock(),
            LogFile::DeadLetters => self.layout.dead_letters_lock(),
        };
        close_tail(&self.path_of(&line.place), &lock, self.options.lock_wait)
    }

    fn path_of(&self, place: &LogFile) -> PathBuf {
        match place {
            LogFile::Inbox(owner) => self.layout.inbox(owner),
            LogFile::Events => self.layout.events(),
            LogFile::Notes => self.layout.notes(),
            LogFile::DeadLetters => self.layout.dead_letters(),
        }
    }

    /// Everybody who has an inbox file.
    fn inboxes(&self) -> Result<Vec<Recipient>, PathError> {
        let folder = self.layout.inbox_dir();
        let mut owners: Vec<Recipient> = Vec::new();
        for entry in files::list(&folder).context("list", &folder)? {
            let name = entry.context("list", &folder)?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            owners.extend(name.and_then(|name| name.parse::<Recipient>().ok()));
        }
        owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        Ok(owners)
    }
}

fn is_open(path: &Path) -> Result<bool, PathError> {
    let Opened { file, metadata } = match files::open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.context("open", path)?,
    };
    if metadata.len() == 0 || ends_with_newline(&file, metadata.len()).context("read", path)? {
        return Ok(false);
    }
    // Somebody may be in the middle of it.
    Ok(has_no_writer(&file) || age(&metadata) >= UNCHANGED_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use protocol::EventKind;
    use std::io::Write;

    #[test]
    fn a_line_without_an_end_is_found_and_closed_once() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        assert_eq!(team.unfinished_lines().unwrap(), []);
        let inbox = team.layout().inbox(&Recipient::Lead);
        let mut options = std::fs::File::options();
        let mut writer = options.create(true).append(true).open(&inbox).unwrap();
        writer.write_all(b"{\"content\":\"no end\"}").unwrap();
        // Its writer may still be in the middle of it.
        assert_eq!(team.unfinished_lines().unwrap(), []);
        drop(writer);
        let found = team.unfinished_lines().unwrap();
        let place = LogFile::Inbox(Recipient::Lead);
        assert_eq!(
            found.iter().map(|line| &line.place).collect::<Vec<_>>(),
            [&place]
        );
        let line = found.first().unwrap();
        assert!(team.finish_line(line).unwrap());
        assert!(!team.finish_line(line).unwrap());
        assert_eq!(team.unfinished_lines().unwrap(), []);
        let count = team.unread_mail(&Recipient::Lead, |_, _| {}).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn the_shared_logs_are_checked_too() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        std::fs::write(team.layout().events(), "{\"time\":1,\"ev").unwrap();
        std::fs::write(team.layout().dead_letters(), "{").unwrap();
        std::fs::write(team.layout().notes(), "{").unwrap();
        assert_eq!(team.unfinished_lines().unwrap().len(), 3);
        team.add_note(&protocol::Note::new("ends the line before it"))
            .unwrap();
        team.log_event(EventKind::Polling {
            member: Recipient::Lead,
            reason: String::new(),
        })
        .unwrap();
        let found = team.unfinished_lines().unwrap();
        assert_eq!(
            found.first().map(|line| &line.place),
            Some(&LogFile::DeadLetters)
        );
    }
}
