//! Shuts down all members at once.

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

/// How long to wait for a process that is starting a member.
const START_LOCK_WAIT: Duration = Duration::from_secs(30);

/// How all members are asked to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownAllOptions {
    /// May be empty.
    pub reason: String,
    /// The time each member has to answer.
    pub timeout: Duration,
    /// Whether processes are ended after the timeout.
    pub force: bool,
    /// Whether the lead asks because it leaves.
    pub lead_leaves: bool,
}

/// The outcome for one member.
#[derive(Debug)]
pub struct Ended {
    pub name: AgentName,
    /// `None` if it had no process.
    pub outcome: Result<Option<ShutdownOutcome>, EndError>,
}

/// Why a member was not shut down.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Follow(#[from] FollowError),
}

/// Asks every running member of this host to end, and follows all of them concurrently until each has ended or refused,
/// or `stop` returns true. Waits for a member that is being started.
pub fn shut_down_all(
    team: &TeamDir,
    me: &Actor,
    options: &ShutdownAllOptions,
    limits: ShutdownLimits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Ended>, ViewError> {
    let roster = team.roster()?;
    // Those at home on another host go on there.
    let here = roster.members.iter().filter(|member| member.host.is_none());
    let names: Vec<AgentName> = here.map(|member| member.spec.name.clone()).collect();
    let shared = ShutdownAll {
        team,
        me,
        options,
        limits,
        stop,
    };
    let ended = thread::scope(|scope| {
        let shared = &shared;
        let follow = |name: AgentName| {
            scope.spawn(move || Ended {
                outcome: shared.shut_down(&name),
                name,
            })
        };
        let threads: Vec<_> = names.into_iter().map(follow).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.filter_map(Result::ok).collect()
    });
    Ok(ended)
}

/// What is the same for all members.
struct ShutdownAll<'a> {
    team: &'a TeamDir,
    me: &'a Actor,
    options: &'a ShutdownAllOptions,
    limits: ShutdownLimits,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl ShutdownAll<'_> {
    fn shut_down(&self, name: &AgentName) -> Result<Option<ShutdownOutcome>, EndError> {
        let owner = Recipient::Member(name.clone());
        let mut process = ProcessHandle::of(self.team, &owner)?;
        if process.is_none() {
            // A start in progress is over when the lock is free. The wait may time out, so the process is
            // looked up in any case.
            drop(StartGuard::hold(self.team, name, START_LOCK_WAIT));
            process = ProcessHandle::of(self.team, &owner)?;
        }
        let Some(process) = process else {
            return Ok(None);
        };
        let options = ShutdownOptions {
            to: name.clone(),
            reason: self.options.reason.clone(),
            timeout: self.options.timeout,
            force: self.options.force,
            lead_leaves: self.options.lead_leaves,
        };
        let request = ask_shutdown(self.team, self.me, &options, process.incarnation())?;
        let outcome = follow_shutdown(self.team, request, self.limits, &|| (self.stop)())?;
        Ok(Some(outcome))
    }
}
