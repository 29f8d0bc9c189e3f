//! Starts a member: a new one, an idle one, or a dead one with its journal.

use crate::mark::sweep;
use crate::reap::{ReapError, settle_end};
use crate::start::launch::{Launch, LaunchError, Started};
use crate::start::programs::Programs;
use crate::start::roll_back::roll_back;
use crate::start::roster_entry::{PreviousEntry, change_running, enter_in_roster};
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::{find, state_of};
use protocol::{
    AgentName, EventKind, HostId, Incarnation, Member, MemberSpec, Recipient, RestartReason,
};
use rules::{MemberState, NameRefusal};
use std::time::Duration;
use team::{Actor, LimitedSendError, send};
use teamdir::{JoinError, Liveness, PathError, RosterError, TeamDir, TeamFileError};

/// How long ending a member may take, in addition to the time of a start.
const ENDING: Duration = Duration::from_secs(15);

/// What came of a spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spawned {
    /// A new process is the member.
    Started {
        /// The process.
        pid: u32,
        /// Which incarnation it is.
        incarnation: Incarnation,
        /// Whether the member is known from before.
        came_back: bool,
    },
    /// The member is alive and was idle.
    Woken {
        /// Whether it was given something to do.
        prompt_sent: bool,
    },
}

/// Why a member was not started. Everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// It is alive and has something to do.
    #[error("'{name}' is currently {}", state.word())]
    Occupied {
        name: AgentName,
        /// What it does.
        state: MemberState,
    },
    /// It is at home on another host.
    #[error(
        "'{name}' is at home on the host '{host}' and is started there: run \
         `team-lead spawn {name} ROLE` on that host"
    )]
    Elsewhere { name: AgentName, host: HostId },
    /// Its process did not come to be.
    #[error("'{name}' was not started: {source}")]
    Launch {
        name: AgentName,
        source: LaunchError,
    },
    /// Somebody else starts or ends it, or its lock cannot be used.
    #[error(transparent)]
    StartGuard(#[from] StartGuardError),
    /// The team has as many members as it may have.
    #[error(
        "'{name}' was not started: the team has {most} members, which is as many as it may have; \
         bring back one that has ended, or raise `members` under [limits] in team.toml"
    )]
    Full {
        name: AgentName,
        /// How many there may be.
        most: u64,
    },
    /// Its name would be taken for another.
    #[error(transparent)]
    Name(#[from] NameRefusal),
    /// There is no number for its next incarnation.
    #[error(transparent)]
    LastIncarnation(JoinError),
    /// The limits of the team could not be read.
    #[error(transparent)]
    Limits(#[from] TeamFileError),
    /// The prompt could not be sent.
    #[error(transparent)]
    Send(#[from] LimitedSendError),
    /// The death of its last incarnation could not be reaped.
    #[error(transparent)]
    Reap(#[from] ReapError),
    /// The roster could not be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// A file of the member could not be read.
    #[error(transparent)]
    File(#[from] PathError),
}

/// Starts a member, and returns when its process is ready.
///
/// A running member that is idle gets the prompt as mail. One that is gone is started as its next
/// incarnation. If several do this for one name at the same time, one of them starts the process, and the
/// others find it alive.
pub fn spawn(
    team: &TeamDir,
    me: &Actor,
    spec: &MemberSpec,
    programs: &Programs,
) -> Result<Spawned, SpawnError> {
    let mut spec = spec.clone();
    loop {
        let guard = StartGuard::hold(team, &spec.name, start_lock_timeout(programs))?;
        let known = team.roster()?.member(&guard.name).cloned();
        if let Some(member) = &known {
            refuse_elsewhere(member)?;
            match wake(team, me, member, &spec)? {
                Wake::Awake { prompt_sent } => return Ok(Spawned::Woken { prompt_sent }),
                // What was sent waits in its inbox for the next incarnation.
                Wake::Gone { prompt_sent: true } => spec.prompt = None,
                Wake::Gone { prompt_sent: false } => {}
            }
            // The next change of the roster records that it was reaped.
            settle_end(team, &guard)?;
        }
        let Some(before) = enter_in_roster(team, me, &guard.name, &spec)? else {
            // Another process has brought in the name in another spelling, and has the lock of that.
            continue;
        };
        let started = start(team, &guard, &before, RestartReason::Spawned, programs)?;
        return Ok(Spawned::Started {
            pid: started.pid,
            incarnation: started.incarnation,
            came_back: known.is_some(),
        });
    }
}

/// Refuses to start a member that another host starts.
pub(crate) fn refuse_elsewhere(member: &Member) -> Result<(), SpawnError> {
    match &member.host {
        None => Ok(()),
        Some(host) => Err(SpawnError::Elsewhere {
            name: member.spec.name.clone(),
            host: host.clone(),
        }),
    }
}

/// How long other processes may hold the start lock.
pub(crate) const fn start_lock_timeout(programs: &Programs) -> Duration {
    programs.ready_within.saturating_add(ENDING)
}

enum Wake {
    Awake { prompt_sent: bool },
    Gone { prompt_sent: bool },
}

/// Gives a living member the prompt, if it has nothing else to do.
fn wake(
    team: &TeamDir,
    me: &Actor,
    member: &Member,
    spec: &MemberSpec,
) -> Result<Wake, SpawnError> {
    let name = &member.spec.name;
    let (state, ..) = state_of(team, member)?;
    match state {
        MemberState::Dead { .. } | MemberState::Shutdown | MemberState::GaveUp { .. } => {
            return Ok(Wake::Gone { prompt_sent: false });
        }
        MemberState::Idle { .. } | MemberState::Failed { .. } => {}
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Hung { .. } => {
            let name = name.clone();
            return Err(SpawnError::Occupied { name, state });
        }
    }
    let owner = Recipient::Member(name.clone());
    // Before the prompt: it must not be worked on under the old rules.
    change_running(team, name, spec)?;
    let prompt = spec.prompt.as_deref();
    let prompt_sent = prompt.is_some();
    if let Some(prompt) = prompt {
        send(team, me, owner.clone(), prompt)?;
    }
    // It may have ended by itself meanwhile, and then nobody reads what was sent.
    Ok(match team.liveness(&owner)? {
        Liveness::Alive(_) => Wake::Awake { prompt_sent },
        Liveness::Gone(_) => Wake::Gone { prompt_sent },
    })
}

/// Starts the process of a member that is entered in the roster. If it does not come to be, the
/// roster is put back as it was. `reason` says why one that was there before is started again.
pub(crate) fn start(
    team: &TeamDir,
    guard: &StartGuard,
    before: &PreviousEntry,
    reason: RestartReason,
    programs: &Programs,
) -> Result<Started, SpawnError> {
    let name = &guard.name;
    let launch = Launch {
        team,
        name,
        previous: before.incarnation(),
        programs,
    };
    match launch.run() {
        Ok(started) => {
            let role = find(team, name).map(|member| member.spec.role);
            let (member, incarnation) = (Recipient::Member(name.clone()), started.incarnation);
            // The events only tell people; the member runs without them.
            let _ = team.log_event(EventKind::Spawn {
                member: member.clone(),
                incarnation,
                role: role.unwrap_or_default(),
            });
            if before.incarnation() > Incarnation(0) {
                let _ = team.log_event(EventKind::Restart {
                    member,
                    incarnation,
                    reason,
                });
            }
            Ok(started)
        }
        Err(source) => {
            sweep(team, guard);
            // The reason why it did not start matters more than what could not be tidied up.
            let _ = match before {
                PreviousEntry::Absent => roll_back(team, guard),
                PreviousEntry::Found(_) => before.restore(team, name).map_err(Into::into),
            };
            let name = name.clone();
            Err(SpawnError::Launch { name, source })
        }
    }
}
