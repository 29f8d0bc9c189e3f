//! Shuts the team down, and says how each member ended.

use processes::{Ended, ShutdownAllOptions, member_views, shut_down_all};
use protocol::{Party, Request, Subject};
use rules::{ShutdownLimits, ShutdownOutcome};
use std::time::Duration;
use team::Actor;
use teamdir::TeamDir;

/// The reason that members are given when the lead leaves.
const LEAVING: &str = "The lead is leaving.";
/// How often the team is checked for members that were started meanwhile.
const ROUNDS: usize = 3;
/// How long members have after SIGTERM, and after SIGKILL.
const GRACEFUL: ShutdownLimits = ShutdownLimits {
    grace: Duration::from_secs(5),
    kill: Duration::from_secs(5),
};
/// The same for an immediate shutdown.
const IMMEDIATE: ShutdownLimits = ShutdownLimits {
    grace: Duration::from_secs(2),
    kill: Duration::from_secs(5),
};

/// Asks all members to shut down, and ends those that have not after `timeout`. Returns a notice for
/// each member.
///
/// The time is bounded: the timeout, the limits above, and again for members that were just being
/// started.
pub(crate) fn gracefully(
    team: &TeamDir,
    me: &Actor,
    timeout: Duration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<String> {
    let request = ShutdownAllOptions {
        reason: LEAVING.to_owned(),
        timeout,
        force: true,
        lead_leaves: true,
    };
    all(team, me, &request, GRACEFUL, stop)
}

/// Ends all members with signals.
pub(crate) fn immediately(team: &TeamDir, me: &Actor) -> Vec<String> {
    let request = ShutdownAllOptions {
        reason: LEAVING.to_owned(),
        timeout: Duration::ZERO,
        force: true,
        lead_leaves: true,
    };
    all(team, me, &request, IMMEDIATE, &|| false)
}

fn all(
    team: &TeamDir,
    me: &Actor,
    request: &ShutdownAllOptions,
    limits: ShutdownLimits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<String> {
    let mut notices = Vec::new();
    for _ in 0..ROUNDS {
        match shut_down_all(team, me, request, limits, stop) {
            Ok(ended) => notices.extend(ended.iter().filter_map(notice)),
            Err(error) => notices.push(format!("The team was not shut down: {error}")),
        }
        let alive =
            member_views(team).is_ok_and(|views| views.iter().any(|view| view.state.is_alive()));
        if !alive || stop() {
            break;
        }
    }
    notices
}

/// Whether a lead asked this because it was leaving.
pub(crate) fn asked_by_leaving_lead(request: &Request) -> bool {
    match &request.subject {
        Subject::Shutdown { lead_leaves, .. } => request.from == Party::Lead && *lead_leaves,
        Subject::Plan { .. } | Subject::Permission(_) | Subject::Question(_) => false,
    }
}

/// How a member ended.
fn notice(ended: &Ended) -> Option<String> {
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
