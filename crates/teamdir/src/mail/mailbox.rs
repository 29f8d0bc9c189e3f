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

mod batch;
mod files;
mod seal;
#[cfg(test)]
mod tests;

pub use seal::WaitPlan;

use crate::error::PathError;
use crate::files::FileId;
use crate::files::append::AppendError;
use crate::locks::LockError;
use crate::mail::segment::Segment;
use crate::mail::state::MailState;
use crate::members::journal::Journal;
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{Checkpoint, Incarnation, MailEntry, Message, Quarantined, Recipient};
use std::collections::BTreeMap;
use std::fmt;
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

    /// The state of the mail, for a journal that begins anew.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.state.to_checkpoint()
    }

    /// A checkpoint was written, which has the numbers that are used up.
    pub(crate) fn checkpoint_written(&mut self) {
        self.recorded_seal = self.state.sealed;
    }
}

/// Whether a file holds more than was read of it.
fn has_grown(segment: &Segment) -> bool {
    segment.size().is_ok_and(|size| segment.has_more(size))
}

#[cfg(test)]
impl Mailbox {
    /// How many positions are remembered.
    pub(crate) fn positions(&self) -> usize {
        self.state.positions.len()
    }
}
