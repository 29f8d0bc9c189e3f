//! Whether and when a dead member is restarted by its policy.

use protocol::{AgentName, DeathCause, Incarnation, RestartPolicy, Timestamp};
use std::time::Duration;

/// How often and how fast a member is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartLimits {
    /// The delay before the first restart; each further restart within the window doubles it.
    pub first_delay: Duration,
    pub longest_delay: Duration,
    /// The most restarts in any window.
    pub restarts: usize,
    pub window: Duration,
}

/// As in `restarted 2x`, if the member has been restarted.
pub fn restarts_text(incarnation: Incarnation) -> Option<String> {
    let restarts = incarnation.0.saturating_sub(1);
    (restarts > 0).then(|| format!("restarted {restarts}x"))
}

/// What to do about a death.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RestartDecision {
    /// Do nothing: the policy is not `on-failure`, or it has given up.
    Leave,
    /// Restart the member at this time.
    RestartAt(Timestamp),
    /// Restart it no more, until a person does.
    GiveUp {
        reason: String,
        /// The command that clears this state.
        command: String,
    },
}

/// The policy of a member, and when it was restarted by it.
///
/// Restart times never decrease, and no window holds more of them than the limit, in whatever order deaths
/// are reported.
#[derive(Debug, Clone)]
pub struct RestartHistory {
    pub name: AgentName,
    pub policy: RestartPolicy,
    pub restarts: Vec<Timestamp>,
}

impl Default for RestartLimits {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_secs(1),
            longest_delay: Duration::from_secs(60),
            restarts: 5,
            window: Duration::from_secs(300),
        }
    }
}

impl RestartHistory {
    /// Decides about a death that was noticed at `now`.
    pub fn decide(
        &self,
        cause: DeathCause,
        limits: &RestartLimits,
        now: Timestamp,
    ) -> RestartDecision {
        match self.policy {
            RestartPolicy::Never | RestartPolicy::Other(_) => return RestartDecision::Leave,
            RestartPolicy::OnFailure => {}
        }
        let last = self.restarts.iter().copied().max().unwrap_or(now);
        let is_recent = |at: &&Timestamp| now.max(last).since(**at) < limits.window;
        let made = self.restarts.iter().filter(is_recent).count();
        let failures = u32::try_from(made).unwrap_or(u32::MAX);
        let delay = backoff::delay(limits.first_delay, limits.longest_delay, failures);
        let at = now.plus(delay).max(last);
        let in_window = |restart: &&Timestamp| at.since(**restart) < limits.window;
        if self.restarts.iter().filter(in_window).count() < limits.restarts {
            return RestartDecision::RestartAt(at);
        }
        let (name, seconds) = (&self.name, limits.window.as_secs());
        RestartDecision::GiveUp {
            reason: format!(
                "'{name}' was restarted {made} times within {seconds} s; last: {cause}"
            ),
            command: format!("team-lead restart {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASH: DeathCause = DeathCause::Signal(9);

    fn history(policy: RestartPolicy) -> RestartHistory {
        RestartHistory {
            name: AgentName::new("alice").unwrap(),
            policy,
            restarts: Vec::new(),
        }
    }

    fn decide(history: &RestartHistory, now: Timestamp) -> RestartDecision {
        history.decide(CRASH, &RestartLimits::default(), now)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn the_policy_never_and_unknown_ones_leave_the_member_dead() {
        let never = history(RestartPolicy::Never);
        assert_eq!(decide(&never, at(0)), RestartDecision::Leave);
        let other = history(RestartPolicy::Other("always".to_owned()));
        assert_eq!(decide(&other, at(0)), RestartDecision::Leave);
    }

    #[test]
    fn waits_double_and_the_sixth_death_in_the_window_is_the_last() {
        let mut alice = history(RestartPolicy::OnFailure);
        let mut now = at(0);
        for wait in [1, 2, 4, 8, 16] {
            let expected = now.plus(Duration::from_secs(wait));
            assert_eq!(decide(&alice, now), RestartDecision::RestartAt(expected));
            alice.restarts.push(expected);
            now = expected;
        }
        match decide(&alice, now) {
            RestartDecision::GiveUp { reason, command } => {
                assert!(reason.contains("5 times"), "{reason}");
                assert!(reason.contains("signal 9"), "{reason}");
                assert_eq!(command, "team-lead restart alice");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn restart_times_never_decrease_even_if_the_clock_was_set_back() {
        let mut alice = history(RestartPolicy::OnFailure);
        alice.restarts = [90, 1, 4].map(at).to_vec();
        assert_eq!(decide(&alice, at(6)), RestartDecision::RestartAt(at(90)));
        alice.restarts.extend([at(90), at(5)]);
        let decision = decide(&alice, at(6));
        assert!(matches!(decision, RestartDecision::GiveUp { .. }));
    }

    #[test]
    fn delays_have_an_upper_limit_and_old_restarts_are_dropped() {
        let limits = RestartLimits {
            restarts: 100,
            ..RestartLimits::default()
        };
        let mut alice = history(RestartPolicy::OnFailure);
        let mut now = at(0);
        for _ in 0..20 {
            match alice.decide(CRASH, &limits, now) {
                RestartDecision::RestartAt(next) => {
                    assert!(next.since(now) <= Duration::from_secs(60));
                    alice.restarts.push(next);
                    now = next;
                }
                other => panic!("{other:?}"),
            }
        }
        let later = now.plus(Duration::from_secs(300));
        let expected = later.plus(Duration::from_secs(1));
        let decision = alice.decide(CRASH, &limits, later);
        assert_eq!(decision, RestartDecision::RestartAt(expected));
    }
}
