//! Members that are started on another host than the one that asks for them.
//!
//! The file of an ask says everything, on both hosts: whether it has crossed, and how it has ended. This process
//! never starts a member itself. It has another process do that (see [`Starter`]), which goes on when this
//! one is killed, and which is started again when it was killed itself.

use super::{ApplyError, CollectError, Core, lock};
use protocol::{
    EventKind, Extra, HostId, HostSpawn, Payload, Phase, Recipient, RequestId, Roster, SpawnAnswer,
    SpawnAsk, SpawnFrame, SpawnOptions, SpawnOutcome, SpawnRefusal,
};
use rules::{SpawnRefused, check_spawn};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime};
use teamdir::{LockError, now};
use tracing::{info, warn};

/// How often the asks are read although their folders look the same.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The first and the longest pause until the process that starts a member is started again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// What is kept of a text of another host.
const MAX_TEXT: usize = 4000;

/// Has another process start the member of an ask, and does not wait for it.
pub type Starter = Box<dyn Fn(&RequestId) -> io::Result<()>>;

/// What this process knows of asks beyond their files.
#[derive(Default)]
pub(super) struct Spawns {
    /// Absent if no other host may have members started here.
    starter: Option<Starter>,
    /// How often the process for an ask was started, and when last.
    begun: BTreeMap<RequestId, (u32, Instant)>,
    /// When the folders were changed last, and when they were read.
    seen: Option<([SystemTime; 2], Instant)>,
}

impl fmt::Debug for Spawns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawns")
            .field("accepts", &self.starter.is_some())
            .field("begun", &self.begun)
            .finish_non_exhaustive()
    }
}

impl Core {
    /// From now on the host of the lead may have members started here.
    pub fn accept_spawns(&mut self, starter: Starter) {
        self.spawns.starter = Some(starter);
    }

    /// Sends what is asked here and what became of what others have asked, and goes on with what is not ended.
    pub(super) fn collect_spawns(&mut self, roster: &Roster) -> Result<(), CollectError> {
        let layout = self.team.layout();
        let changed = [layout.sent_spawns_dir(), layout.taken_spawns_dir()].map(|folder| {
            let changed = std::fs::metadata(folder).and_then(|folder| folder.modified());
            changed.unwrap_or(SystemTime::UNIX_EPOCH)
        });
        let is_same =
            |(at, read): ([SystemTime; 2], Instant)| at == changed && read.elapsed() < LOOK_EVERY;
        if self.spawns.seen.is_some_and(is_same) {
            return Ok(());
        }
        self.spawns.seen = Some((changed, Instant::now()));
        for spawn in self.team.sent_spawns()? {
            if !spawn.told && spawn.outcome.is_none() {
                self.send_ask(spawn)?;
            }
        }
        let mut is_told = false;
        for spawn in self.team.taken_spawns()? {
            match &spawn.outcome {
                Some(outcome) if !spawn.told => {
                    self.spawns.begun.remove(&spawn.ask.id);
                    if self.answer_ask(&spawn.host, &spawn.ask.id, outcome)? {
                        self.team.mark_spawn_told(&self.guard, &spawn)?;
                        is_told = true;
                    }
                }
                Some(_) => {}
                None => self.carry_out(roster, &spawn)?,
            }
        }
        if is_told {
            self.team.prune_taken_spawns(&self.guard)?;
        }
        Ok(())
    }

    fn send_ask(&self, spawn: HostSpawn) -> Result<(), CollectError> {
        let Some(outbox) = self.outboxes.get(&spawn.host) else {
            // No bridge of that name has been met yet.
            return Ok(());
        };
        // Whoever is killed between these two asks again, which the other host recognises by the id.
        let ask = Payload::Spawn(SpawnFrame::Ask(spawn.ask.clone()));
        lock(outbox).append(vec![ask])?;
        let told = HostSpawn {
            told: true,
            ..spawn
        };
        Ok(self.team.update_sent_spawn(&self.guard, &told)?)
    }

    /// Returns whether there is an outbox for it.
    fn answer_ask(
        &self,
        to: &HostId,
        id: &RequestId,
        outcome: &SpawnOutcome,
    ) -> Result<bool, teamdir::PathError> {
        let answer = SpawnAnswer {
            id: id.clone(),
            outcome: outcome.clone(),
        };
        self.answer(to, Payload::Spawn(SpawnFrame::Answer(answer)))
    }

    /// Has the member of an ask started, unless a process does that now.
    fn carry_out(&mut self, roster: &Roster, spawn: &HostSpawn) -> Result<(), CollectError> {
        let id = &spawn.ask.id;
        let (count, at) = self.spawns.begun.get(id).copied().unzip();
        let count = count.unwrap_or(0);
        let pause = PAUSES.0.saturating_mul(1 << count.min(6)).min(PAUSES.1);
        if at.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        let guard = match self.team.lock_taken_spawn(id) {
            Ok(guard) => guard,
            // It is being started.
            Err(LockError::Busy { .. }) => return Ok(()),
            Err(LockError::File(error)) => return Err(error.into()),
        };
        let Some(starter) = &self.spawns.starter else {
            let outcome = self.given_up(roster, spawn);
            self.spawns.seen = None;
            return Ok(self.team.end_taken_spawn(&guard, outcome)?);
        };
        // The new process has to get it.
        drop(guard);
        let begun = (count + 1, Instant::now());
        self.spawns.begun.insert(id.clone(), begun);
        if let Err(error) = starter(id) {
            warn!(
                "the process that starts '{}' did not begin: {error}",
                spawn.ask.member.name
            );
        }
        Ok(())
    }

    /// What became of an ask of which this process may not have the rest done.
    fn given_up(&self, roster: &Roster, spawn: &HostSpawn) -> SpawnOutcome {
        let mut members = roster.members.iter();
        let entered = members.find(|member| member.asked.as_ref() == Some(&spawn.ask.id));
        let Some(member) = entered else {
            let text = "the bridge of this host was started again without --accept-spawns";
            return SpawnRefused::new(SpawnRefusal::NotAccepted, text).into();
        };
        let owner = Recipient::Member(member.spec.name.clone());
        let live = self.team.live_state(&owner).ok().flatten();
        match live.filter(|live| live.phase != Phase::Starting) {
            Some(live) => SpawnOutcome::Started {
                incarnation: live.incarnation,
            },
            None => SpawnOutcome::Failed {
                text: format!(
                    "the bridge of this host was started again without --accept-spawns before '{owner}' was ready; \
                     `team-lead rm {owner}` there removes what is left"
                ),
            },
        }
    }

    pub(super) fn take_spawn(
        &mut self,
        from: &HostId,
        said: &SpawnFrame,
    ) -> Result<(), ApplyError> {
        match said {
            SpawnFrame::Ask(ask) => self.take_spawn_ask(from, ask),
            SpawnFrame::Answer(answer) => self.take_spawn_answer(from, answer),
        }
    }

    /// Keeps an ask before its frame counts as applied. One that is known is answered by what is kept.
    fn take_spawn_ask(&mut self, from: &HostId, ask: &SpawnAsk) -> Result<(), ApplyError> {
        if let Some(known) = self.team.taken_spawn(&ask.id)? {
            let outcome = match known.outcome {
                _ if known.host != *from => {
                    let why = SpawnRefusal::Other("id_taken".to_owned());
                    let text = "another host has asked for a member under this id";
                    SpawnRefused::new(why, text).into()
                }
                // The outcome is told when it is there.
                None => return Ok(()),
                Some(outcome) => outcome,
            };
            self.answer_ask(from, &ask.id, &outcome)?;
            return Ok(());
        }
        let roster = self.team.roster()?;
        let taken = self.team.taken_spawns()?.into_iter();
        let open = taken.filter(|spawn| spawn.host == *from && spawn.outcome.is_none());
        let facts = (self.spawns.starter.is_some(), open.count());
        let refused = check_spawn(&roster, from, facts, ask).err();
        let spawn = HostSpawn {
            host: from.clone(),
            ask: match &refused {
                // What is refused may be of any size.
                Some(_) => shortened(ask),
                None => ask.clone(),
            },
            at: now(),
            told: false,
            ended_at: refused.as_ref().map(|_| now()),
            outcome: refused.map(SpawnOutcome::from),
            extra: Extra::new(),
        };
        let name = &spawn.ask.member.name;
        match &spawn.outcome {
            None => info!("the host '{from}' has '{name}' started here"),
            Some(outcome) => warn!("the host '{from}' may not have {name:?} started: {outcome:?}"),
        }
        self.team.put_taken_spawn(&self.guard, &spawn)?;
        self.spawns.seen = None;
        Ok(())
    }

    fn take_spawn_answer(&self, from: &HostId, answer: &SpawnAnswer) -> Result<(), ApplyError> {
        let known = self.team.sent_spawn(&answer.id)?;
        let Some(spawn) = known.filter(|known| known.host == *from) else {
            warn!("the host '{from}' tells of a member that nobody has asked for");
            return Ok(());
        };
        if spawn.outcome.is_some() {
            return Ok(());
        }
        let ended = HostSpawn {
            told: true,
            outcome: Some(short_outcome(&answer.outcome)),
            ended_at: Some(now()),
            ..spawn
        };
        self.team.update_sent_spawn(&self.guard, &ended)?;
        // The event only tells people.
        let _ = self.team.log_event(event(&ended));
        Ok(())
    }
}

/// What has become of an ask, for the event log.
fn event(spawn: &HostSpawn) -> EventKind {
    let (action, reason) = match &spawn.outcome {
        None => ("asked", None),
        Some(SpawnOutcome::Started { .. }) => ("started", None),
        Some(SpawnOutcome::Refused { text, .. }) => ("refused", Some(text.clone())),
        Some(SpawnOutcome::Failed { text }) => ("failed", Some(text.clone())),
    };
    EventKind::HostSpawn {
        request_id: spawn.ask.id.clone(),
        host: spawn.host.clone(),
        name: spawn.ask.member.name.clone(),
        action: action.to_owned(),
        reason,
    }
}

/// What is kept of an ask that is refused.
fn shortened(ask: &SpawnAsk) -> SpawnAsk {
    SpawnAsk {
        id: ask.id.clone(),
        member: SpawnOptions {
            name: short(&ask.member.name, 64),
            role: short(&ask.member.role, 64),
            ..SpawnOptions::default()
        },
    }
}

fn short_outcome(outcome: &SpawnOutcome) -> SpawnOutcome {
    match outcome {
        SpawnOutcome::Started { incarnation } => SpawnOutcome::Started {
            incarnation: *incarnation,
        },
        SpawnOutcome::Refused { why, text } => SpawnOutcome::Refused {
            why: SpawnRefusal::from(short(why.as_str(), 64)),
            text: short(text, MAX_TEXT),
        },
        SpawnOutcome::Failed { text } => SpawnOutcome::Failed {
            text: short(text, MAX_TEXT),
        },
    }
}

fn short(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
