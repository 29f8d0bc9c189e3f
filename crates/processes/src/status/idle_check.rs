//! Whether a team has anything left to do.
//!
//! A team cannot be paused, so the members' states are read twice. A member reports `working` before it
//! receives mail, sends its mail before it reports `idle`, and records the time of each report. If all
//! reports are the same before and after the inboxes were read, no member worked in between, and all
//! inboxes were empty at the same time.

use crate::reap::is_unreaped;
use crate::status::host_view::{HostLink, HostView, host_views};
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
    /// Nothing is left to do without new input.
    Idle {
        /// Members that have failed or died.
        failed: Vec<AgentName>,
        /// Members waiting for a decision on their plan.
        waiting_plan: Vec<AgentName>,
    },
    Busy {
        why: String,
    },
}

/// What a member reported at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Report {
    name: AgentName,
    incarnation: Incarnation,
    /// `None` if no process runs.
    reported: Option<(Phase, Timestamp)>,
}

/// Checks whether a team has anything left to do. Changes nothing.
///
/// The lead's own work is left out if this process is the lead. Mail for the lead counts only while a lead
/// runs.
pub fn check_idle(team: &TeamDir) -> Result<IdleCheck, ViewError> {
    // First: whoever integrates sends its mail before it ends.
    if let Some(why) = integrating(team) {
        return Ok(IdleCheck::Busy { why });
    }
    let before = match reports(team)? {
        Reports::AtRest(pass) => pass,
        Reports::Busy { why } => return Ok(IdleCheck::Busy { why }),
    };
    if let Some(why) = unfinished(team, &before)? {
        return Ok(IdleCheck::Busy { why });
    }
    let after = match reports(team)? {
        Reports::AtRest(pass) => pass,
        Reports::Busy { why } => return Ok(IdleCheck::Busy { why }),
    };
    if before.reports != after.reports {
        let why = "a member has just been working".to_owned();
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

/// What is integrated now.
fn integrating(team: &TeamDir) -> Option<String> {
    if !team.is_integrating() {
        return None;
    }
    let all = team.submissions().unwrap_or_default();
    let mut open = all
        .into_iter()
        .flatten()
        .filter(|found| found.status.is_open());
    let first = open.next()?;
    Some(format!("submission {} is {}", first.id, first.status))
}

/// The reports of all members, none of which is working.
struct Pass {
    reports: Vec<Report>,
    idle: Vec<Member>,
    failed: Vec<AgentName>,
    waiting_plan: Vec<AgentName>,
}

enum Reports {
    AtRest(Pass),
    /// A member is working.
    Busy {
        why: String,
    },
}

fn reports(team: &TeamDir) -> Result<Reports, ViewError> {
    let roster = team.roster()?;
    let mut pass = Pass {
        reports: Vec::new(),
        idle: Vec::new(),
        failed: Vec::new(),
        waiting_plan: Vec::new(),
    };
    for member in &roster.members {
        let name = &member.spec.name;
        let (state, holder, live) = state_of(team, member)?;
        if is_unreaped(member, &state) {
            let why = format!("'{name}' died and is not reaped yet");
            return Ok(Reports::Busy { why });
        }
        match &state {
            MemberState::Idle { .. } => pass.idle.push(member.clone()),
            MemberState::Failed { .. } | MemberState::GaveUp { .. } | MemberState::Dead { .. } => {
                pass.failed.push(name.clone());
            }
            MemberState::Waiting {
                what: Some(WaitingFor::Plan),
                ..
            } => pass.waiting_plan.push(name.clone()),
            MemberState::Shutdown => {}
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Hung { .. }
            | MemberState::Waiting { .. } => {
                let why = format!("'{name}' is {}", state.word());
                return Ok(Reports::Busy { why });
            }
        }
        let reported = live.filter(|_| state.is_alive());
        pass.reports.push(Report {
            name: name.clone(),
            incarnation: holder.map_or(member.incarnation, |holder| holder.incarnation),
            reported: reported.map(|live| (live.phase, live.since)),
        });
    }
    Ok(Reports::AtRest(pass))
}

/// What running members still have to do.
fn unfinished(team: &TeamDir, pass: &Pass) -> Result<Option<String>, ViewError> {
    if let Some(view) = host_views(team)?.into_iter().find(|view| view.queued > 0) {
        let HostView { host, queued, link } = view;
        let why = match link {
            HostLink::Linked => "",
            HostLink::Unreachable { .. } => ", which cannot be reached now",
            HostLink::NoBridge => "; no bridge runs here",
        };
        return Ok(Some(format!("{queued} queued for the host '{host}'{why}")));
    }
    let unread_counts = UnreadCounts::read(team);
    for report in pass
        .reports
        .iter()
        .filter(|report| report.reported.is_some())
    {
        let name = &report.name;
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
    let here = pass.idle.iter().filter(|member| member.host.is_none());
    let claimers = here.filter(|member| member.spec.no_claim != Some(true));
    for member in claimers {
        let who = Party::Member(member.spec.name.clone());
        if let Some(task) = board.next_for(&who, &member.spec.role) {
            let (id, name) = (task.id, &member.spec.name);
            return Ok(Some(format!("'{name}' can take task #{id}")));
        }
    }
    Ok(None)
}

/// What a running lead still has to do.
fn lead_is_busy(team: &TeamDir) -> Result<Option<String>, ViewError> {
    if team.roster()?.lead_host.is_some() {
        // The bridge holds its lock here. What it has to do is up to its host.
        return Ok(None);
    }
    let Liveness::Alive(holder) = team.liveness(&Recipient::Lead)? else {
        return Ok(None);
    };
    let is_self = holder.is_some_and(|holder| holder.pid == std::process::id());
    let live = team.live_state(&Recipient::Lead)?;
    let works = live.is_none_or(|live| !matches!(live.phase, Phase::Idle | Phase::Failed));
    if !is_self && works {
        return Ok(Some("the lead is working".to_owned()));
    }
    let unread = UnreadCounts::read(team).unread(team, &Recipient::Lead)?;
    Ok((unread > 0).then(|| format!("the lead has {unread} unread")))
}
