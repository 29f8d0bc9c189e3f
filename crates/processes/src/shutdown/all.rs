//! Shutting down everybody at once.

use super::{FollowError, follow_shutdown};
use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::start::start_lock::StartGuard;
use crate::status::member_view::ViewError;
use protocol::{AgentName, Recipient};
use rules::{ShutdownLimits, ShutdownOutcome};
use std::thread;
use std::time::Duration;
use team::{Actor, AskError, ShutdownOptions, ask_shutdown};
use teamdir::TeamDir;

/// How long somebody may take who is just starting a member.
const STARTING: Duration = Duration::from_secs(30);

/// How everybody is asked to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownAllOptions {
    /// Why; may be empty.
    pub reason: String,
    /// How long each has to answer.
    pub timeout: Duration,
    /// Whether their processes are ended when that has passed.
    pub force: bool,
    /// Whether the lead asks because it leaves.
    pub lead_leaves: bool,
}

/// How one member ended, or did not.
#[derive(Debug)]
pub struct Ended {
    /// The member.
    pub name: AgentName,
    /// How. `None` if it had no process.
    pub outcome: Result<Option<ShutdownOutcome>, EndError>,
}

/// Why a member was not shut down.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// Its process cannot be read.
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    /// It could not be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The shutdown was not carried to its end.
    #[error(transparent)]
    Follow(#[from] FollowError),
}

/// Asks every living member to end, and follows all of them at the same time until each has ended
/// or refused, or `stop` says so. A member that somebody is just starting is waited for.
pub fn shut_down_all(
    team: &TeamDir,
    me: &Actor,
    wish: &ShutdownAllOptions,
    limits: ShutdownLimits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Ended>, ViewError> {
    let roster = team.roster()?;
    let names: Vec<AgentName> = roster.members.iter().map(|m| m.name.clone()).collect();
    let everybody = Everybody {
        team,
        me,
        wish,
        limits,
        stop,
    };
    let ended = thread::scope(|scope| {
        let everybody = &everybody;
        let follow = |name: AgentName| {
            scope.spawn(move || Ended {
                outcome: everybody.shut_down(&name),
                name,
            })
        };
        let threads: Vec<_> = names.into_iter().map(follow).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.filter_map(Result::ok).collect()
    });
    Ok(ended)
}

/// What is the same for all of them.
struct Everybody<'a> {
    team: &'a TeamDir,
    me: &'a Actor,
    wish: &'a ShutdownAllOptions,
    limits: ShutdownLimits,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Everybody<'_> {
    fn shut_down(&self, name: &AgentName) -> Result<Option<ShutdownOutcome>, EndError> {
        let owner = Recipient::Member(name.clone());
        let mut process = ProcessHandle::of(self.team, &owner)?;
        if process.is_none() {
            // Whoever is starting it is done when the lock is free. Without the lock there may be
            // a process all the same, so it is looked for in any case.
            drop(StartGuard::hold(self.team, name, STARTING));
            process = ProcessHandle::of(self.team, &owner)?;
        }
        let Some(process) = process else {
            return Ok(None);
        };
        let wish = ShutdownOptions {
            to: name.clone(),
            reason: self.wish.reason.clone(),
            timeout: self.wish.timeout,
            force: self.wish.force,
            lead_leaves: self.wish.lead_leaves,
        };
        let request = ask_shutdown(self.team, self.me, &wish, process.incarnation())?;
        let outcome = follow_shutdown(self.team, request, self.limits, &|| (self.stop)())?;
        Ok(Some(outcome))
    }
}
