//! What the ends of shutdowns add up to.

use crate::failure::{Failure, Kind};
use protocol::AgentName;
use rules::ShutdownOutcome;

/// How the waiting for one member ended.
pub(super) struct Ending {
    pub(super) name: AgentName,
    pub(super) course: Course,
}

/// How far a shutdown was followed.
pub(super) enum Course {
    /// To its end.
    Over(ShutdownOutcome),
    /// Until Ctrl-C.
    Interrupted,
}

/// The one word for an outcome, for programs.
pub(super) const fn word(outcome: &ShutdownOutcome) -> &'static str {
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

/// Success if all are gone. A no weighs more than silence.
pub(super) fn verdict(endings: Vec<Ending>) -> Result<(), Failure> {
    let all = endings.len();
    let mut kind = Kind::TimedOut;
    let mut left = Vec::new();
    for Ending { name, course } in endings {
        let Course::Over(outcome) = course else {
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
            course: Course::Over(outcome),
        }
    }

    #[test]
    fn a_refusal_weighs_more_than_silence() {
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
