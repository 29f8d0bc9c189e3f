//! Bringing a member to life: new, woken, or back from the dead.

use crate::launch::{Launch, LaunchError, Started};
use crate::mark::sweep;
use crate::member_spec::{Before, MemberSpec};
use crate::programs::Programs;
use crate::reap::{ReapError, reap_held};
use crate::roll_back::roll_back;
use crate::start_lock::{StartGuard, StartGuardError};
use crate::view::{find, state_of};
use protocol::{AgentName, EventKind, Incarnation, Member, Recipient};
use rules::MemberState;
use std::time::Duration;
use team::{Actor, TellError, tell};
use teamdir::{Liveness, PathError, RosterError, TeamDir, TeamFileError};

/// How long whoever is ending a member may take besides what a start takes.
const ENDING: Duration = Duration::from_secs(15);

/// What came of a spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spawned {
    /// A new process is the member.
    Started {
        /// The process.
        pid: u32,
        /// Which life it is.
        incarnation: Incarnation,
        /// Whether the member is known from before.
        came_back: bool,
    },
    /// The member lives and was idle.
    Woken {
        /// Whether it was given something to do.
        prompt_sent: bool,
    },
}

/// Why a member was not brought to life. Everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// It lives and has something to do.
    #[error("'{name}' is currently {}", state.word())]
    Occupied {
        /// The member.
        name: AgentName,
        /// What it does.
        state: MemberState,
    },
    /// Its process did not come to be.
    #[error("'{name}' was not started: {source}")]
    Launch {
        /// The member.
        name: AgentName,
        /// Why.
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
        /// The member.
        name: AgentName,
        /// How many there may be.
        most: u64,
    },
    /// The limits of the team could not be read.
    #[error(transparent)]
    Limits(#[from] TeamFileError),
    /// The prompt could not be sent.
    #[error(transparent)]
    Send(#[from] TellError),
    /// The death of its last life could not be dealt with.
    #[error(transparent)]
    Reap(#[from] ReapError),
    /// The roster could not be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// A file of the member could not be read.
    #[error(transparent)]
    File(#[from] PathError),
}

/// Brings a member to life, and returns when its process is ready.
///
/// A living member that is idle gets the prompt as mail. One that is gone comes back in its next
/// life. If several do this for one name at the same time, one of them starts the process, and the
/// others find it alive.
pub fn spawn(
    team: &TeamDir,
    me: &Actor,
    spec: &MemberSpec,
    programs: &Programs,
) -> Result<Spawned, SpawnError> {
    let mut spec = spec.clone();
    loop {
        let guard = StartGuard::hold(team, &spec.name, patience(programs))?;
        let known = team.roster()?.member(&guard.name).cloned();
        if let Some(member) = &known {
            match wake(team, me, member, &spec)? {
                Wake::Awake { prompt_sent } => return Ok(Spawned::Woken { prompt_sent }),
                // What was sent waits in its inbox for the next life.
                Wake::Gone { prompt_sent: true } => spec.prompt = None,
                Wake::Gone { prompt_sent: false } => {}
            }
            reap_held(team, &guard)?;
        }
        let Some(before) = spec.enlist(team, &guard.name)? else {
            // Somebody has brought in the name in another spelling, and has the lock of that.
            continue;
        };
        let started = start(team, &guard, &before, programs)?;
        return Ok(Spawned::Started {
            pid: started.pid,
            incarnation: started.incarnation,
            came_back: known.is_some(),
        });
    }
}

/// How long others may have the right to start or end a member.
pub(crate) const fn patience(programs: &Programs) -> Duration {
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
    let name = &member.name;
    let (state, ..) = state_of(team, member)?;
    match state {
        MemberState::Dead { .. }
        | MemberState::Shutdown
        | MemberState::Failed { since: None, .. } => {
            return Ok(Wake::Gone { prompt_sent: false });
        }
        MemberState::Idle { .. } | MemberState::Failed { since: Some(_), .. } => {}
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
    spec.change_living(team, name)?;
    let prompt = spec.prompt.as_deref();
    let prompt_sent = prompt.is_some();
    if let Some(prompt) = prompt {
        tell(team, me, owner.clone(), prompt)?;
    }
    // It may have ended by itself meanwhile, and then nobody reads what was sent.
    Ok(match team.liveness(&owner)? {
        Liveness::Alive(_) => Wake::Awake { prompt_sent },
        Liveness::Gone(_) => Wake::Gone { prompt_sent },
    })
}

/// Starts the process of a member that is entered in the roster. If it does not come to be, the
/// roster is put back as it was.
pub(crate) fn start(
    team: &TeamDir,
    guard: &StartGuard,
    before: &Before,
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
            let role = find(team, name).map(|member| member.role);
            // The event only tells people; the member lives without it.
            let _ = team.log_event(EventKind::Spawn {
                member: Recipient::Member(name.clone()),
                incarnation: started.incarnation,
                role: role.unwrap_or_default(),
            });
            Ok(started)
        }
        Err(source) => {
            sweep(team, guard);
            // The reason why it did not start matters more than what could not be tidied up.
            let _ = match before {
                Before::Nothing => roll_back(team, guard),
                Before::Entry(_) => before.put_back(team, name).map_err(Into::into),
            };
            let name = name.clone();
            Err(SpawnError::Launch { name, source })
        }
    }
}
