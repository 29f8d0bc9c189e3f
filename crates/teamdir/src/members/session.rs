//! A member's session: its lock, journal, mailbox and watcher, opened in the one safe order.

use crate::error::{Context, PathError};
use crate::mail::mailbox::{CommitHook, Delivery, ForwardHook, Mailbox, ReceiveError, WaitPlan};
use crate::members::journal::{CutError, Journal};
use crate::members::lock::{JoinError, MemberGuard};
use crate::team_dir::TeamDir;
use crate::watch::{Changes, FolderWatch, WatchChoice, WatchMode, Watcher};
use protocol::{CutRecord, JournalRecord, JsonLine, JsonLineError, Recipient};
use std::path::Path;
use std::time::Instant;

/// What a process holds while it is a member: the lock, the journal, the mailbox and the watcher.
#[derive(Debug)]
pub struct MemberSession {
    mailbox: Mailbox,
    journal: Journal,
    watcher: Watcher,
    /// Whether a sync of the journal has failed.
    is_sync_lost: bool,
    // Last, so that the lock is given up after everything it protects.
    guard: MemberGuard,
}

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The process could not become the member.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The journal could not be opened.
    #[error(transparent)]
    Journal(#[from] PathError),
    /// The mailbox could not be opened.
    #[error(transparent)]
    Mailbox(#[from] ReceiveError),
}

impl MemberSession {
    /// Makes this process the member `owner` and finds where its predecessor stopped.
    pub fn open(
        team: &TeamDir,
        owner: &Recipient,
        choice: WatchChoice,
    ) -> Result<Self, SessionError> {
        Self::take(team, team.join(owner)?, choice)
    }

    /// Opens the session of a member whose process has ended, without starting a new incarnation.
    pub fn open_dead(team: &TeamDir, owner: &Recipient) -> Result<Self, SessionError> {
        Self::take(team, team.lock_dead_member(owner)?, WatchChoice::Poll)
    }

    fn take(team: &TeamDir, guard: MemberGuard, choice: WatchChoice) -> Result<Self, SessionError> {
        let (mut journal, state) = Journal::open(team, &guard)?;
        let mailbox = Mailbox::open(team, &guard, state, &mut journal)?;
        let watcher = Watcher::new(&team.layout.inbox_dir(), choice);
        Ok(Self {
            mailbox,
            journal,
            watcher,
            is_sync_lost: false,
            guard,
        })
    }

    /// From now on plain messages are recorded without a sync of their own. After a power cut they may
    /// count as unread again; the inbox keeps them until the journal is synced. The caller appends a
    /// synced record before it acts on what it has read, as an agent does with the reply of its model.
    /// Requests and answers are still synced.
    pub const fn sync_later(&mut self) {
        self.mailbox.sync_later();
    }

    /// Calls `hook` with each message of a batch before the batch is committed. Until the commit the
    /// message is unread for everybody else, so whoever finds it read can rely on what the hook did.
    /// After a crash in between the hook is called again.
    pub fn before_commit(&mut self, hook: CommitHook) {
        self.mailbox.before_commit(hook);
    }

    /// Calls `hook` with each batch before it is committed, to store it for another host. The batch stays
    /// unread if that fails; after a crash in between the hook is called with the same mail again.
    pub fn forward(&mut self, hook: ForwardHook) {
        self.mailbox.forward(hook);
    }

    /// The next mail, if there is any now.
    pub fn try_next(&mut self) -> Result<Option<Delivery>, ReceiveError> {
        let delivery = self.mailbox.receive(&mut self.journal)?;
        if delivery.is_some() {
            // Committed mail must be returned; a failed seal is retried later.
            let (journal, watcher) = (&mut self.journal, &mut self.watcher);
            let _ = self.mailbox.seal_if_large(journal, watcher);
        }
        Ok(delivery)
    }

    /// Waits for the next mail, until `deadline` at most.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Delivery>, ReceiveError> {
        loop {
            if let Some(delivery) = self.try_next()? {
                return Ok(Some(delivery));
            }
            let plan = self
                .mailbox
                .prepare_to_wait(&mut self.journal, &mut self.watcher)?;
            if plan.check_again {
                continue;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }
            let wake_at = plan.wake_at.into_iter().chain(deadline).min();
            self.watcher.wait(wake_at);
        }
    }

    /// Prepares to wait: sets aside and deletes what is due, and watches the inbox. An event loop calls
    /// this when there is no mail, waits for [`Changes`] or until the returned time, and then checks
    /// for mail again.
    pub fn prepare_to_wait(&mut self) -> Result<WaitPlan, ReceiveError> {
        self.mailbox
            .prepare_to_wait(&mut self.journal, &mut self.watcher)
    }

    /// Whether there seems to be mail that was not taken. Changes nothing; blank lines count too.
    pub fn has_unread(&self) -> bool {
        self.mailbox.has_unread()
    }

    /// A handle for an event loop: raised when a watched file or folder has changed.
    pub fn changes(&mut self) -> Changes {
        self.watcher.changes()
    }

    /// Watches the team folder itself, for its end.
    pub fn watch_team_folder(&mut self, team: &TeamDir) -> FolderWatch {
        self.watcher.watch_team_folder(team, self.guard.owner())
    }

    /// Watches a folder too, for files that are created in it, replaced or removed.
    pub fn watch_folder(&mut self, folder: &Path) {
        self.watcher.watch_folder(folder);
    }

    /// Whether a folder is watched.
    pub fn is_watched(&self, folder: &Path) -> bool {
        self.watcher.is_watched(folder)
    }

    pub fn unwatch_folder(&mut self, folder: &Path) {
        self.watcher.unwatch(folder);
    }

    /// Closes the session: the inbox holds unread mail only.
    pub fn close(mut self) -> Result<(), ReceiveError> {
        self.set_aside()
    }

    /// Sets the inbox file aside if all of it was read, so that the inbox holds unread mail only.
    pub fn set_aside(&mut self) -> Result<(), ReceiveError> {
        self.mailbox
            .seal_if_read(&mut self.journal, &mut self.watcher)
    }

    /// Who this process is.
    pub const fn guard(&self) -> &MemberGuard {
        &self.guard
    }

    /// The journal, for records of other kinds.
    pub const fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// Begins the journal anew: with what a restart needs of its records so far, which are kept as the archive
    /// that `cut` names, and with `compaction`.
    pub fn cut_journal(
        &mut self,
        team: &TeamDir,
        cut: CutRecord,
        compaction: &impl serde::Serialize,
    ) -> Result<(), CutError> {
        let archive = team.layout.archive(self.guard.owner(), cut.archive);
        let checkpoint = self.mailbox.checkpoint();
        let encode = || -> Result<[JsonLine; 3], JsonLineError> {
            Ok([
                JsonLine::encode(&<JournalRecord>::Cut(Box::new(cut)))?,
                JsonLine::encode(&<JournalRecord>::Checkpoint(checkpoint))?,
                JsonLine::encode(compaction)?,
            ])
        };
        let head = encode()
            .map_err(std::io::Error::other)
            .context("encode a record for", &archive)
            .map_err(CutError::NotCut)?;
        let done = self.journal.cut(&archive, &head);
        if !matches!(done, Err(CutError::NotCut(_))) {
            self.mailbox.checkpoint_written();
        }
        done
    }

    /// Whether what was read may count as unread after a power cut.
    pub const fn has_unsynced(&self) -> bool {
        self.is_sync_lost || self.journal.has_unsynced()
    }

    /// Makes what was read and not synced survive a power cut. Only for a reader that stores its mail elsewhere.
    pub fn sync_forwarded(&mut self) -> Result<(), CutError> {
        if !self.has_unsynced() || !self.is_sync_lost && self.journal.sync().is_ok() {
            return Ok(());
        }
        // After a failed sync only writing the records again makes them safe.
        self.is_sync_lost = true;
        self.forget_forwarded(0)?;
        self.is_sync_lost = false;
        Ok(())
    }

    /// Begins the journal anew with nothing but how far the mail was read, if it has reached `limit` bytes. Only
    /// for a reader that stores its mail elsewhere: the mail in the journal is not kept.
    pub fn forget_forwarded(&mut self, limit: u64) -> Result<(), CutError> {
        if self.journal.size() < limit {
            return Ok(());
        }
        let checkpoint = <JournalRecord>::Checkpoint(self.mailbox.checkpoint());
        let done = self.journal.begin_with(&checkpoint);
        if !matches!(done, Err(CutError::NotCut(_))) {
            self.mailbox.checkpoint_written();
        }
        done
    }

    /// How this process is notified of mail.
    pub fn watch_mode(&self) -> WatchMode {
        self.watcher.mode()
    }
}

#[cfg(test)]
impl MemberSession {
    /// How many positions are remembered.
    pub(crate) fn positions(&self) -> usize {
        self.mailbox.positions()
    }
}
