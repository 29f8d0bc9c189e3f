//! Repairs what dead members left behind. Every command that reads a team does this first.

use crate::reap::claims;
use crate::reap::{Reaped, reap};
use crate::shutdown::answers::record_unread_answers;
use crate::unfinished_commands::finish_commands;
use protocol::{AgentName, Incarnation, MemberStatus, Recipient, Request, Roster, TaskId};
use std::collections::BTreeMap;
use team::{expire_overdue, overdue};
use teamdir::{Liveness, PathError, RequestError, TeamDir, now};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repairs {
    pub reaped: Vec<(AgentName, Incarnation)>,
    /// Requests that expired because they can no longer be answered.
    pub expired: Vec<Request>,
    /// Tasks that were released, besides those of the reaped members.
    pub released: Vec<TaskId>,
    /// What failed. The next repair tries again.
    pub problems: Vec<String>,
}

/// Repairs what it can. It never fails as a whole: failures are listed in the result.
pub fn repair(team: &TeamDir) -> Repairs {
    let mut repairs = Repairs::default();
    let roster = match team.roster() {
        Ok(roster) => roster,
        Err(error) => {
            repairs.problems.push(error.to_string());
            return repairs;
        }
    };
    repairs.reap_the_dead(team, &roster);
    match end_overdue(team) {
        Ok(expired) => repairs.expired = expired,
        Err(error) => repairs.problems.push(error.to_string()),
    }
    repairs.release_orphans(team);
    repairs.problems.extend(finish_commands(team));
    if let Err(error) = team.recover_events() {
        repairs.problems.push(error.to_string());
    }
    repairs
}

/// Expires the requests that can no longer be answered. A foreign member may have mailed its answer just
/// before it ended, so unread answers are recorded after its end was seen and before its requests expire.
pub(crate) fn end_overdue(team: &TeamDir) -> Result<Vec<Request>, RequestError> {
    let found = overdue(team, now())?;
    record_unread_answers(team)?;
    Ok(expire_overdue(team, found, now()))
}

impl Repairs {
    fn reap_the_dead(&mut self, team: &TeamDir, roster: &Roster) {
        let maybe_dead = roster.members.iter().filter(|member| {
            let reaped = member.reaped >= Some(member.incarnation);
            member.status != MemberStatus::Shutdown && !reaped
        });
        for member in maybe_dead {
            match reap(team, &member.spec.name, member.incarnation) {
                Ok(Reaped::Done {
                    name, incarnation, ..
                }) => self.reaped.push((name, incarnation)),
                Ok(Reaped::Nothing | Reaped::Left) => {}
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }

    /// Releases the tasks of incarnations that ended without being reaped: of members that ended cleanly,
    /// were removed from the roster, or run as a later incarnation.
    fn release_orphans(&mut self, team: &TeamDir) {
        let orphans = match orphan_claims(team) {
            Ok(orphans) => orphans,
            Err(error) => {
                self.problems.push(error.to_string());
                return;
            }
        };
        let mut owners: BTreeMap<AgentName, (Incarnation, String)> = BTreeMap::new();
        for orphan in orphans {
            owners.insert(orphan.owner, (orphan.up_to, orphan.why));
        }
        for (owner, (up_to, why)) in owners {
            match claims::release(team, &owner, up_to, &why) {
                Ok(tasks) => self.released.extend(tasks),
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }
}

/// A task in progress whose claiming incarnation has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanClaim {
    pub task: TaskId,
    pub owner: AgentName,
    /// The last incarnation of the owner that has ended.
    up_to: Incarnation,
    pub why: String,
}

/// The tasks that only [`repair`] releases. Reaping releases those of a member whose death is not reaped
/// yet. Changes nothing.
pub fn orphan_claims(team: &TeamDir) -> Result<Vec<OrphanClaim>, PathError> {
    let mut gone: BTreeMap<AgentName, Option<(Incarnation, String)>> = BTreeMap::new();
    let mut orphans = Vec::new();
    for (task, owner) in claims::in_progress(team)? {
        // A claim that names no incarnation counts as one of the first.
        let incarnation = task.owner_incarnation.unwrap_or(Incarnation(1));
        let known = gone.entry(owner.clone());
        let Some((up_to, why)) = known.or_insert_with(|| ended_up_to(team, &owner)) else {
            continue;
        };
        if incarnation <= *up_to {
            let (up_to, why) = (*up_to, why.clone());
            let task = task.id;
            orphans.push(OrphanClaim {
                task,
                owner,
                up_to,
                why,
            });
        }
    }
    Ok(orphans)
}

/// The last incarnation of an owner that has ended, and the note for the history of its tasks.
fn ended_up_to(team: &TeamDir, owner: &AgentName) -> Option<(Incarnation, String)> {
    let alive = team.liveness(&Recipient::Member(owner.clone())).ok()?;
    // The roster is read after the lock: an incarnation that begins in between is then not the last.
    let roster = team.roster().ok()?;
    let Some(member) = roster.member(owner) else {
        let why = format!("'{owner}' is not in the team any more");
        return Some((Incarnation(u64::MAX), why));
    };
    let gone = match alive {
        // Its lock here is the bridge's. What its host says of it counts.
        _ if member.host.is_some() => match member.status {
            MemberStatus::Shutdown => member.incarnation,
            MemberStatus::Working | MemberStatus::Idle | MemberStatus::Other(_) => {
                Incarnation(member.incarnation.0.saturating_sub(1))
            }
        },
        Liveness::Alive(Some(holder)) => Incarnation(holder.incarnation.0.saturating_sub(1)),
        Liveness::Alive(None) => return None,
        Liveness::Gone(_)
            if member.status == MemberStatus::Shutdown
                || member.reaped >= Some(member.incarnation) =>
        {
            member.incarnation
        }
        // An unreaped death is left to `reap`, which also notifies the lead.
        Liveness::Gone(_) => return None,
    };
    Some((gone, format!("incarnation {gone} of '{owner}' has ended")))
}
