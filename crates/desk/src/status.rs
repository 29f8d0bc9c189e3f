//! The word in the roster, kept up to date without making anybody wait for it.

use protocol::{MemberStatus, Recipient};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use teamdir::{RosterError, TeamDir};

/// Small, since the thread only rewrites a file.
const STACK: usize = 256 << 10;

/// Writes a member's status into the roster. Replacing the roster costs syncs, and the status is
/// only a claim, so a thread does it while the member goes on; it ends when there is nothing to
/// write.
#[derive(Debug)]
pub(crate) struct StatusKeeper {
    team: TeamDir,
    owner: Recipient,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    wanted: Option<MemberStatus>,
    is_running: bool,
}

impl StatusKeeper {
    pub(crate) fn new(team: &TeamDir, owner: &Recipient) -> Self {
        Self {
            team: team.clone(),
            owner: owner.clone(),
            shared: Arc::default(),
            thread: None,
        }
    }

    /// Lets the roster say so, soon.
    pub(crate) fn set(&mut self, status: MemberStatus) {
        {
            let mut shared = lock(&self.shared);
            shared.wanted = Some(status);
            if shared.is_running {
                return;
            }
            shared.is_running = true;
        }
        // The thread before has said that it ends, so this does not wait.
        self.join();
        let (team, owner) = (self.team.clone(), self.owner.clone());
        let shared = Arc::clone(&self.shared);
        let work = move || {
            while let Some(status) = next(&shared) {
                // A roster that cannot be written now is written at the next change.
                let _ = write(&team, &owner, &status);
            }
        };
        let started = thread::Builder::new().stack_size(STACK).spawn(work);
        match started {
            Ok(thread) => self.thread = Some(thread),
            Err(_) => lock(&self.shared).is_running = false,
        }
    }

    /// Lets the roster say so now, as the last word.
    pub(crate) fn finish(&mut self, status: &MemberStatus) -> Result<(), RosterError> {
        lock(&self.shared).wanted = None;
        self.join();
        write(&self.team, &self.owner, status)
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for StatusKeeper {
    fn drop(&mut self) {
        self.join();
    }
}

fn next(shared: &Mutex<Shared>) -> Option<MemberStatus> {
    let mut shared = lock(shared);
    let wanted = shared.wanted.take();
    shared.is_running = wanted.is_some();
    wanted
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(team: &TeamDir, owner: &Recipient, status: &MemberStatus) -> Result<(), RosterError> {
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
    team.update_roster(|roster| {
        if let Some(member) = roster.member_mut(name) {
            member.status = status.clone();
        }
        Ok(())
    })
}
