//! Reads a journal, alone or with the parts that were cut off before.

use crate::error::{Context, PathError};
use crate::files;
use crate::members::journal_lines::JournalLines;
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{ArchiveName, JournalLine, JournalRecord, ModelTypes, Plain, Recipient};
use std::collections::HashSet;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

impl TeamDir {
    /// Calls `visit` with each line of a member's journal, oldest first. It begins with the last compaction:
    /// what was before is in a `cut` record, as far as a restart needs it.
    pub fn read_journal(
        &self,
        owner: &Recipient,
        visit: impl FnMut(&[u8], JournalLine),
    ) -> Result<(), PathError> {
        self.read_journal_as(owner, visit)
    }

    /// The same, with what a model said in the types of `M`.
    pub fn read_journal_as<M: ModelTypes>(
        &self,
        owner: &Recipient,
        mut visit: impl FnMut(&[u8], JournalLine<M>),
    ) -> Result<(), PathError> {
        read_lines(&self.layout.transcript(owner), |bytes, line| {
            visit(bytes, line);
            true
        })
    }

    /// Calls `visit` with each line of a member's journal, those in its archives first. An archive that was
    /// removed ends the way back.
    pub fn read_history(
        &self,
        owner: &Recipient,
        visit: impl FnMut(&[u8], JournalLine),
    ) -> Result<(), PathError> {
        self.read_history_as(owner, visit)
    }

    /// The same, with what a model said in the types of `M`.
    pub fn read_history_as<M: ModelTypes>(
        &self,
        owner: &Recipient,
        mut visit: impl FnMut(&[u8], JournalLine<M>),
    ) -> Result<(), PathError> {
        for path in self.journal_parts(owner)?.iter().rev() {
            read_lines(path, |bytes, line| {
                visit(bytes, line);
                true
            })?;
        }
        Ok(())
    }

    /// The first name that no archive of this member has.
    pub fn next_archive(&self, guard: &MemberGuard) -> ArchiveName {
        let incarnation = guard.incarnation();
        let mut name = ArchiveName {
            incarnation,
            number: 1,
        };
        while files::is_there(&self.layout.archive(guard.owner(), name)) {
            name.number += 1;
        }
        name
    }

    /// The journal and its archives, newest first.
    fn journal_parts(&self, owner: &Recipient) -> Result<Vec<PathBuf>, PathError> {
        let mut parts = vec![self.layout.transcript(owner)];
        // A journal that somebody wrote may name the same archive twice.
        let mut names = HashSet::new();
        while let Some(last) = parts.last()
            && let Some(archive) = archive_of(last)?
            && names.insert(archive)
        {
            parts.push(self.layout.archive(owner, archive));
        }
        Ok(parts)
    }
}

/// The archive that the first record of a journal names.
fn archive_of(path: &Path) -> Result<Option<ArchiveName>, PathError> {
    let mut archive = None;
    read_lines::<Plain>(path, |_, line| {
        if let JournalLine::Known(JournalRecord::Cut(cut)) = line {
            archive = Some(cut.archive);
        }
        false
    })?;
    Ok(archive)
}

/// Calls `visit` with each line, until it returns `false`. A file that does not exist has none.
fn read_lines<M: ModelTypes>(
    path: &Path,
    mut visit: impl FnMut(&[u8], JournalLine<M>) -> bool,
) -> Result<(), PathError> {
    let file = match files::open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result.context("read the journal", path)?.file,
    };
    let mut lines = JournalLines::new(BufReader::with_capacity(1 << 16, file));
    // A last line without its newline is not a record yet.
    while let Some(Ok(found)) = lines.next().context("read the journal", path)? {
        if !visit(&found.bytes, found.line) {
            break;
        }
    }
    Ok(())
}
