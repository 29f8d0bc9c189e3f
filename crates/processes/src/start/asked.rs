//! Starts a member that another host has asked for: one for each ask, however often this is repeated.

use crate::reap::settle_end;
use crate::start::programs::Programs;
use crate::start::roll_back::roll_back;
use crate::start::roster_entry::enter_in_roster;
use crate::start::spawn::{SpawnError, start, start_lock_timeout};
use crate::start::start_lock::StartGuard;
use protocol::{
    Incarnation, LiveState, Member, MemberSpec, Phase, Recipient, RequestId, RestartReason,
};
use rules::check_new_name;
use std::thread::sleep;
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{Liveness, TeamDir, now};

/// How often it is looked at a process that another one has started.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What came of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedSpawn {
    /// The member was ready, now or when this was tried before.
    Started(Incarnation),
    /// Somebody else has the name.
    Taken,
}

/// Starts the member of an ask, and returns when it is ready, if it was not ready before.
///
/// The roster entry has the id of the ask from the moment on at which it has the name. Whoever continues after a
/// kill finds by that whether the name is taken, and by its live state whether the member was ready.
pub fn spawn_asked(
    team: &TeamDir,
    ask: &RequestId,
    spec: &MemberSpec,
    programs: &Programs,
) -> Result<AskedSpawn, SpawnError> {
    let guard = StartGuard::hold(team, &spec.name, start_lock_timeout(programs))?;
    if !enter(team, &guard, ask, spec)? {
        return Ok(AskedSpawn::Taken);
    }
    if let Some(incarnation) = ready(team, &guard, programs)? {
        return Ok(AskedSpawn::Started(incarnation));
    }
    settle_end(team, &guard)?;
    let Some(before) = enter_in_roster(team, &Actor::user(), &guard.name, spec)? else {
        return Ok(AskedSpawn::Taken);
    };
    match start(team, &guard, &before, RestartReason::Spawned, programs) {
        Ok(started) => Ok(AskedSpawn::Started(started.incarnation)),
        Err(error) => {
            // The process of an earlier try may have become the member meanwhile.
            if let Some(incarnation) = ready(team, &guard, programs)? {
                return Ok(AskedSpawn::Started(incarnation));
            }
            // The reason why it did not start matters more than what could not be tidied up.
            let _ = roll_back(team, &guard);
            Err(error)
        }
    }
}

/// Gives the name to the ask. Returns whether the ask has it.
fn enter(
    team: &TeamDir,
    guard: &StartGuard,
    ask: &RequestId,
    spec: &MemberSpec,
) -> Result<bool, SpawnError> {
    let most = team.limits()?.max_members();
    team.update_roster(|roster| {
        if let Some(member) = roster.member(&guard.name) {
            return Ok(member.host.is_none() && member.asked.as_ref() == Some(ask));
        }
        if roster.members.len() as u64 >= most {
            let name = guard.name.clone();
            return Err(SpawnError::Full { name, most });
        }
        check_new_name(
            &guard.name,
            roster.members.iter().map(|member| &member.spec.name),
        )?;
        let removed = roster.removed.as_mut();
        let removed = removed.and_then(|removed| removed.remove(&guard.name));
        let mut member = Member::new(guard.name.clone(), &spec.role);
        member.asked = Some(ask.clone());
        member.joined_at = Some(now());
        // A message for one of its name that was removed must not act on it.
        member.incarnation = removed.unwrap_or_default();
        roster.members.push(member);
        Ok(true)
    })
}

/// The incarnation, if the member was ready once. One whose process is about to be is waited for.
fn ready(
    team: &TeamDir,
    guard: &StartGuard,
    programs: &Programs,
) -> Result<Option<Incarnation>, SpawnError> {
    let owner = Recipient::Member(guard.name.clone());
    let was_ready = |live: &LiveState| live.phase != Phase::Starting;
    let began = Instant::now();
    loop {
        let live = team.live_state(&owner)?;
        if let Some(live) = live.filter(was_ready) {
            return Ok(Some(live.incarnation));
        }
        let is_there = matches!(team.liveness(&owner)?, Liveness::Alive(_));
        if !is_there || began.elapsed() >= programs.ready_within {
            return Ok(None);
        }
        sleep(LOOK_EVERY);
    }
}
