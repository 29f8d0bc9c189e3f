//! The state of a member, computed from what can be observed of it.

use protocol::{
    Activity, Holder, Incarnation, LiveState, MemberStatus, Phase, Timestamp, WaitingFor,
};
use std::fmt;
use std::time::Duration;

/// What can be observed of a member.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whether a process holds the member's lock, as the operating system says.
    pub lock_held: bool,
    /// The text in the lock, if it can be read.
    pub holder: Option<&'a Holder>,
    /// The live state that the member wrote last.
    pub live: Option<&'a LiveState>,
    /// The status in the roster.
    pub roster_status: &'a MemberStatus,
    /// The incarnation in the roster; 0 before the first.
    pub roster_incarnation: Incarnation,
    /// Why its restart policy gave up, if it did.
    pub gave_up: Option<&'a str>,
    pub now: Timestamp,
    /// How long a working member may report no progress.
    pub silent_after: Duration,
}

/// The state of a member.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberState {
    /// Its process runs and has not reported that it is ready.
    Starting {
        /// The time in the lock, if it can be read.
        since: Option<Timestamp>,
    },
    /// It is in a turn, or about to end.
    Working {
        /// The running tool or model call.
        activity: Option<Activity>,
        since: Timestamp,
    },
    /// It is in a turn that waits for an answer.
    Waiting {
        what: Option<WaitingFor>,
        since: Timestamp,
    },
    /// It waits for mail, a task or a signal.
    Idle { since: Timestamp },
    /// Its process runs and has reported no progress for too long.
    Hung {
        silent_for: Duration,
        /// The running tool or model call.
        activity: Option<Activity>,
    },
    /// Its process runs, and its last turn ended with a permanent error.
    Failed { reason: String, since: Timestamp },
    /// Its process died so often that its restart policy gave up. People read `failed`.
    GaveUp { reason: String },
    /// Its process has ended, but not cleanly.
    Dead { incarnation: Incarnation },
    /// It has ended cleanly, or has never run.
    Shutdown,
}

/// Computes a member's state.
///
/// The lock decides whether it is alive. The roster's status is used only if no process holds the lock, and
/// the live state of an earlier incarnation is ignored.
pub fn member_state(facts: &Facts<'_>) -> MemberState {
    if facts.lock_held {
        alive(facts)
    } else if facts.roster_incarnation == Incarnation(0)
        || *facts.roster_status == MemberStatus::Shutdown
    {
        MemberState::Shutdown
    } else if let Some(reason) = facts.gave_up {
        MemberState::GaveUp {
            reason: reason.to_owned(),
        }
    } else {
        MemberState::Dead {
            incarnation: facts.roster_incarnation,
        }
    }
}

fn alive(facts: &Facts<'_>) -> MemberState {
    let held_by = facts.holder.map(|holder| holder.incarnation);
    let current = held_by.unwrap_or(facts.roster_incarnation);
    let started = facts.holder.map(|holder| holder.since);
    let Some(live) = facts.live.filter(|live| live.incarnation >= current) else {
        return hung(facts, started, None).unwrap_or(MemberState::Starting { since: started });
    };
    let since = live.since;
    match live.phase {
        Phase::Starting => hung(facts, Some(last_sign(live)), None)
            .unwrap_or(MemberState::Starting { since: Some(since) }),
        // A member that reported its shutdown and still holds its lock cannot be started yet.
        Phase::Working | Phase::Shutdown => {
            let activity = live.activity.clone();
            hung(facts, Some(last_sign(live)), activity.clone())
                .unwrap_or(MemberState::Working { activity, since })
        }
        Phase::Waiting => MemberState::Waiting {
            what: live.waiting_for,
            since,
        },
        Phase::Idle => MemberState::Idle { since },
        Phase::Failed => MemberState::Failed {
            reason: live.reason.clone().unwrap_or_default(),
            since,
        },
    }
}

/// The time of the member's last sign of progress.
fn last_sign(live: &LiveState) -> Timestamp {
    let activity = live.activity.as_ref().map(|activity| activity.since);
    let signs = [live.progress_at, activity].into_iter().flatten();
    signs.fold(live.since, Timestamp::max)
}

fn hung(
    facts: &Facts<'_>,
    last_sign: Option<Timestamp>,
    activity: Option<Activity>,
) -> Option<MemberState> {
    let silent_for = facts.now.since(last_sign?);
    (silent_for >= facts.silent_after).then_some(MemberState::Hung {
        silent_for,
        activity,
    })
}

impl MemberState {
    /// The name of the state.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Starting { .. } => "starting",
            Self::Working { .. } => "working",
            Self::Waiting { .. } => "waiting",
            Self::Idle { .. } => "idle",
            Self::Hung { .. } => "hung",
            Self::Failed { .. } | Self::GaveUp { .. } => "failed",
            Self::Dead { .. } => "dead",
            Self::Shutdown => "shutdown",
        }
    }

    /// Whether a process runs for it.
    pub const fn is_alive(&self) -> bool {
        match self {
            Self::Starting { .. }
            | Self::Working { .. }
            | Self::Waiting { .. }
            | Self::Idle { .. }
            | Self::Hung { .. }
            | Self::Failed { .. } => true,
            Self::GaveUp { .. } | Self::Dead { .. } | Self::Shutdown => false,
        }
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests;
