//! Dealing with the death of a member: once, however many notice it.
//!
//! Whoever notices takes the member's start lock. If another process has it, that one is starting, ending or
//! reaping the member, and the death is his to deal with. The last step is to note in the roster
//! which incarnation was reaped. Whoever is killed before that leaves it to the next process that checks, and
//! every step can be repeated: tasks that went back stay back, requests that ended stay ended, and
//! the notice has an id and a text that depend on the death alone, so that it is read once.

pub(crate) mod claims;
pub(crate) mod recover_events;

use self::recover_events::recover_events;
use crate::mark::sweep;
use crate::repair::end_overdue;
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::state_of;
use protocol::{
    AgentName, EventKind, Incarnation, LiveState, Member, NoticeCause, Phase, Recipient, TaskId,
};
use rules::MemberState;
use std::time::Duration;
use team::{BoardError, notice};
use teamdir::{AppendError, PathError, RequestError, RosterError, SendError, TeamDir};

/// What came of looking after a death.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaped {
    /// It was reaped now.
    Done {
        /// The member.
        name: AgentName,
        /// The incarnation that is gone.
        incarnation: Incarnation,
        /// Its tasks, which are back on the board.
        tasks: Vec<TaskId>,
    },
    /// There is nothing to do: that incarnation runs, has ended cleanly, or was reaped before.
    Nothing,
    /// Another process is starting, ending or reaping the member.
    Left,
}

/// Why a death was not reaped. The next repair tries again.
#[derive(Debug, thiserror::Error)]
pub enum ReapError {
    /// The right to do so could not be had.
    #[error(transparent)]
    StartGuard(#[from] StartGuardError),
    /// The member could not be read.
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
    /// The lead could not be notified.
    #[error(transparent)]
    Notice(#[from] SendError),
    /// It could not be put into the event log.
    #[error(transparent)]
    Event(#[from] AppendError),
}

/// Reaps this incarnation of a member, if it is dead and not reaped yet.
pub fn reap(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
) -> Result<Reaped, ReapError> {
    // Most deaths that are asked for were reaped before, and then no lock is needed.
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

/// Whether a member has died in this incarnation, or in any, and nobody has reaped it.
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

/// Whether the last incarnation of a member died and nobody has reaped it.
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

/// The same for whoever has the member's start lock.
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
    let tasks = claims::left_by(team, name, incarnation)?;
    claims::release(team, name, incarnation, &why)?;
    let words = death_notice(member, live.as_ref(), &tasks);
    notice(
        team,
        Recipient::Lead,
        NoticeCause::Death,
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

/// Notes that the incarnations up to this one need no reaping any more.
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

/// The text of the notice to the lead. It must be the same if it has to be sent again.
fn death_notice(member: &Member, live: Option<&LiveState>, tasks: &[TaskId]) -> String {
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
