//! The member's status in the roster, written by a thread so that the member does not wait for it.

use protocol::{MemberStatus, Recipient, Roster};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use teamdir::{RosterError, TeamDir};

/// Small, since the thread only rewrites a file.
const STACK: usize = 256 << 10;
/// How long a status waits for a newer one: short turns need not rewrite the roster twice, and the
/// syncs of the roster do not compete with those of the mail that began the turn.
const DELAY: Duration = Duration::from_millis(50);

/// Writes a member's status into the roster. Replacing the roster costs syncs, and the status is
/// only a claim, so a thread does it while the member goes on. It starts with the first status and
/// sleeps while there is nothing to write.
#[derive(Debug)]
pub(crate) struct RosterStatus {
    team: TeamDir,
    owner: Recipient,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: Option<MemberStatus>,
    is_closing: bool,
}

impl RosterStatus {
    pub(crate) fn new(team: &TeamDir, owner: &Recipient) -> Self {
        Self {
            team: team.clone(),
            owner: owner.clone(),
            shared: Arc::default(),
            thread: None,
        }
    }

    /// Sets the status, soon.
    pub(crate) fn set(&mut self, status: MemberStatus) {
        self.shared.lock().wanted = Some(status);
        self.shared.changed.notify_all();
        if self.thread.is_some() {
            return;
        }
        let (team, owner) = (self.team.clone(), self.owner.clone());
        let shared = Arc::clone(&self.shared);
        let work = move || {
            while let Some(status) = shared.next() {
                // A roster that cannot be written now is written at the next change.
                let _ = write(&team, &owner, &status, Last::No);
            }
        };
        // Without a thread the status is written at the next change.
        self.thread = thread::Builder::new().stack_size(STACK).spawn(work).ok();
    }

    /// Sets the last status, now.
    pub(crate) fn finish(&mut self, status: &MemberStatus) -> Result<(), RosterError> {
        {
            let mut state = self.shared.lock();
            state.wanted = None;
            state.is_closing = true;
        }
        self.shared.changed.notify_all();
        self.join();
        write(&self.team, &self.owner, status, Last::Yes)
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for RosterStatus {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        self.join();
    }
}

impl Shared {
    /// Waits for a status to write, and then for a moment in which a newer one may come. Nothing at the
    /// end.
    fn next(&self) -> Option<MemberStatus> {
        let state = self.lock();
        let is_quiet = |state: &mut State| state.wanted.is_none() && !state.is_closing;
        let waited = self.changed.wait_while(state, is_quiet);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        let is_open = |state: &mut State| !state.is_closing;
        let waited = self.changed.wait_timeout_while(state, DELAY, is_open);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.wanted.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the process ends after a status.
#[derive(Clone, Copy)]
enum Last {
    Yes,
    No,
}

/// A power cut ends the process too, and its next one writes a status of its own. So only the last one has to
/// survive that, and a turn costs two syncs less.
fn write(
    team: &TeamDir,
    owner: &Recipient,
    status: &MemberStatus,
    last: Last,
) -> Result<(), RosterError> {
    let Recipient::Member(name) = owner else {
        return Ok(());
    };
    let known = team.roster()?;
    if known
        .member(name)
        .is_none_or(|member| member.status == *status)
    {
        return Ok(());
    }
    let set = |roster: &mut Roster| {
        if let Some(member) = roster.member_mut(name) {
            member.status = status.clone();
        }
        Ok(())
    };
    match last {
        Last::Yes => team.update_roster(set),
        Last::No => team.update_roster_unsynced(set),
    }
}
