//! Restarts a member, requested by a person or by its restart policy.

pub(crate) mod policy;

use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::reap::claims;
use crate::reap::{ReapError, record_reaped, settle_end};
use crate::shutdown::kill::end;
use crate::start::programs::Programs;
use crate::start::roster_entry::{PreviousEntry, begin_incarnation};
use crate::start::spawn::{SpawnError, Spawned, refuse_elsewhere, start, start_lock_timeout};
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::{ViewError, find, state_of};
use protocol::{AgentName, Member, Recipient, RestartReason};
use rules::MemberState;
use team::BoardError;
use teamdir::{PathError, RosterError, TeamDir, now};

/// Why a member was not restarted.
#[derive(Debug, thiserror::Error)]
pub enum RestartError {
    #[error(transparent)]
    View(#[from] ViewError),
    /// The policy has nothing to do: the member is alive or has ended cleanly.
    #[error("'{name}' is {}, so there is nothing to restart", state.word())]
    NotDead { name: AgentName, state: MemberState },
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    #[error("process {pid} of '{name}' is still running after SIGKILL; it hangs in the kernel")]
    Unkillable { name: AgentName, pid: u32 },
    #[error(transparent)]
    Tasks(#[from] BoardError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Start(#[from] SpawnError),
}

impl From<StartGuardError> for RestartError {
    fn from(error: StartGuardError) -> Self {
        Self::Start(error.into())
    }
}

impl From<ReapError> for RestartError {
    fn from(error: ReapError) -> Self {
        Self::Start(error.into())
    }
}

impl From<RosterError> for RestartError {
    fn from(error: RosterError) -> Self {
        Self::Start(error.into())
    }
}

/// Starts the next incarnation of a member with its journal because somebody asked for it, and returns when
/// its process is ready. A running process is ended first, and the count of the restart policy is reset.
pub fn restart(
    team: &TeamDir,
    name: &AgentName,
    programs: &Programs,
) -> Result<Spawned, RestartError> {
    let guard = hold(team, name, programs)?;
    end_running(team, &guard)?;
    start_next(team, &guard, programs, RestartReason::Requested)
}

/// Does the same for a dead member because its restart policy says so. A running process is left alone, and
/// the restart is counted.
pub fn restart_dead(
    team: &TeamDir,
    name: &AgentName,
    programs: &Programs,
) -> Result<Spawned, RestartError> {
    let guard = hold(team, name, programs)?;
    let (state, ..) = state_of(team, &find(team, &guard.name)?)?;
    if !matches!(state, MemberState::Dead { .. }) {
        let name = guard.name;
        return Err(RestartError::NotDead { name, state });
    }
    start_next(team, &guard, programs, RestartReason::Policy)
}

fn hold(team: &TeamDir, name: &AgentName, programs: &Programs) -> Result<StartGuard, RestartError> {
    find(team, name)?;
    let guard = StartGuard::hold(team, name, start_lock_timeout(programs))?;
    refuse_elsewhere(&find(team, &guard.name)?)?;
    Ok(guard)
}

fn start_next(
    team: &TeamDir,
    guard: &StartGuard,
    programs: &Programs,
    reason: RestartReason,
) -> Result<Spawned, RestartError> {
    // The next change of the roster records that it was reaped.
    settle_end(team, guard)?;
    let before = prepare(team, &guard.name, &reason)?;
    let started = start(team, guard, &before, reason, programs)?;
    Ok(Spawned::Started {
        pid: started.pid,
        incarnation: started.incarnation,
        came_back: true,
    })
}

/// Ends the running process of a member, if there is one. This does not count as a death.
fn end_running(team: &TeamDir, guard: &StartGuard) -> Result<(), RestartError> {
    let name = &guard.name;
    let owner = Recipient::Member(name.clone());
    let Some(process) = ProcessHandle::of(team, &owner)? else {
        return Ok(());
    };
    if !end(team, guard, &process)? {
        return Err(RestartError::Unkillable {
            name: name.clone(),
            pid: process.holder().pid,
        });
    }
    let ended = process.incarnation();
    let why = format!("'{name}' was restarted (incarnation {ended} ended)");
    claims::release(team, name, ended, &why)?;
    // Last: if this process is killed before this step, another one reaps the death.
    Ok(record_reaped(team, name, ended)?)
}

/// Prepares the roster entry for the next incarnation. Returns the entry to restore if the start fails. It
/// includes the policy's count, or the policy would retry without limit.
fn prepare(
    team: &TeamDir,
    name: &AgentName,
    reason: &RestartReason,
) -> Result<PreviousEntry, RestartError> {
    let at = now();
    let entry = team.update_roster(|roster| {
        let known = roster.members.iter().map(|m| m.spec.name.clone()).collect();
        let Some(member) = roster.member_mut(name) else {
            let name = name.clone();
            return Err(RestartError::from(ViewError::NoSuchMember { name, known }));
        };
        if *reason == RestartReason::Policy {
            count(member, at);
        }
        let before = member.clone();
        begin_incarnation(member);
        if *reason == RestartReason::Requested {
            (member.restarts, member.gave_up) = (None, None);
        }
        Ok(before)
    })?;
    Ok(PreviousEntry::Found(Box::new(entry)))
}

/// Counts a restart by policy, and drops those outside the window.
fn count(member: &mut Member, at: protocol::Timestamp) {
    let window = policy::limits().window;
    let mut restarts = member.restarts.take().unwrap_or_default();
    restarts.retain(|restart| at.since(*restart) < window);
    restarts.push(at);
    member.restarts = Some(restarts);
}
