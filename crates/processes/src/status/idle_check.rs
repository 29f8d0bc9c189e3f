//! Whether a team has anything left to do.
//!
//! Nobody can stop a team for a moment to look at it, so it is checked twice. A member says
//! `working` before it takes mail, sends all it has to say before it says `idle`, and notes when it
//! said so. If everybody says the same since the same time before and after the inboxes were looked
//! at, then nobody worked in between, and the inboxes were empty all at once.

use crate::reap::is_unreaped;
use crate::status::member_view::{ViewError, state_of};
use crate::status::unread::UnreadCounts;
use protocol::{
    AgentName, Incarnation, Member, Party, Phase, Recipient, RequestKind, Timestamp, WaitingFor,
};
use rules::{Board, MemberState};
use team::pending;
use teamdir::{Liveness, TeamDir};

/// Whether a team has anything left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdleCheck {
    /// Nothing happens any more without input from outside.
    Idle {
        /// Members that failed or are dead.
        failed: Vec<AgentName>,
        /// Members that wait for a decision on their plan.
        waiting_plan: Vec<AgentName>,
    },
    /// Something is still to be done.
    Busy {
        /// What.
        why: String,
    },
}

/// What a member said of itself at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Stance {
    name: AgentName,
    incarnation: Incarnation,
    /// `None` if no process runs.
    said: Option<(Phase, Timestamp)>,
}

/// Checks whether a team has anything left to do. Changes nothing.
///
/// The lead's own work is left out if this process is the lead. Mail for the lead counts only
/// while a lead runs: nobody else would read it.
pub fn check_idle(team: &TeamDir) -> Result<IdleCheck, ViewError> {
    let before = match stances(team)? {
        Ok(pass) => pass,
        Err(why) => return Ok(IdleCheck::Busy { why }),
    };
    if let Some(why) = unfinished(team, &before)? {
        return Ok(IdleCheck::Busy { why });
    }
    let after = match stances(team)? {
        Ok(pass) => pass,
        Err(why) => return Ok(IdleCheck::Busy { why }),
    };
    if before.stances != after.stances {
        let why = "a member has just been at work".to_owned();
        return Ok(IdleCheck::Busy { why });
    }
    if let Some(why) = lead_is_busy(team)? {
        return Ok(IdleCheck::Busy { why });
    }
    Ok(IdleCheck::Idle {
        failed: after.failed,
        waiting_plan: after.waiting_plan,
    })
}

/// One look at all members, none of which is at work.
struct Pass {
    stances: Vec<Stance>,
    idle: Vec<Member>,
    failed: Vec<AgentName>,
    waiting_plan: Vec<AgentName>,
}

/// What everybody says now, or who is at work.
fn stances(team: &TeamDir) -> Result<Result<Pass, String>, ViewError> {
    let roster = team.roster()?;
    let mut pass = Pass {
        stances: Vec::new(),
        idle: Vec::new(),
        failed: Vec::new(),
        waiting_plan: Vec::new(),
    };
    for member in &roster.members {
        let name = &member.name;
        let (state, holder, live) = state_of(team, member)?;
        if is_unreaped(member, &state) {
            return Ok(Err(format!("'{name}' died and is not reaped yet")));
        }
        match &state {
            MemberState::Idle { .. } => pass.idle.push(member.clone()),
            MemberState::Failed { .. } | MemberState::Dead { .. } => pass.failed.push(name.clone()),
            MemberState::Waiting {
                what: Some(WaitingFor::Plan),
                ..
            } => pass.waiting_plan.push(name.clone()),
            MemberState::Shutdown => {}
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Hung { .. }
            | MemberState::Waiting { .. } => {
                return Ok(Err(format!("'{name}' is {}", state.word())));
            }
        }
        let said = live.filter(|_| state.is_alive());
        pass.stances.push(Stance {
            name: name.clone(),
            incarnation: holder.map_or(member.incarnation, |holder| holder.incarnation),
            said: said.map(|live| (live.phase, live.since)),
        });
    }
    Ok(Ok(pass))
}

/// What a running member still has to do.
fn unfinished(team: &TeamDir, pass: &Pass) -> Result<Option<String>, ViewError> {
    let unread_counts = UnreadCounts::enter(team);
    for stance in pass.stances.iter().filter(|stance| stance.said.is_some()) {
        let name = &stance.name;
        let unread = unread_counts.unread(team, &Recipient::Member(name.clone()))?;
        if unread > 0 {
            return Ok(Some(format!("'{name}' has {unread} unread")));
        }
    }
    for request in pending(team)? {
        if request.kind() == RequestKind::Shutdown {
            let (id, to) = (&request.id, &request.to);
            return Ok(Some(format!("'{to}' has not answered shutdown {id}")));
        }
    }
    let board = team.tasks()?.into_iter().flatten().collect::<Board>();
    let claimers = pass.idle.iter().filter(|m| m.no_claim != Some(true));
    for member in claimers {
        let who = Party::Member(member.name.clone());
        if let Some(task) = board.next_for(&who, &member.role) {
            let (id, name) = (task.id, &member.name);
            return Ok(Some(format!("'{name}' can take task #{id}")));
        }
    }
    Ok(None)
}

/// What a living lead has still to do.
fn lead_is_busy(team: &TeamDir) -> Result<Option<String>, ViewError> {
    let Liveness::Alive(holder) = team.liveness(&Recipient::Lead)? else {
        return Ok(None);
    };
    let is_self = holder.is_some_and(|holder| holder.pid == std::process::id());
    let live = team.live_state(&Recipient::Lead)?;
    let works = live.is_none_or(|live| !matches!(live.phase, Phase::Idle | Phase::Failed));
    if !is_self && works {
        return Ok(Some("the lead is at work".to_owned()));
    }
    let unread = UnreadCounts::enter(team).unread(team, &Recipient::Lead)?;
    Ok((unread > 0).then(|| format!("the lead has {unread} unread")))
}
