//! Dealing with the death of a member: once, however many notice it.
//!
//! Whoever notices takes the member's life lock. If somebody has it, he is starting, ending or
//! reaping the member, and the death is his to deal with. The last step is to note in the roster
//! which life was dealt with. Whoever is killed before that leaves it to the next who looks, and
//! every step can be repeated: tasks that went back stay back, requests that ended stay ended, and
//! the notice has an id and a text that depend on the death alone, so that it is read once.

use crate::claims;
use crate::mark::sweep;
use crate::recover_events::recover_events;
use crate::repair::end_overdue;
use crate::start_lock::{StartGuard, StartGuardError};
use crate::view::state_of;
use protocol::{AgentName, EventKind, Incarnation, LiveState, Member, Phase, Recipient, TaskId};
use rules::MemberState;
use std::time::Duration;
use team::{BoardError, notice};
use teamdir::{AppendError, PathError, RequestError, RosterError, SendError, TeamDir};

/// What came of looking after a death.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaped {
    /// It was dealt with now.
    Done {
        /// The member.
        name: AgentName,
        /// The life that is gone.
        incarnation: Incarnation,
        /// Its tasks, which are back on the board.
        tasks: Vec<TaskId>,
    },
    /// There is nothing to do: that life runs, has ended in good order, or was dealt with before.
    Nothing,
    /// Somebody is starting, ending or reaping the member.
    Left,
}

/// Why a death was not dealt with. Whoever looks next tries again.
#[derive(Debug, thiserror::Error)]
pub enum ReapError {
    /// The right to do so could not be had.
    #[error(transparent)]
    StartGuard(#[from] StartGuardError),
    /// The member could not be looked at.
    #[error(transparent)]
    File(#[from] PathError),
    /// The roster could not be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// Its tasks could not be put back.
    #[error(transparent)]
    Tasks(#[from] BoardError),
    /// A request to it could not be changed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The lead could not be told.
    #[error(transparent)]
    Notice(#[from] SendError),
    /// It could not be put into the event log.
    #[error(transparent)]
    Event(#[from] AppendError),
}

/// Deals with the death of this life of a member, if it is dead and nobody has done so.
pub fn reap(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
) -> Result<Reaped, ReapError> {
    // Most deaths that are asked for were dealt with before, and then no lock is needed.
    if !is_due(team, name, Some(incarnation))? {
        return Ok(Reaped::Nothing);
    }
    match StartGuard::hold(team, name, Duration::ZERO) {
        Ok(guard) if is_due(team, &guard.name, Some(incarnation))? => reap_held(team, &guard),
        Ok(_) => Ok(Reaped::Nothing),
        Err(StartGuardError::Busy { .. }) => Ok(Reaped::Left),
        Err(error @ (StartGuardError::Lock(_) | StartGuardError::Roster(_))) => Err(error.into()),
    }
}

/// Whether a member has died in this life, or in any, and nobody has dealt with it.
pub(crate) fn is_due(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Option<Incarnation>,
) -> Result<bool, ReapError> {
    let roster = team.roster()?;
    let Some(member) = roster.member(name) else {
        return Ok(false);
    };
    let (state, ..) = state_of(team, member)?;
    Ok(is_unreaped(member, &state)
        && incarnation.is_none_or(|incarnation| incarnation == member.incarnation))
}

/// Whether the last life of a member died and nobody has dealt with it.
pub(crate) fn is_unreaped(member: &Member, state: &MemberState) -> bool {
    let died = match state {
        MemberState::Dead { .. } | MemberState::Failed { since: None, .. } => true,
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Failed { since: Some(_), .. }
        | MemberState::Shutdown => false,
    };
    died && member.reaped < Some(member.incarnation)
}

/// The same for whoever has the member's life lock.
pub(crate) fn reap_held(team: &TeamDir, guard: &StartGuard) -> Result<Reaped, ReapError> {
    let roster = team.roster()?;
    let Some(member) = roster.member(&guard.name) else {
        return Ok(Reaped::Nothing);
    };
    let (state, _, live) = state_of(team, member)?;
    if !is_unreaped(member, &state) {
        return Ok(Reaped::Nothing);
    }
    let (name, incarnation) = (&member.name, member.incarnation);
    // Before its tasks go to others: what it left running could get in their way.
    sweep(team, guard);
    let why = format!("'{name}' died in incarnation {incarnation}");
    let tasks = claims::left_by(team, name, incarnation, &why)?;
    claims::release(team, name, incarnation, &why)?;
    let words = obituary(member, live.as_ref(), &tasks);
    notice(
        team,
        Recipient::Lead,
        &format!("death/{name}/{incarnation}"),
        &words,
    )?;
    end_overdue(team)?;
    // Whoever has no room to say so leaves the rest to the next.
    let dead = Recipient::Member(name.clone());
    recover_events(team, &dead)?;
    team.log_event(EventKind::Death {
        member: dead,
        incarnation,
    })?;
    note_reaped(team, name, incarnation)?;
    Ok(Reaped::Done {
        name: name.clone(),
        incarnation,
        tasks,
    })
}

/// Notes that the lives up to this one need no reaping any more.
pub(crate) fn note_reaped(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
) -> Result<(), RosterError> {
    team.update_roster(|roster| {
        if let Some(member) = roster.member_mut(name) {
            member.reaped = member.reaped.max(Some(incarnation));
        }
        Ok(())
    })
}

/// What the lead is told. It must be the same text if it has to be said again.
fn obituary(member: &Member, live: Option<&LiveState>, tasks: &[TaskId]) -> String {
    let Member {
        name,
        role,
        incarnation,
        ..
    } = member;
    let live = live.filter(|live| live.incarnation == *incarnation);
    let doing = live.map_or("starting", |live| match live.phase {
        Phase::Starting => "starting",
        Phase::Working => "working",
        Phase::Waiting => "waiting",
        Phase::Idle => "idle",
        Phase::Failed => "in state failed",
        Phase::Shutdown => "ending",
    });
    let numbers: Vec<String> = tasks.iter().map(|task| format!("#{task}")).collect();
    let tasks = match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("; its task {one} is back on the board"),
        many => format!("; its tasks {} are back on the board", many.join(", ")),
    };
    format!(
        "{name} ({role}) died in incarnation {incarnation} while {doing}{tasks}. \
         Bring it back: team-lead restart {name}"
    )
}
