//! A member is never restarted more often than its limits say.

use proptest::prelude::*;
use protocol::{AgentName, RestartPolicy, Timestamp};
use rules::{Death, RestartDecision, RestartLimits, Restarts};
use std::time::Duration;

proptest! {
    #[test]
    fn restarts_never_exceed_their_rate(
        restarts in 1..8_usize,
        window in 1..400_u64,
        deaths in prop::collection::vec((0..200_i64, 0..12_u8), 0..200),
    ) {
        let limits = RestartLimits {
            restarts,
            window: Duration::from_secs(window),
            ..RestartLimits::default()
        };
        let name = AgentName::new("alice").expect("a valid name");
        let mut member = Restarts::new(name, RestartPolicy::OnFailure, limits);
        let mut now = Timestamp::from_secs(0);
        let mut times: Vec<Timestamp> = Vec::new();
        let mut given_up = false;
        for (wait, kind) in deaths {
            now = now.plus(Duration::from_secs(wait.unsigned_abs()));
            let death = match kind {
                0 => Death::Clean,
                // A restart by a person is not limited.
                1 if given_up => {
                    member.clear();
                    times.clear();
                    given_up = false;
                    continue;
                }
                _ => Death::Failed("crashed".to_owned()),
            };
            match member.handle(&death, now) {
                RestartDecision::Leave => prop_assert_eq!(death, Death::Clean),
                RestartDecision::RestartAt(at) => {
                    prop_assert!(!given_up && at > now);
                    times.push(at);
                }
                RestartDecision::GiveUp { .. } => given_up = true,
            }
            for (early, late) in times.iter().zip(times.iter().skip(restarts)) {
                prop_assert!(late.since(*early) >= limits.window);
            }
        }
    }
}
