//! The journal of a member: appended by its one process, torn tails cut, recovered from its end.
//!
//! Appending a record is the only commit point there is: mail counts as delivered when the
//! record that holds it is in the journal, and the same record says how far the inbox was read.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, sync_dir};
use crate::mail::state::MailState;
use crate::members::journal_end::recover;
use crate::members::journal_lines::JournalLines;
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{JournalRecord, JsonLine, OpenRecord, Plain};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// How far the journal grows at least before the state of the mail is written into it again. A
/// restart searches about this much for it, however long the journal is.
const CHECKPOINT_EVERY: u64 = 64 << 10;
/// How many times its own size the journal grows before the next checkpoint, so that checkpoints
/// stay a small part of it.
const CHECKPOINT_SHARE: u64 = 8;

/// The journal of the member this process is.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    durability: Durability,
    /// Everything before this byte is committed.
    end: u64,
    /// Where the next checkpoint is due.
    next_checkpoint: u64,
    /// Whether bytes behind `end` may be left over from a failed append.
    dirty: bool,
    /// Whether a power cut may bring back the journal as it was before it was cut.
    is_name_unsynced: bool,
    /// Whether records may be lost in a power cut.
    has_unsynced: bool,
}

/// Why a journal could not be cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// It is as it was.
    #[error(transparent)]
    NotCut(PathError),
    /// It was cut; a power cut may undo that until the next record is committed.
    #[error(transparent)]
    NotSynced(PathError),
}

impl Journal {
    /// Opens the journal of the member this process is, and cuts off what a killed predecessor
    /// left unfinished.
    pub fn open(team: &TeamDir, guard: &MemberGuard) -> Result<(Self, MailState), PathError> {
        let path = team.layout.transcript(guard.owner());
        let is_new = !files::is_there(&path);
        let opened = files::open_or_create_to_append(&path);
        let file = opened.context("open the journal", &path)?.file;
        let recovered = recover(&file).context("read the journal", &path)?;
        let mut journal = Self {
            file,
            durability: team.options.durability,
            end: recovered.end,
            next_checkpoint: next_checkpoint(recovered.checkpoint),
            dirty: true,
            is_name_unsynced: false,
            has_unsynced: false,
            path,
        };
        if is_new && journal.durability == Durability::PowerCut {
            sync_dir(&team.layout.member_dir(guard.owner()))?;
            sync_dir(&team.layout.members_dir())?;
        }
        journal.append_unsynced(&<JournalRecord>::Open(OpenRecord {
            member: guard.owner().clone(),
            incarnation: guard.incarnation(),
            time: crate::clock::now(),
        }))?;
        Ok((journal, recovered.state))
    }

    /// Appends a record of any kind: an object with a `kind` of its own, on one line.
    ///
    /// When this returns `Ok` the record is committed; otherwise the journal is as it was.
    pub fn append(&mut self, record: &impl serde::Serialize) -> Result<(), PathError> {
        let before = self.end;
        self.sync_name()?;
        self.append_unsynced(record)?;
        if self.durability == Durability::PowerCut
            && let Err(error) = self.file.sync_data()
        {
            // After a failed sync the system may take the lost bytes for safe. Only writing
            // them again helps, so the record is taken back.
            self.end = before;
            self.dirty = true;
            return Err(PathError::new("sync the journal", &self.path, error));
        }
        self.has_unsynced = false;
        Ok(())
    }

    /// Appends a record that may be lost in a power cut, together with all that follow it.
    pub fn append_unsynced(&mut self, record: &impl serde::Serialize) -> Result<(), PathError> {
        let line = JsonLine::encode(record)
            .map_err(io::Error::other)
            .context("encode a record for", &self.path)?;
        self.clean().context("mend the journal", &self.path)?;
        // One writer and no readers that act on it: what a failed write leaves may be cut off.
        self.dirty = true;
        let written = self.file.write_all(&line);
        written.context("append to the journal", &self.path)?;
        self.dirty = false;
        self.end += line.len() as u64;
        self.has_unsynced = true;
        Ok(())
    }

    /// Makes everything appended so far survive a power cut.
    pub(crate) fn sync(&mut self) -> Result<(), PathError> {
        self.sync_name()?;
        if self.durability == Durability::PowerCut {
            let synced = self.file.sync_data();
            synced.context("sync the journal", &self.path)?;
        }
        self.has_unsynced = false;
        Ok(())
    }

    /// Whether records may be lost in a power cut.
    pub(crate) const fn has_unsynced(&self) -> bool {
        self.has_unsynced
    }

    /// Writes the state of the mail into the journal when it has grown enough.
    pub(crate) fn checkpoint_if_due(&mut self, state: &MailState) -> Result<(), PathError> {
        if self.end < self.next_checkpoint {
            return Ok(());
        }
        let start = self.end;
        self.append_unsynced(&<JournalRecord>::Checkpoint(state.to_checkpoint()))?;
        self.next_checkpoint = next_checkpoint((start, self.end));
        Ok(())
    }

    /// Begins the journal anew with these records, after a copy of it was kept as `archive`. They must say
    /// all that a restart needs of what was there before.
    ///
    /// Readers see the old journal or the new one. A process that is killed before leaves the old one, and
    /// perhaps an archive that no journal names.
    pub fn cut(&mut self, archive: &Path, head: &[JsonLine]) -> Result<(), CutError> {
        self.keep_as(archive).map_err(CutError::NotCut)?;
        self.begin_anew(head)
    }

    /// Begins the journal anew with this record, without a copy of what was there before.
    pub(crate) fn begin_with(&mut self, record: &impl serde::Serialize) -> Result<(), CutError> {
        let line = JsonLine::encode(record).map_err(io::Error::other);
        let line = line.context("encode a record for", &self.path);
        self.begin_anew(&[line.map_err(CutError::NotCut)?])
    }

    fn begin_anew(&mut self, head: &[JsonLine]) -> Result<(), CutError> {
        let file = self.replace_with(head);
        self.file = file.map_err(CutError::NotCut)?;
        self.end = head.iter().map(|line| line.len() as u64).sum();
        self.next_checkpoint = next_checkpoint((0, self.end));
        self.dirty = true;
        self.has_unsynced = false;
        self.is_name_unsynced = self.durability == Durability::PowerCut;
        self.sync_name().map_err(CutError::NotSynced)
    }

    /// How many bytes it has.
    pub(crate) const fn size(&self) -> u64 {
        self.end
    }

    fn replace_with(&mut self, head: &[JsonLine]) -> Result<File, PathError> {
        let bytes: Vec<u8> = head.iter().flat_map(|line| line.iter().copied()).collect();
        let mut temporary = atomic::write_beside(&self.path, &bytes, self.durability)?;
        let file = temporary.file_to_append().context("open", &self.path)?;
        temporary.persist().context("replace", &self.path)?;
        Ok(file)
    }

    /// Copies the records so far.
    fn keep_as(&self, archive: &Path) -> Result<(), PathError> {
        if let Some(folder) = archive.parent() {
            files::create_dir(folder)?;
        }
        let mut copy = files::create_new(archive).context("create", archive)?.file;
        let journal = files::open_to_read(&self.path).context("read the journal", &self.path)?;
        let copied = io::copy(&mut journal.file.take(self.end), &mut copy).and_then(|_| match self
            .durability
        {
            Durability::PowerCut => copy.sync_all(),
            Durability::ProcessDeath => Ok(()),
        });
        if let Err(error) = copied {
            // Half of the records would pass for all of them.
            let _ = files::remove_file(archive);
            return Err(PathError::new("write", archive, error));
        }
        atomic::sync_parent(archive, self.durability)
    }

    /// Makes the name of a journal that was cut survive a power cut, before anything counts as appended to it.
    fn sync_name(&mut self) -> Result<(), PathError> {
        if self.is_name_unsynced {
            atomic::sync_parent(&self.path, self.durability)?;
            self.is_name_unsynced = false;
        }
        Ok(())
    }

    fn clean(&mut self) -> io::Result<()> {
        if self.dirty && self.file.metadata()?.len() != self.end {
            self.file.set_len(self.end)?;
        }
        Ok(())
    }
}

impl TeamDir {
    /// How many records of a member's journal were written over several lines.
    pub fn split_records(&self, owner: &protocol::Recipient) -> Result<u64, PathError> {
        let path = self.layout.transcript(owner);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            result => result.context("read the journal", &path)?.file,
        };
        let mut lines = JournalLines::new(BufReader::with_capacity(1 << 16, file));
        let mut count = 0;
        while let Some(found) = lines.next::<Plain>().context("read the journal", &path)? {
            count += u64::from(found.is_ok_and(|found| !found.parts.is_empty()));
        }
        Ok(count)
    }

    /// What a member's journal says about its mail, without being that member.
    pub(crate) fn recover_mail_state(
        &self,
        owner: &protocol::Recipient,
    ) -> Result<MailState, PathError> {
        let path = self.layout.transcript(owner);
        match files::open_to_read(&path) {
            Ok(opened) => Ok(recover(&opened.file)
                .context("read the journal", &path)?
                .state),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MailState::default()),
            Err(error) => Err(PathError::new("read the journal", &path, error)),
        }
    }
}

fn next_checkpoint((start, end): (u64, u64)) -> u64 {
    start + CHECKPOINT_EVERY.max(CHECKPOINT_SHARE * (end - start))
}

#[cfg(test)]
impl Journal {
    /// As on a full disk: every append fails until it is mended again.
    pub(crate) fn set_broken(&mut self, broken: bool) {
        let opened = match broken {
            true => files::open_to_read(&self.path),
            false => files::open_to_append(&self.path),
        };
        self.file = opened.unwrap().file;
    }
}
