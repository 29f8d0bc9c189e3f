//! Reaps a dead member exactly once, whichever process notices first.
//!
//! A process that notices a death takes the member's start lock. If another process holds it, that process
//! is starting, ending or reaping the member and handles the death. The last step records in the roster
//! which incarnation was reaped. If the reaping process is killed before that, the next one repeats all
//! steps without harm: released tasks stay released, expired requests stay expired, and the notice has an
//! id and a text that depend on the death alone, so that the lead reads it once.

pub(crate) mod claims;
pub(crate) mod recover_events;

use self::recover_events::recover_events;
use crate::exit_status::exit_cause;
use crate::mark::sweep;
use crate::repair::end_overdue;
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::state_of;
use crate::unfinished_commands::finish_commands_of;
use protocol::{
    AgentName, DeathCause, EventKind, ExitRecord, Incarnation, LiveState, Member, MemberSpec,
    NoticeCause, Phase, Recipient, RestartPolicy, TaskId,
};
use rules::MemberState;
use std::time::Duration;
use team::{BoardError, notice};
use teamdir::{AppendError, PathError, RequestError, RosterError, SendError, TeamDir};

/// The result of reaping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaped {
    Done {
        name: AgentName,
        incarnation: Incarnation,
        /// Its tasks, which are pending again.
        tasks: Vec<TaskId>,
    },
    /// That incarnation runs, has ended cleanly, or was reaped before.
    Nothing,
    /// Another process is starting, ending or reaping the member.
    Left,
}

/// Why a death was not reaped. The next repair tries again.
#[derive(Debug, thiserror::Error)]
pub enum ReapError {
    #[error(transparent)]
    StartGuard(#[from] StartGuardError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Tasks(#[from] BoardError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Notice(#[from] SendError),
    #[error(transparent)]
    Event(#[from] AppendError),
}

/// Reaps this incarnation of a member, if it is dead and not reaped yet.
pub fn reap(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
) -> Result<Reaped, ReapError> {
    // Usually the death was reaped before, and no lock is needed.
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

/// Whether a member died in this incarnation (or in any, if `None`) and is not reaped.
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

/// Whether the last incarnation of a member died and is not reaped.
pub(crate) fn is_unreaped(member: &Member, state: &MemberState) -> bool {
    let died = match state {
        MemberState::Dead { .. } | MemberState::GaveUp { .. } => true,
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Failed { .. }
        | MemberState::Shutdown => false,
    };
    died && member.reaped < Some(member.incarnation)
}

/// Reaps a member whose start lock the caller holds.
pub(crate) fn reap_held(team: &TeamDir, guard: &StartGuard) -> Result<Reaped, ReapError> {
    let reaped = settle_end(team, guard)?;
    if let Reaped::Done {
        name, incarnation, ..
    } = &reaped
    {
        record_reaped(team, name, *incarnation)?;
    }
    Ok(reaped)
}

/// Does everything that [`reap_held`] does, but leaves it to the caller to record in the roster that the
/// incarnation was reaped: the start of the next one changes the roster anyway. Of a member that ended cleanly
/// only the leftover commands are killed.
pub(crate) fn settle_end(team: &TeamDir, guard: &StartGuard) -> Result<Reaped, ReapError> {
    let roster = team.roster()?;
    let Some(member) = roster.member(&guard.name) else {
        return Ok(Reaped::Nothing);
    };
    let (state, _, live) = state_of(team, member)?;
    let (name, incarnation) = (&member.spec.name, member.incarnation);
    if member.reaped < Some(incarnation) {
        // Before others can claim its tasks: its leftover commands could interfere.
        sweep(team, guard);
    }
    if !is_unreaped(member, &state) {
        return Ok(Reaped::Nothing);
    }
    finish_commands_of(team, &Recipient::Member(name.clone()));
    let why = format!("'{name}' died in incarnation {incarnation}");
    let tasks = claims::left_by(team, name, incarnation)?;
    claims::release(team, name, incarnation, &why)?;
    let dead = Recipient::Member(name.clone());
    let cause = exit_cause(team, &dead, incarnation);
    let exit = ExitRecord { incarnation, cause };
    if !cause.is_unknown() && team.exit_record(&dead).as_ref() != Some(&exit) {
        // The notice names the cause, and its text must be the same if another process repeats this.
        team.write_exit(&dead, &exit)?;
    }
    let text = death_notice(member, live.as_ref(), cause, &tasks);
    notice(
        team,
        Recipient::Lead,
        NoticeCause::Death,
        &format!("death/{name}/{incarnation}"),
        &text,
    )?;
    end_overdue(team)?;
    // If the event log cannot be written, the next process repeats the rest.
    recover_events(team, &dead)?;
    team.log_event(EventKind::Death {
        member: dead,
        incarnation,
        cause,
    })?;
    Ok(Reaped::Done {
        name: name.clone(),
        incarnation,
        tasks,
    })
}

/// Records that the incarnations up to this one are reaped.
pub(crate) fn record_reaped(
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

/// The text of the notice to the lead. Another process may know more of the cause; the reader takes the first one.
fn death_notice(
    member: &Member,
    live: Option<&LiveState>,
    cause: DeathCause,
    tasks: &[TaskId],
) -> String {
    let MemberSpec { name, role, .. } = &member.spec;
    let incarnation = &member.incarnation;
    let live = live.filter(|live| live.incarnation == *incarnation);
    let doing = live.map_or("starting", |live| match live.phase {
        Phase::Starting => "starting",
        Phase::Working => "working",
        Phase::Waiting => "waiting",
        Phase::Idle => "idle",
        Phase::Failed => "in state failed",
        Phase::Shutdown => "ending",
    });
    let cause = match cause {
        DeathCause::Unknown => String::new(),
        known => format!(" ({known})"),
    };
    let numbers: Vec<String> = tasks.iter().map(|task| format!("#{task}")).collect();
    let tasks = match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("; its task {one} is back on the board"),
        many => format!("; its tasks {} are back on the board", many.join(", ")),
    };
    let next = match &member.spec.restart {
        Some(RestartPolicy::OnFailure) => {
            format!("A running lead restarts it; otherwise: team-lead restart {name}")
        }
        Some(RestartPolicy::Never | RestartPolicy::Other(_)) | None => {
            format!("Restart it: team-lead restart {name}")
        }
    };
    format!("{name} ({role}) died in incarnation {incarnation} while {doing}{cause}{tasks}. {next}")
}
