//! Repairs what dead members left behind. Every command that reads a team does this first.

use crate::reap::claims;
use crate::reap::{Reaped, reap};
use crate::shutdown::answers::record_unread_answers;
use protocol::{AgentName, Incarnation, MemberStatus, Recipient, Request, Roster, TaskId};
use std::collections::BTreeMap;
use team::{expire_overdue, overdue};
use teamdir::{Liveness, PathError, RequestError, TeamDir, now};

/// What was repaired.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repairs {
    /// The deaths that were reaped.
    pub reaped: Vec<(AgentName, Incarnation)>,
    /// The requests that ended because nobody can answer them any more.
    pub expired: Vec<Request>,
    /// The tasks that went back to the board besides those of the reaped.
    pub released: Vec<TaskId>,
    /// What could not be done. The next repair tries again.
    pub problems: Vec<String>,
}

/// Repairs what can be. It never fails: what cannot be done is listed in the result.
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
    if let Err(error) = team.recover_events() {
        repairs.problems.push(error.to_string());
    }
    repairs
}

/// Ends the requests that nobody can answer any more. A foreign member may have mailed its answer just
/// before it ended, so unread answers are recorded after it was seen to be gone, and before its requests
/// end.
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
            match reap(team, &member.name, member.incarnation) {
                Ok(Reaped::Done {
                    name, incarnation, ..
                }) => self.reaped.push((name, incarnation)),
                Ok(Reaped::Nothing | Reaped::Left) => {}
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }

    /// Puts back the tasks of incarnations that are gone without being reaped: of members that have
    /// ended cleanly, were taken from the roster, or live on in a later incarnation.
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

/// A task in progress that nobody works on, because the incarnation that claimed it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanClaim {
    /// The task.
    pub task: TaskId,
    /// Who claimed it.
    pub owner: AgentName,
    /// The last incarnation of the owner that is known to be gone.
    up_to: Incarnation,
    /// Why nobody works on it.
    pub why: String,
}

/// The tasks that only [`repair`] brings back. Those of a member whose death is not reaped yet
/// go back with that. Looking changes nothing.
pub fn orphan_claims(team: &TeamDir) -> Result<Vec<OrphanClaim>, PathError> {
    let mut gone: BTreeMap<AgentName, Option<(Incarnation, String)>> = BTreeMap::new();
    let mut orphans = Vec::new();
    for (task, owner) in claims::in_progress(team)? {
        // A claim that names no incarnation is as good as one of the first.
        let incarnation = task.owner_incarnation.unwrap_or(Incarnation(1));
        let known = gone.entry(owner.clone());
        let Some((up_to, why)) = known.or_insert_with(|| gone_up_to(team, &owner)) else {
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

/// The last incarnation of an owner that is known to be gone, and what the history of its tasks says.
fn gone_up_to(team: &TeamDir, owner: &AgentName) -> Option<(Incarnation, String)> {
    let alive = team.liveness(&Recipient::Member(owner.clone())).ok()?;
    // The roster is read after the lock: an incarnation that begins in between is then not the last.
    let roster = team.roster().ok()?;
    let Some(member) = roster.member(owner) else {
        let why = format!("'{owner}' is not in the team any more");
        return Some((Incarnation(u64::MAX), why));
    };
    let gone = match alive {
        Liveness::Alive(Some(holder)) => Incarnation(holder.incarnation.0.saturating_sub(1)),
        Liveness::Alive(None) => return None,
        Liveness::Gone(_)
            if member.status == MemberStatus::Shutdown
                || member.reaped >= Some(member.incarnation) =>
        {
            member.incarnation
        }
        // A death that is not reaped yet is reaped there, with a notice to the lead.
        Liveness::Gone(_) => return None,
    };
    Some((gone, format!("incarnation {gone} of '{owner}' has ended")))
}
