//! A member is never restarted more often than its limits say.

use proptest::prelude::*;
use protocol::{AgentName, DeathCause, RestartPolicy, Timestamp};
use rules::{RestartDecision, RestartHistory, RestartLimits};
use std::time::Duration;

proptest! {
    #[test]
    fn restarts_never_exceed_their_rate(
        restarts in 1..8_usize,
        window in 1..400_u64,
        deaths in prop::collection::vec((0..200_i64, any::<bool>()), 0..200),
    ) {
        let limits = RestartLimits {
            restarts,
            window: Duration::from_secs(window),
            ..RestartLimits::default()
        };
        let mut member = RestartHistory {
            name: AgentName::new("alice").expect("a valid name"),
            policy: RestartPolicy::OnFailure,
            restarts: Vec::new(),
        };
        let mut now = Timestamp::from_secs(0);
        for (wait, by_person) in deaths {
            now = now.plus(Duration::from_secs(wait.unsigned_abs()));
            match member.decide(DeathCause::Code(1), &limits, now) {
                RestartDecision::Leave => prop_assert!(false, "the policy restarts it"),
                RestartDecision::RestartAt(at) => {
                    prop_assert!(at > now);
                    member.restarts.push(at);
                }
                // A restart by a person is not limited, and begins a new count.
                RestartDecision::GiveUp { .. } if by_person => member.restarts.clear(),
                RestartDecision::GiveUp { .. } => {}
            }
            let times = &member.restarts;
            for (early, late) in times.iter().zip(times.iter().skip(restarts)) {
                prop_assert!(late.since(*early) >= limits.window);
            }
        }
    }
}
