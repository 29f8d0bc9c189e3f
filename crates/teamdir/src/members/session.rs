//! A member's post: its lock, journal, mailbox and notifications, in the one order that is safe.

use crate::error::PathError;
use crate::mail::mailbox::{CommitHook, Delivery, Mailbox, ReceiveError, Settled};
use crate::members::journal::Journal;
use crate::members::lock::{JoinError, MemberGuard};
use crate::team_dir::TeamDir;
use crate::watch::{Changes, WatchChoice, WatchMode, Watcher};
use protocol::Recipient;
use std::path::Path;
use std::time::Instant;

/// Everything a process needs to live as a member and take its mail.
#[derive(Debug)]
pub struct MemberSession {
    mailbox: Mailbox,
    journal: Journal,
    watcher: Watcher,
    // Last, so that the lock is given up after everything it protects.
    guard: MemberGuard,
}

/// Why a process could not take up a member's post.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It may not be the member.
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

    /// Takes the mail of a member whose process is gone, without beginning a new life of it.
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
            guard,
        })
    }

    /// From now on words that are taken are recorded without a sync of their own. After a power cut
    /// they may count as unread again; the inbox keeps them until a sync of the journal. Whoever asks
    /// for this appends a synced record before it acts on what it has read, as an agent does with
    /// the reply of its model. Mail that asks for something to be done at once is still synced.
    pub const fn sync_later(&mut self) {
        self.mailbox.sync_later();
    }

    /// Calls `hook` with each message of a batch before the batch is committed. Until the commit the
    /// message is unread for everybody else, so whoever finds it read can rely on what the hook did.
    /// After a crash in between the hook is called again.
    pub fn before_commit(&mut self, hook: CommitHook) {
        self.mailbox.before_commit(hook);
    }

    /// The next mail, if there is any now.
    pub fn try_next(&mut self) -> Result<Option<Delivery>, ReceiveError> {
        let delivery = self.mailbox.receive(&mut self.journal)?;
        if delivery.is_some() {
            // What was committed must be handed out; setting aside can fail again later.
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
            let settled = self.mailbox.settle(&mut self.journal, &mut self.watcher)?;
            if settled.look_again {
                continue;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }
            let wake_at = settled.wake_at.into_iter().chain(deadline).min();
            self.watcher.wait(wake_at);
        }
    }

    /// Does what is due besides taking mail, such as setting aside a file that was read, and asks
    /// for notifications. An event loop calls this when there is no mail, and waits after it: until
    /// the descriptor is readable, or until the time that this says, and then looks for mail again.
    pub fn settle(&mut self) -> Result<Settled, ReceiveError> {
        self.mailbox.settle(&mut self.journal, &mut self.watcher)
    }

    /// Whether there seems to be mail that was not taken. Changes nothing; blank lines count too.
    pub fn has_unread(&self) -> bool {
        self.mailbox.has_unread()
    }

    /// A handle for an event loop: raised when a watched file or folder has changed.
    pub fn changes(&mut self) -> Changes {
        self.watcher.changes()
    }

    /// Watches a folder too, for files that are created in it, replaced or removed.
    pub fn watch_folder(&mut self, folder: &Path) {
        self.watcher.watch_folder(folder);
    }

    pub fn unwatch_folder(&mut self, folder: &Path) {
        self.watcher.unwatch(folder);
    }

    /// Gives up the post in good order: the inbox shows unread mail only.
    pub fn close(mut self) -> Result<(), ReceiveError> {
        self.set_aside()
    }

    /// Lets the inbox show unread mail only, at once.
    pub fn set_aside(&mut self) -> Result<(), ReceiveError> {
        self.mailbox
            .set_aside_what_was_read(&mut self.journal, &mut self.watcher)
    }

    /// Who this process is.
    pub const fn guard(&self) -> &MemberGuard {
        &self.guard
    }

    /// The journal, for records of other kinds.
    pub const fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// How this process learns of mail.
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
