//! The journal of a member: appended by its one process, torn tails cut, recovered from its end.
//!
//! Appending a record is the only commit point there is: mail counts as delivered when the
//! record that holds it is in the journal, and the same record says how far the inbox was read.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, sync_dir};
use crate::mail::state::MailState;
use crate::members::journal_lines::JournalLines;
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{JournalLine, JournalRecord, JsonLine, OpenRecord, Plain};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How far the journal grows at least before the state of the mail is written into it again. A
/// restart reads about this much, however long the journal is.
const CHECKPOINT_EVERY: u64 = 256 << 10;
/// How many times its own size the journal grows before the next checkpoint, so that checkpoints
/// stay a small part of it.
const CHECKPOINT_SHARE: u64 = 8;
/// How much of the end is read first to find the last checkpoint.
const FIRST_LOOK: u64 = 512 << 10;
/// How every line that holds a checkpoint begins.
const CHECKPOINT: &[u8] = br#"{"kind":"checkpoint""#;

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

/// What the end of a journal says about the member's mail.
pub(crate) struct Recovered {
    pub(crate) state: MailState,
    pub(crate) end: u64,
    /// Where the last checkpoint begins, and where it ends.
    checkpoint: (u64, u64),
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

/// Reads the journal backwards to its last checkpoint, and applies what follows it.
fn recover(file: &File) -> io::Result<Recovered> {
    let end = committed_end(file)?;
    let mut look = FIRST_LOOK;
    loop {
        let from = end.saturating_sub(look);
        let tail = read_range(file, from, end)?;
        let start = last_checkpoint(&tail, from == 0);
        if let Some(start) = start.or((from == 0).then_some(0)) {
            let mut state = MailState::default();
            let records = tail.get(start..).unwrap_or_default();
            let mut rest = records;
            while !rest.is_empty() {
                let end = rest.iter().position(|byte| *byte == b'\n');
                let (line, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
                if !goes_on(after)
                    && let JournalLine::Known(record) = JournalLine::decode(line)
                {
                    state.apply(&record);
                }
                rest = after;
            }
            let first = records.iter().position(|byte| *byte == b'\n');
            let start = from + start as u64;
            let checkpoint = (start, start + first.map_or(0, |at| at as u64));
            return Ok(Recovered {
                state,
                end,
                checkpoint,
            });
        }
        look *= 4;
    }
}

fn next_checkpoint((start, end): (u64, u64)) -> u64 {
    start + CHECKPOINT_EVERY.max(CHECKPOINT_SHARE * (end - start))
}

/// Where the last line that holds a checkpoint begins. Only whole lines count: the first line of
/// a read from the middle of the file may be a part of one.
fn last_checkpoint(tail: &[u8], from_start: bool) -> Option<usize> {
    let mut line_end = tail.len();
    while line_end > 0 {
        let before = tail.get(..line_end - 1).unwrap_or_default();
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let (start, whole) = match line_start {
            Some(start) => (start, true),
            None => (0, from_start),
        };
        let line = tail.get(start..line_end)?;
        // One that was torn, and closed with a newline, is none.
        let is_checkpoint = || {
            let record = JournalLine::decode(line);
            matches!(record, JournalLine::Known(JournalRecord::Checkpoint(_)))
        };
        let after = tail.get(line_end..).unwrap_or_default();
        if whole && line.starts_with(CHECKPOINT) && !goes_on(after) && is_checkpoint() {
            return Some(start);
        }
        line_end = start;
    }
    None
}

/// Whether the lines that follow begin inside a JSON text: then the line before them is a nested object
/// of a record that an older program wrote over several lines, and no record. Reading such a journal from
/// its start joins the lines; here it would have to be read from far back.
fn goes_on(after: &[u8]) -> bool {
    let next = after.trim_ascii_start().first();
    next.is_some_and(|byte| matches!(byte, b'}' | b']' | b','))
}

/// The end of the last whole line.
fn committed_end(file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    while end > 0 {
        let from = end.saturating_sub(1 << 16);
        let chunk = read_range(file, from, end)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

fn read_range(file: &File, from: u64, end: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(end - from).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Incarnation, MailRecord, SegmentPosition};

    fn line(record: &JournalRecord) -> String {
        String::from_utf8(JsonLine::encode(record).unwrap().to_vec()).unwrap()
    }

    fn checkpoint(sealed: u64) -> String {
        let state = MailState {
            sealed,
            ..MailState::default()
        };
        line(&JournalRecord::Checkpoint(state.to_checkpoint()))
    }

    fn mail(segment: u64) -> String {
        line(&JournalRecord::Mail(MailRecord {
            incarnation: Incarnation(1),
            time: crate::clock::now(),
            position: SegmentPosition {
                segment,
                end: 0,
                inode: 0,
                born: 0,
                check: 0,
            },
            mail: Vec::new(),
            bad: Vec::new(),
            notes: Vec::new(),
        }))
    }

    /// The highest sealed segment, and the segments with a position.
    fn recover_text(text: &str) -> (u64, Vec<u64>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let recovered = recover(&file).unwrap();
        assert_eq!(recovered.end, text.len() as u64);
        let positions = recovered.state.positions.keys().copied();
        (recovered.state.sealed, positions.collect())
    }

    #[test]
    fn parts_of_a_split_record_do_not_change_the_state_of_the_mail() {
        let long = "x".repeat(usize::try_from(FIRST_LOOK).unwrap());
        let long = format!("{{\"kind\":\"dance\",\"pad\":\"{long}\"}}\n");
        for nested in [mail(9), checkpoint(9)] {
            let split = format!("{{\"kind\":\"dance\",\"input\":\n{nested}}}\n");
            for between in ["", &long] {
                let start = [&checkpoint(1), &mail(2), between, &split].concat();
                assert_eq!(recover_text(&start), (1, vec![2]));
                let text = [&start, &mail(3), between].concat();
                assert_eq!(recover_text(&text), (1, vec![2, 3]));
                // A checkpoint right behind the split record counts.
                let text = [&start, &checkpoint(4), between, &mail(5)].concat();
                assert_eq!(recover_text(&text), (4, vec![5]));
            }
        }
    }
}
