//! Shutting the team down, and saying how each member ended.

use processes::{Ended, LastWish, shut_down_all, views};
use protocol::{Party, Request, Subject};
use rules::{ShutdownLimits, ShutdownOutcome};
use std::time::Duration;
use team::Actor;
use teamdir::TeamDir;

/// Why a leaving lead asks everybody to end.
const FAREWELL: &str = "The lead is leaving.";
/// How often it is looked whether somebody was started meanwhile.
const ROUNDS: usize = 3;
/// How long members have after SIGTERM, and after SIGKILL.
const GRACEFUL: ShutdownLimits = ShutdownLimits {
    grace: Duration::from_secs(5),
    kill: Duration::from_secs(5),
};
/// The same for somebody in a hurry.
const HURRIED: ShutdownLimits = ShutdownLimits {
    grace: Duration::from_secs(2),
    kill: Duration::from_secs(5),
};

/// Asks everybody to end, and ends those who have not after `patience`. Returns what to tell.
///
/// The time is bounded: patience, the limits above, and again for those that were just being
/// started.
pub(crate) fn gracefully(
    team: &TeamDir,
    me: &Actor,
    patience: Duration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<String> {
    let wish = LastWish {
        reason: FAREWELL.to_owned(),
        timeout: patience,
        force: true,
    };
    all(team, me, &wish, GRACEFUL, stop)
}

/// Ends everybody with signals.
pub(crate) fn now(team: &TeamDir, me: &Actor) -> Vec<String> {
    let wish = LastWish {
        reason: FAREWELL.to_owned(),
        timeout: Duration::ZERO,
        force: true,
    };
    all(team, me, &wish, HURRIED, &|| false)
}

fn all(
    team: &TeamDir,
    me: &Actor,
    wish: &LastWish,
    limits: ShutdownLimits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<String> {
    let mut words = Vec::new();
    for _ in 0..ROUNDS {
        match shut_down_all(team, me, wish, limits, stop) {
            Ok(ended) => words.extend(ended.iter().filter_map(tell)),
            Err(error) => words.push(format!("The team was not shut down: {error}")),
        }
        let alive = views(team).is_ok_and(|views| views.iter().any(|view| view.state.is_alive()));
        if !alive || stop() {
            break;
        }
    }
    words
}

/// Whether a lead asked this because it was leaving.
pub(crate) fn is_farewell(request: &Request) -> bool {
    match &request.subject {
        Subject::Shutdown { reason, .. } => request.from == Party::Lead && reason == FAREWELL,
        Subject::Plan { .. } => false,
    }
}

/// How a member ended, in words.
fn tell(ended: &Ended) -> Option<String> {
    let name = &ended.name;
    Some(match &ended.outcome {
        Ok(None) => return None,
        Ok(Some(outcome)) => match outcome {
            ShutdownOutcome::Left => format!("{name} has left."),
            ShutdownOutcome::Ended => format!("{name} has ended."),
            ShutdownOutcome::Terminated => {
                format!("{name} did not leave in time and was ended with SIGTERM.")
            }
            ShutdownOutcome::Killed => {
                format!("{name} did not leave in time and was ended with SIGKILL.")
            }
            ShutdownOutcome::Unkillable => {
                format!("{name} could not be ended even with SIGKILL; see `team-lead status`.")
            }
            ShutdownOutcome::Vetoed { reason } => {
                format!("{name} refused to leave ({reason}); end it with `team-lead kill {name}`.")
            }
            ShutdownOutcome::NoAnswer | ShutdownOutcome::StillRunning => {
                format!("{name} still runs; end it with `team-lead kill {name}`.")
            }
            ShutdownOutcome::Replaced { .. } => {
                format!("{name} was started again meanwhile; see `team-lead status`.")
            }
        },
        Err(error) => format!("{name} was not shut down: {error}"),
    })
}
