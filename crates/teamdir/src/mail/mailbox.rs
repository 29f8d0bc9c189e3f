//! Receiving: from the inbox into the journal, once.
//!
//! # Theory of operation
//!
//! The reader follows the end of its inbox file. Whole lines are taken in batches; **one journal
//! record holds the messages of a batch and how far the file was read with them**. That append is
//! the commit: before it nothing was shown to anybody, after it the messages are in the journal
//! for good. Killed before it, the next process reads the same lines again; killed after it, the
//! next process finds them in the journal.
//!
//! A file that was read to its end is *set aside* a moment later: renamed to a hidden name with a
//! number, so that the inbox shows unread mail only. The rename never loses a line. A program that
//! writes one in pieces, under the lock, is not writing at that moment; one that has the old file open may
//! still append to it, and the reader still reads it. It is deleted only when it was read to its
//! end, a while has passed, and the system confirms that nobody has it open for writing.
//!
//! The live file has the number after the highest one ever set aside. Which file a position in
//! the journal is about, and whether it still holds what was read, is decided by inode, time of
//! birth and a hash of the bytes before the position, see [`Segment`].

mod seal;
#[cfg(test)]
mod tests;

pub use seal::WaitPlan;

use crate::error::{Context, PathError};
use crate::files::append::AppendError;
use crate::files::{self, FileId};
use crate::layout::Layout;
use crate::locks::LockError;
use crate::mail::intake::{self, Batch, Place};
use crate::mail::segment::Segment;
use crate::mail::state::MailState;
use crate::members::journal::Journal;
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{
    Checkpoint, DeadLetter, EventKind, Incarnation, JournalLine, JournalRecord, Line, MailEntry,
    MailRecord, Message, Quarantined, Recipient, SealRecord, SegmentPosition,
};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often files that were set aside are read while mail keeps arriving.
const CHECK_ASIDE_EVERY: Duration = Duration::from_millis(100);

/// The mailbox of the member this process is.
#[derive(Debug)]
pub struct Mailbox {
    team: TeamDir,
    owner: Recipient,
    /// The path of the inbox, made once.
    inbox: PathBuf,
    incarnation: Incarnation,
    state: MailState,
    /// The highest number that the journal says is used up.
    recorded_seal: u64,
    live: Option<Segment>,
    aside: BTreeMap<u64, Segment>,
    last_mail: Instant,
    aside_checked_at: Option<Instant>,
    /// The live file that notifications are asked for.
    armed: Option<FileId>,
    /// When the live file was found deleted or moved away, with nothing in its place.
    missing_since: Option<Instant>,
    /// Whether the folder is watched for a new live file.
    watches_folder: bool,
    /// Whether plain messages are synced by a later record; see [`crate::MemberSession::sync_later`].
    syncs_later: bool,
    before_commit: BeforeCommit,
}

/// See [`crate::MemberSession::before_commit`].
#[derive(Default)]
struct BeforeCommit(Option<CommitHook>, Option<ForwardHook>);

/// A function that is called with each message before it is committed.
pub type CommitHook = Box<dyn FnMut(&Message) + Send>;

/// A function that stores each batch elsewhere before it is committed. If it fails, the batch stays unread.
pub type ForwardHook = Box<dyn FnMut(&[MailEntry]) -> Result<(), PathError> + Send>;

impl fmt::Debug for BeforeCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BeforeCommit")
            .field(&self.0.is_some())
            .field(&self.1.is_some())
            .finish()
    }
}

/// Mail that is in the journal now, in the order it lay in the inbox.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The messages.
    pub mail: Vec<MailEntry>,
    /// Lines that could not be delivered; they are among the dead letters.
    pub bad: Vec<Quarantined>,
    /// Irregularities that a person should know of.
    pub notes: Vec<String>,
}

/// Why mail could not be received. Nothing is lost; the next try finds the same mail.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// The lock of the inbox could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A line could not be put among the dead letters.
    #[error(transparent)]
    DeadLetter(#[from] AppendError),
}

impl Mailbox {
    /// Opens the mailbox of the member this process is, and finds where its predecessor stopped.
    pub fn open(
        team: &TeamDir,
        guard: &MemberGuard,
        state: MailState,
        journal: &mut Journal,
    ) -> Result<Self, ReceiveError> {
        let mut mailbox = Self {
            team: team.clone(),
            inbox: team.layout.inbox(guard.owner()),
            owner: guard.owner().clone(),
            incarnation: guard.incarnation(),
            recorded_seal: state.sealed,
            state,
            live: None,
            aside: BTreeMap::new(),
            last_mail: Instant::now(),
            aside_checked_at: None,
            armed: None,
            missing_since: None,
            watches_folder: false,
            syncs_later: false,
            before_commit: BeforeCommit::default(),
        };
        mailbox.find_files_set_aside(journal)?;
        Ok(mailbox)
    }

    /// Receives the next batch of mail, if there is any. It is committed when this returns.
    pub fn receive(&mut self, journal: &mut Journal) -> Result<Option<Delivery>, ReceiveError> {
        let check_aside = self.is_time_to_check_aside();
        if check_aside && let Some(delivery) = self.take_from_aside(journal)? {
            return Ok(Some(delivery));
        }
        if let Some(delivery) = self.take_from_live(journal)? {
            return Ok(Some(delivery));
        }
        // The reader goes to sleep on `None`, and the hint that woke it may have been about a file
        // set aside.
        if check_aside {
            return Ok(None);
        }
        self.take_from_aside(journal)
    }

    /// See [`crate::MemberSession::sync_later`].
    pub(crate) const fn sync_later(&mut self) {
        self.syncs_later = true;
    }

    /// See [`crate::MemberSession::before_commit`].
    pub(crate) fn before_commit(&mut self, hook: CommitHook) {
        self.before_commit.0 = Some(hook);
    }

    /// See [`crate::MemberSession::forward`].
    pub(crate) fn forward(&mut self, hook: ForwardHook) {
        self.before_commit.1 = Some(hook);
    }

    /// Whether a file holds more than was read of it.
    pub(crate) fn has_unread(&self) -> bool {
        let found = std::fs::symlink_metadata(&self.inbox);
        let live = match (&self.live, found) {
            (Some(live), Ok(found)) if FileId::of(&found) == live.id => {
                found.len() < live.end || live.has_more(found.len())
            }
            // Which file this is and what was read of it is found out by taking from it.
            (_, Ok(found)) => found.len() > 0,
            (_, Err(_)) => false,
        };
        live || self.aside.values().any(has_grown)
    }

    fn take_from_aside(&mut self, journal: &mut Journal) -> Result<Option<Delivery>, ReceiveError> {
        let numbers: Vec<u64> = self.aside.keys().copied().collect();
        for number in numbers {
            let Some(segment) = self.aside.remove(&number) else {
                continue;
            };
            let (segment, delivery) = self.take_from(segment, journal);
            self.aside.insert(number, segment);
            if let Some(delivery) = delivery? {
                return Ok(Some(delivery));
            }
        }
        self.aside_checked_at = Some(Instant::now());
        Ok(None)
    }

    fn take_from_live(&mut self, journal: &mut Journal) -> Result<Option<Delivery>, ReceiveError> {
        if !self.follow_the_name(journal)? {
            return Ok(None);
        }
        let Some(segment) = self.live.take() else {
            return Ok(None);
        };
        let (segment, delivery) = self.take_from(segment, journal);
        self.live = Some(segment);
        delivery
    }

    fn may_senders_have_written_aside(&self) -> bool {
        let mut open = self.aside.values().filter(|aside| !aside.is_closed);
        open.any(has_grown)
    }

    fn is_time_to_check_aside(&self) -> bool {
        !self.aside.is_empty()
            && self
                .aside_checked_at
                .is_none_or(|at| at.elapsed() > CHECK_ASIDE_EVERY)
    }

    /// Takes the next batch from one file. The file is handed back in any case.
    fn take_from(
        &mut self,
        mut segment: Segment,
        journal: &mut Journal,
    ) -> (Segment, Result<Option<Delivery>, ReceiveError>) {
        let delivery = loop {
            match self.take_batch(&mut segment, journal) {
                // Nothing but blank lines and repeats: there may be more behind them.
                Ok(Some(delivery)) if delivery.mail.is_empty() && delivery.bad.is_empty() => {}
                other => break other,
            }
        };
        (segment, delivery)
    }

    fn take_batch(
        &mut self,
        segment: &mut Segment,
        journal: &mut Journal,
    ) -> Result<Option<Delivery>, ReceiveError> {
        let bytes = segment.unread_lines();
        let bytes = bytes.context("read the inbox", &self.inbox)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        // A sender whose line came into a file that was set aside at that moment has sent it once more, to the
        // live file, before anything else. So that file is read first: the line is shown in its order, and
        // while its second copy is still recognised.
        let is_live = segment.set_aside.is_none();
        if is_live
            && self.may_senders_have_written_aside()
            && let Some(delivery) = self.take_from_aside(journal)?
        {
            return Ok(Some(delivery));
        }
        let place = Place {
            inbox: self.owner.as_str(),
            segment: segment.number,
            offset: segment.end,
        };
        let batch = intake::take(&bytes, place, &self.state.seen);
        let position = segment.position_after(&bytes);
        let position = position.context("read the inbox", &self.inbox)?;
        let delivery = if batch.is_empty() {
            // Not worth a record: reading it again would find nothing either.
            self.state.move_to(position);
            Delivery::default()
        } else {
            self.commit(batch, position, journal)?
        };
        segment.move_to(&position);
        self.last_mail = Instant::now();
        Ok(Some(delivery))
    }

    fn commit(
        &mut self,
        batch: Batch,
        position: SegmentPosition,
        journal: &mut Journal,
    ) -> Result<Delivery, ReceiveError> {
        self.quarantine_all(&batch.bad)?;
        if let Some(hook) = &mut self.before_commit.0 {
            for entry in &batch.entries {
                if let Line::Message(message) = entry.decode() {
                    hook(&message);
                }
            }
        }
        if let Some(hook) = &mut self.before_commit.1 {
            hook(&batch.entries)?;
        }
        // A position under a number whose predecessor is not used up would not be found again.
        self.record_owed_seal(journal)?;
        let record = <JournalRecord>::Mail(MailRecord {
            incarnation: self.incarnation,
            time: crate::clock::now(),
            position,
            mail: batch.entries.clone(),
            bad: batch.bad.clone(),
            notes: batch.notes.clone(),
        });
        if self.syncs_later && !batch.has_control {
            journal.append_unsynced(&record)?;
        } else {
            journal.append(&record)?;
        }
        self.state.take_in(position, batch.fingerprints);
        // The mail is committed and must be handed out, whatever becomes of the checkpoint. One that
        // fails is tried again with the next record.
        let _ = journal.checkpoint_if_due(&self.state);
        Ok(Delivery {
            mail: batch.entries,
            bad: batch.bad,
            notes: batch.notes,
        })
    }

    fn quarantine_all(&self, bad: &[Quarantined]) -> Result<(), AppendError> {
        let dead_letters = bad.iter().map(|bad| DeadLetter {
            id: bad.id.clone(),
            time: crate::clock::now(),
            inbox: self.owner.clone(),
            reason: bad.reason.clone(),
            line: None,
            raw: Some(bad.raw.clone()),
            raw_hex: bad.raw_hex.clone(),
            extra: protocol::Extra::new(),
        });
        let dead_letters: Vec<DeadLetter> = dead_letters.collect();
        for dead_letter in self.team.add_dead_letters(&dead_letters)? {
            // The event is for people only; the dead letter is safe without it.
            let _ = self.team.log_event(EventKind::DeadLetter {
                id: dead_letter.id.clone(),
                inbox: self.owner.clone(),
                reason: dead_letter.reason.clone(),
            });
        }
        Ok(())
    }

    /// Makes the live file the one that the inbox's name means now. Returns whether there may be
    /// something in it that was not read.
    fn follow_the_name(&mut self, journal: &mut Journal) -> Result<bool, ReceiveError> {
        let found = match std::fs::symlink_metadata(&self.inbox) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(PathError::new("look at the inbox", &self.inbox, error).into());
            }
        };
        if let Some(live) = &self.live {
            let same = found.as_ref().filter(|found| FileId::of(found) == live.id);
            let intact = same.map(|found| live.is_intact(found.len()));
            match intact.transpose().context("read the inbox", &self.inbox)? {
                Some(true) => return Ok(same.is_some_and(|found| found.len() > live.end)),
                // Somebody cut the file or wrote it anew: what it holds now is new, at places that
                // were read before.
                Some(false) => {
                    self.record_seal(live.number, journal)?;
                    self.live = None;
                }
                // Somebody moved, deleted or replaced the file. What it held may still be read
                // from the open file; whatever has the name now is another one.
                None => {
                    self.give_up_live(journal)?;
                    self.missing_since = found.is_none().then(Instant::now);
                }
            }
        }
        if found.is_some() {
            self.open_live(journal)?;
        }
        Ok(found.is_some())
    }

    fn give_up_live(&mut self, journal: &mut Journal) -> Result<(), ReceiveError> {
        let Some(number) = self.live.as_ref().map(|live| live.number) else {
            return Ok(());
        };
        self.record_seal(number, journal)?;
        if let Some(mut segment) = self.live.take() {
            let path = self.team.layout.segment(&self.owner, number);
            let found = std::fs::symlink_metadata(path);
            segment.has_name = found.is_ok_and(|found| FileId::of(&found) == segment.id);
            segment.set_aside = Some(Instant::now());
            self.aside.insert(number, segment);
        }
        self.aside_checked_at = None;
        Ok(())
    }

    fn open_live(&mut self, journal: &mut Journal) -> Result<(), ReceiveError> {
        let number = self.state.sealed + 1;
        let path = self.inbox.as_path();
        let mut segment = match Segment::open(path, number) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result.context("open the inbox", path)?,
        };
        if let Some(position) = self.state.positions.get(&number) {
            if segment.is_file_of(position) {
                if !segment.resume(position).context("read the inbox", path)? {
                    self.know_all_of(number)?;
                }
            } else {
                // The file this number was given to has gone while nobody was here to see it.
                self.record_seal(number, journal)?;
                segment.number = number + 1;
            }
        }
        // A file that was moved away and back is not read twice from now on.
        let id = segment.id;
        self.aside
            .retain(|_, aside| aside.has_name || aside.id != id);
        self.live = Some(segment);
        Ok(())
    }

    /// A file has to be read again from its start. It may hold more messages of a sender than are
    /// remembered; the journal has them all.
    fn know_all_of(&mut self, segment: u64) -> Result<(), PathError> {
        let seen = &mut self.state.seen;
        self.team.read_history(&self.owner, |_, line| {
            if let JournalLine::Known(JournalRecord::Mail(mail)) = line
                && mail.position.segment == segment
            {
                seen.know(mail.mail.iter().map(crate::mail::state::fingerprint));
            }
        })
    }

    /// The state of the mail, for a journal that begins anew.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.state.to_checkpoint()
    }

    /// A checkpoint was written, which has the numbers that are used up.
    pub(crate) fn checkpoint_written(&mut self) {
        self.recorded_seal = self.state.sealed;
    }

    /// Uses up a number, and says so in the journal. The number is used up even if the journal
    /// cannot take the record now: then [`Self::record_owed_seal`] makes up for it.
    fn record_seal(&mut self, segment: u64, journal: &mut Journal) -> Result<(), PathError> {
        self.state.seal(segment);
        self.record_owed_seal(journal)
    }

    fn record_owed_seal(&mut self, journal: &mut Journal) -> Result<(), PathError> {
        let segment = self.state.sealed;
        if segment > self.recorded_seal {
            journal.append_unsynced(&<JournalRecord>::Seal(SealRecord { segment }))?;
            self.recorded_seal = segment;
        }
        Ok(())
    }

    fn find_files_set_aside(&mut self, journal: &mut Journal) -> Result<(), PathError> {
        for number in self.team.segments(&self.owner)? {
            let path = self.team.layout.segment(&self.owner, number);
            let mut segment = match Segment::open(&path, number) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                result => result.context("open the inbox", &path)?,
            };
            if let Some(position) = self.state.positions.get(&number)
                && !segment.resume(position).context("read the inbox", &path)?
            {
                self.know_all_of(number)?;
            }
            // Members may live for less than the grace: it does not begin again with each.
            let age = segment.age().context("look at", &path)?;
            let age = age.min(self.team.options.segment_grace);
            let now = Instant::now();
            segment.set_aside = Some(now.checked_sub(age).unwrap_or(now));
            self.aside.insert(number, segment);
            // The rename happened even if its record did not.
            if number > self.state.sealed {
                self.record_seal(number, journal)?;
            }
        }
        // The journal does not say which files were deleted.
        let (aside, sealed) = (&self.aside, self.state.sealed);
        let positions = &mut self.state.positions;
        positions.retain(|number, _| *number > sealed || aside.contains_key(number));
        Ok(())
    }
}

/// Whether a file holds more than was read of it.
fn has_grown(segment: &Segment) -> bool {
    segment.size().is_ok_and(|size| segment.has_more(size))
}

impl TeamDir {
    /// The numbers of the files set aside for `owner`, in order.
    pub(crate) fn segments(&self, owner: &Recipient) -> Result<Vec<u64>, PathError> {
        let dir = self.layout.inbox_dir();
        let fail = |error| PathError::new("list", &dir, error);
        let mut numbers = Vec::new();
        for entry in files::list(&dir).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            let number = name
                .to_str()
                .and_then(|name| Layout::segment_number(owner, name));
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

#[cfg(test)]
impl Mailbox {
    /// How many positions are remembered.
    pub(crate) fn positions(&self) -> usize {
        self.state.positions.len()
    }
}
