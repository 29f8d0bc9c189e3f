//! Whether and when a dead member is restarted by its policy.

use protocol::{AgentName, RestartPolicy, Timestamp};
use std::time::Duration;

/// How a member's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// It was asked to end, or reported its shutdown.
    Clean,
    /// Any other end, with the cause, such as `killed by signal 9`.
    Failed(String),
}

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

/// What to do about a death.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RestartDecision {
    /// Do nothing: the policy is `never`, or the end was clean.
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

/// The restarts of one member.
///
/// Restart times never decrease, and no window holds more of them than the limit, in whatever order deaths
/// are reported. Giving up is final until [`Restarts::clear`].
#[derive(Debug, Clone)]
pub struct Restarts {
    name: AgentName,
    policy: RestartPolicy,
    limits: RestartLimits,
    recent: Vec<Timestamp>,
    given_up: Option<String>,
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

impl Restarts {
    /// A member that has not been restarted yet.
    pub const fn new(name: AgentName, policy: RestartPolicy, limits: RestartLimits) -> Self {
        Self {
            name,
            policy,
            limits,
            recent: Vec::new(),
            given_up: None,
        }
    }

    /// Adds a restart that an earlier lead made.
    pub fn remember(&mut self, at: Timestamp) {
        self.recent.push(at);
        self.recent.sort_unstable();
    }

    /// Drops all restarts: a person restarted the member.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.given_up = None;
    }

    /// Decides about a death that was noticed at `now`.
    pub fn handle(&mut self, death: &Death, now: Timestamp) -> RestartDecision {
        let cause = match (&self.policy, death) {
            (RestartPolicy::Never | RestartPolicy::Other(_), _)
            | (RestartPolicy::OnFailure, Death::Clean) => {
                return RestartDecision::Leave;
            }
            (RestartPolicy::OnFailure, Death::Failed(cause)) => cause,
        };
        if let Some(reason) = &self.given_up {
            return self.give_up(reason.clone());
        }
        let last = self.recent.last().copied().unwrap_or(now);
        let window = self.limits.window;
        self.recent.retain(|at| now.max(last).since(*at) < window);
        let made = self.recent.len();
        let at = now.plus(self.delay(made)).max(last);
        let in_window = self.recent.iter().filter(|r| at.since(**r) < window);
        if in_window.count() >= self.limits.restarts {
            let seconds = window.as_secs();
            let name = &self.name;
            let reason =
                format!("'{name}' was restarted {made} times within {seconds} s; last: {cause}");
            self.given_up = Some(reason.clone());
            return self.give_up(reason);
        }
        self.recent.push(at);
        RestartDecision::RestartAt(at)
    }

    fn delay(&self, made: usize) -> Duration {
        let doublings = u32::try_from(made).unwrap_or(u32::MAX);
        let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
        let delay = self.limits.first_delay.saturating_mul(factor);
        delay.min(self.limits.longest_delay)
    }

    fn give_up(&self, reason: String) -> RestartDecision {
        let command = format!("team-lead restart {}", self.name);
        RestartDecision::GiveUp { reason, command }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restarts(policy: RestartPolicy) -> Restarts {
        let name = AgentName::new("alice").unwrap();
        Restarts::new(name, policy, RestartLimits::default())
    }

    fn crash() -> Death {
        Death::Failed("killed by signal 9".to_owned())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn clean_ends_and_the_policy_never_are_left_alone() {
        let mut on_failure = restarts(RestartPolicy::OnFailure);
        assert_eq!(
            on_failure.handle(&Death::Clean, at(0)),
            RestartDecision::Leave
        );
        let mut never = restarts(RestartPolicy::Never);
        assert_eq!(never.handle(&crash(), at(0)), RestartDecision::Leave);
    }

    #[test]
    fn waits_double_and_the_sixth_death_in_the_window_is_the_last() {
        let mut restarts = restarts(RestartPolicy::OnFailure);
        let mut now = at(0);
        for wait in [1, 2, 4, 8, 16] {
            let expected = now.plus(Duration::from_secs(wait));
            let decision = restarts.handle(&crash(), now);
            assert_eq!(decision, RestartDecision::RestartAt(expected));
            now = expected;
        }
        for now in [now, at(9999)] {
            match restarts.handle(&crash(), now) {
                RestartDecision::GiveUp { reason, command } => {
                    assert!(reason.contains("5 times"), "{reason}");
                    assert!(reason.contains("signal 9"), "{reason}");
                    assert_eq!(command, "team-lead restart alice");
                }
                other => panic!("{other:?}"),
            }
        }
        restarts.clear();
        let decision = restarts.handle(&crash(), at(9999));
        assert_eq!(decision, RestartDecision::RestartAt(at(10_000)));
    }

    #[test]
    fn restarts_of_an_earlier_lead_count() {
        let mut restarts = restarts(RestartPolicy::OnFailure);
        for second in [90, 1, 4] {
            restarts.remember(at(second));
        }
        // Restart times never decrease, even if the clock was set back.
        let decision = restarts.handle(&crash(), at(6));
        assert_eq!(decision, RestartDecision::RestartAt(at(90)));
        restarts.remember(at(5));
        let decision = restarts.handle(&crash(), at(6));
        assert!(matches!(decision, RestartDecision::GiveUp { .. }));
    }

    #[test]
    fn delays_have_an_upper_limit_and_old_restarts_are_dropped() {
        let mut restarts = restarts(RestartPolicy::OnFailure);
        restarts.limits.restarts = 100;
        let mut now = at(0);
        for _ in 0..20 {
            match restarts.handle(&crash(), now) {
                RestartDecision::RestartAt(next) => {
                    assert!(next.since(now) <= Duration::from_secs(60));
                    now = next;
                }
                other => panic!("{other:?}"),
            }
        }
        let later = now.plus(Duration::from_secs(300));
        let expected = later.plus(Duration::from_secs(1));
        let decision = restarts.handle(&crash(), later);
        assert_eq!(decision, RestartDecision::RestartAt(expected));
    }
}
