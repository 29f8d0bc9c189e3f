//! The exit code of `shutdown --wait`.

use crate::failure::{Failure, Kind};
use protocol::AgentName;
use rules::ShutdownOutcome;

/// How waiting for one member ended.
pub(super) struct Ending {
    pub(super) name: AgentName,
    pub(super) end: End,
}

/// Why following a shutdown ended.
pub(super) enum End {
    Over(ShutdownOutcome),
    Interrupted,
}

/// The name of an outcome in JSON.
pub(super) const fn name(outcome: &ShutdownOutcome) -> &'static str {
    match outcome {
        ShutdownOutcome::Left => "left",
        ShutdownOutcome::Ended => "ended",
        ShutdownOutcome::Vetoed { .. } => "refused",
        ShutdownOutcome::NoAnswer => "no_answer",
        ShutdownOutcome::StillRunning => "still_running",
        ShutdownOutcome::Terminated => "terminated",
        ShutdownOutcome::Killed => "killed",
        ShutdownOutcome::Unkillable => "unkillable",
        ShutdownOutcome::Replaced { .. } => "replaced",
    }
}

/// Success if all have ended. A refusal takes precedence over a missing answer.
pub(super) fn verdict(endings: Vec<Ending>) -> Result<(), Failure> {
    let all = endings.len();
    let mut kind = Kind::TimedOut;
    let mut left = Vec::new();
    for Ending { name, end } in endings {
        let End::Over(outcome) = end else {
            continue;
        };
        match outcome {
            ShutdownOutcome::Left
            | ShutdownOutcome::Ended
            | ShutdownOutcome::Terminated
            | ShutdownOutcome::Killed
            | ShutdownOutcome::Replaced { .. } => continue,
            ShutdownOutcome::NoAnswer => {}
            ShutdownOutcome::Vetoed { .. }
            | ShutdownOutcome::StillRunning
            | ShutdownOutcome::Unkillable => kind = Kind::StillRunning,
        }
        left.push(name.to_string());
    }
    if left.is_empty() {
        return Ok(());
    }
    let still = if left.len() == 1 { "runs" } else { "run" };
    let message = format!("{} of {all} still {still}: {}", left.len(), left.join(", "));
    let force = format!("team-lead shutdown {} --force", left.join(" "));
    Err(Failure::new(kind, message).hint(force))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(name: &str, outcome: ShutdownOutcome) -> Ending {
        Ending {
            name: name.parse().unwrap(),
            end: End::Over(outcome),
        }
    }

    #[test]
    fn a_refusal_takes_precedence_over_a_missing_answer() {
        let refused = ShutdownOutcome::Vetoed {
            reason: String::new(),
        };
        let silent = ending("bob", ShutdownOutcome::NoAnswer);
        let failure = verdict(vec![silent]).unwrap_err();
        assert_eq!(failure.kind(), Kind::TimedOut);
        let silent = ending("bob", ShutdownOutcome::NoAnswer);
        let gone = ending("carol", ShutdownOutcome::Killed);
        let failure = verdict(vec![ending("alice", refused), silent, gone]).unwrap_err();
        assert_eq!(failure.kind(), Kind::StillRunning);
        verdict(vec![ending("carol", ShutdownOutcome::Left)]).unwrap();
    }
}
