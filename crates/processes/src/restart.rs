//! Bringing a member back, on a person's wish or by its policy.

pub(crate) mod policy;

use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::reap::claims;
use crate::reap::{ReapError, note_reaped, reap_held};
use crate::shutdown::kill::end;
use crate::start::member_spec::{PreviousEntry, begin_incarnation};
use crate::start::programs::Programs;
use crate::start::spawn::{SpawnError, Spawned, patience, start};
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::{ViewError, find, state_of};
use protocol::{AgentName, EventKind, Member, Recipient};
use rules::{MemberState, RestartLimits};
use team::BoardError;
use teamdir::{PathError, RosterError, TeamDir, now};

/// On whose wish a member is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A person's, or that of the lead's model. A living process is ended first, and what the
    /// policy counted is forgotten.
    Person,
    /// The restart policy's. A living process is left alone, and the restart is counted.
    Policy,
}

/// Why a member was not brought back.
#[derive(Debug, thiserror::Error)]
pub enum RestartError {
    /// There is no such member, or it cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The policy has nothing to do: the member is alive, or has ended cleanly.
    #[error("'{name}' is {}, so there is nothing to bring back", state.word())]
    NotDead {
        /// The member.
        name: AgentName,
        /// How it is.
        state: MemberState,
    },
    /// Its living process cannot be signalled.
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    /// Its living process does not end.
    #[error("process {pid} of '{name}' is still there after SIGKILL; it hangs in the kernel")]
    Unkillable {
        /// The member.
        name: AgentName,
        /// The process.
        pid: u32,
    },
    /// The tasks of the incarnation before could not be put back.
    #[error(transparent)]
    Tasks(#[from] BoardError),
    /// A file of the member could not be read.
    #[error(transparent)]
    File(#[from] PathError),
    /// It was not started.
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

/// Starts the next incarnation of a member with its journal, and returns when its process is ready.
pub fn restart(
    team: &TeamDir,
    name: &AgentName,
    programs: &Programs,
    cause: Cause,
) -> Result<Spawned, RestartError> {
    find(team, name)?;
    let guard = StartGuard::hold(team, name, patience(programs))?;
    let member = find(team, &guard.name)?;
    match cause {
        Cause::Person => end_living(team, &guard)?,
        Cause::Policy => {
            let (state, ..) = state_of(team, &member)?;
            if !matches!(state, MemberState::Dead { .. }) {
                let name = guard.name;
                return Err(RestartError::NotDead { name, state });
            }
        }
    }
    reap_held(team, &guard)?;
    let before = prepare(team, &guard.name, cause)?;
    let started = start(team, &guard, &before, programs)?;
    let reason = match cause {
        Cause::Person => "requested by a person",
        Cause::Policy => "its restart policy",
    };
    let _ = team.log_event(EventKind::Restart {
        member: Recipient::Member(guard.name.clone()),
        incarnation: started.incarnation,
        reason: reason.to_owned(),
    });
    Ok(Spawned::Started {
        pid: started.pid,
        incarnation: started.incarnation,
        came_back: true,
    })
}

/// Ends the living process of a member, if there is one. That is no death to be reaped.
fn end_living(team: &TeamDir, guard: &StartGuard) -> Result<(), RestartError> {
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
    // Only now: if we had been killed before, the death would be somebody's to deal with.
    Ok(note_reaped(team, name, ended)?)
}

/// Makes the roster's entry ready for the next incarnation. Returns what is put back if that comes to
/// nothing: what the policy counts stays counted even then, or it would try for ever.
fn prepare(team: &TeamDir, name: &AgentName, cause: Cause) -> Result<PreviousEntry, RestartError> {
    let at = now();
    let entry = team.update_roster(|roster| {
        let known = roster.members.iter().map(|m| m.name.clone()).collect();
        let Some(member) = roster.member_mut(name) else {
            let name = name.clone();
            return Err(RestartError::from(ViewError::NoSuchMember { name, known }));
        };
        if cause == Cause::Policy {
            count(member, at);
        }
        let before = member.clone();
        begin_incarnation(member);
        if cause == Cause::Person {
            (member.restarts, member.gave_up) = (None, None);
        }
        Ok(before)
    })?;
    Ok(PreviousEntry::Found(Box::new(entry)))
}

/// Counts a restart by policy, and forgets those that no longer matter.
fn count(member: &mut Member, at: protocol::Timestamp) {
    let window = RestartLimits::default().window;
    let mut restarts = member.restarts.take().unwrap_or_default();
    restarts.retain(|restart| at.since(*restart) < window);
    restarts.push(at);
    member.restarts = Some(restarts);
}
