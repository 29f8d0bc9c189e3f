//! Decides how long to wait before another try, and when to give up. It is pure: the time and the random
//! number are arguments.

use std::time::{Duration, SystemTime};

use crate::model::WaitReason;

/// The most tries for a reply that is complete but empty. The same request often gets an empty reply again.
const MAX_TRIES_FOR_EMPTY: u32 = 3;

/// How often and for how long a model call is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most tries, the first one included. It does not limit the tries at a busy server (rate limit,
    /// overload), which may ask for any number of short waits: `total` does.
    pub max_tries: u32,
    /// The wait after the first failure; each further failure doubles it.
    pub first_delay: Duration,
    /// The longest wait, unless the server asks for a longer one.
    pub longest_delay: Duration,
    /// The most time from the first failure to the last try. A server that asks
    /// for a wait beyond it ends the call at once.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_tries: 8,
            first_delay: Duration::from_secs(1),
            longest_delay: Duration::from_secs(60),
            total: Duration::from_secs(15 * 60),
        }
    }
}

/// The state of a call after a failed try.
#[derive(Clone, Copy, Debug)]
pub struct FailedTry {
    /// How many tries have failed, this one included.
    pub failed_tries: u32,
    /// The time since the first one failed.
    pub since_first: Duration,
    pub reason: WaitReason,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl RetryPolicy {
    /// The policy for a model that another one of its list can replace: fewer tries within less time.
    pub fn with_alternative() -> Self {
        Self {
            max_tries: 3,
            total: Duration::from_secs(30),
            ..Self::default()
        }
    }

    /// The wait before the next try, or `None` to give up. `random` is a number from 0 to 1.
    ///
    /// If the server names no delay, the wait is between half of the doubled delay and all of it. If it
    /// names one, the wait is that delay plus up to a quarter, so that clients which were refused together
    /// do not come back together.
    pub fn delay(&self, failed: FailedTry, random: f64) -> Option<Duration> {
        let random = random.clamp(0.0, 1.0);
        let max_tries = match failed.reason {
            WaitReason::Empty => Some(self.max_tries.min(MAX_TRIES_FOR_EMPTY)),
            WaitReason::RateLimit | WaitReason::Overloaded => None,
            _ => Some(self.max_tries),
        };
        if max_tries.is_some_and(|most| failed.failed_tries >= most) {
            return None;
        }
        let delay = match failed.retry_after {
            Some(named) => {
                let spread = named.max(self.first_delay).div_f64(4.0);
                named.saturating_add(spread.mul_f64(random))
            }
            None => {
                let failures = failed.failed_tries.saturating_sub(1);
                let doubled = backoff::delay(self.first_delay, self.longest_delay, failures);
                doubled.mul_f64(0.5 + random / 2.0)
            }
        };
        let end = failed.since_first.saturating_add(delay);
        (end <= self.total).then_some(delay)
    }
}

/// How long a server asks to wait, from the headers of its answer: in milliseconds, in seconds, or until a
/// date. A gateway may have put a prefix before the header's name.
pub fn retry_after(headers: &[(&str, &str)], now: SystemTime) -> Option<Duration> {
    let named = |name: &str| {
        let exact = headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        exact.or_else(|| {
            headers.iter().find(|(key, _)| {
                let key = key.to_ascii_lowercase();
                key.strip_suffix(name)
                    .is_some_and(|prefix| prefix.ends_with(['-', '_']))
            })
        })
    };
    let millis = named("retry-after-ms").and_then(|(_, value)| number(value, 0.001));
    millis.or_else(|| {
        let (_, value) = named("retry-after")?;
        number(value, 1.0).or_else(|| {
            let date = httpdate::parse_http_date(value.trim()).ok()?;
            Some(date.duration_since(now).unwrap_or(Duration::ZERO))
        })
    })
}

fn number(value: &str, unit: f64) -> Option<Duration> {
    let value: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(value * unit).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn failed(failed_tries: u32) -> FailedTry {
        FailedTry {
            failed_tries,
            since_first: Duration::ZERO,
            reason: WaitReason::ServerError(500),
            retry_after: None,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RetryPolicy::default();
        let delays: Vec<_> = (1..=8)
            .map(|tries| {
                policy
                    .delay(failed(tries), 1.0)
                    .map(|delay| delay.as_secs())
            })
            .collect();
        let expected = [1, 2, 4, 8, 16, 32, 60].map(Some);
        assert_eq!(delays[..7], expected);
        assert_eq!(delays[7], None, "the eighth try was the last");
        assert_eq!(policy.delay(failed(1), 0.0), Some(SECOND / 2));
    }

    #[test]
    fn a_delay_named_by_the_server_is_kept_in_full() {
        let policy = RetryPolicy::default();
        let with = |seconds, random| {
            let failed = FailedTry {
                retry_after: Some(SECOND * seconds),
                ..failed(1)
            };
            policy.delay(failed, random)
        };
        assert_eq!(with(120, 0.0), Some(SECOND * 120), "beyond the longest");
        assert_eq!(with(120, 1.0), Some(SECOND * 150));
        assert_eq!(with(0, 1.0), Some(SECOND / 4));
        assert_eq!(with(3600, 0.0), None, "longer than the total");
    }

    #[test]
    fn a_busy_server_is_tried_until_the_time_is_up_however_short_its_waits() {
        let policy = RetryPolicy::default();
        for reason in [WaitReason::RateLimit, WaitReason::Overloaded] {
            let after = |since_first| FailedTry {
                reason,
                since_first,
                retry_after: Some(SECOND * 2),
                ..failed(300)
            };
            assert_eq!(policy.delay(after(SECOND * 600), 0.0), Some(SECOND * 2));
            assert_eq!(policy.delay(after(policy.total), 0.0), None);
        }
    }

    #[test]
    fn time_runs_out() {
        let policy = RetryPolicy::default();
        let late = FailedTry {
            since_first: policy.total - SECOND / 2,
            ..failed(1)
        };
        assert_eq!(policy.delay(late, 0.0), Some(SECOND / 2));
        assert_eq!(policy.delay(late, 0.1), None);
    }

    #[test]
    fn an_empty_reply_has_fewer_tries() {
        let policy = RetryPolicy::default();
        let empty = |tries| FailedTry {
            reason: WaitReason::Empty,
            ..failed(tries)
        };
        assert!(policy.delay(empty(2), 0.0).is_some());
        assert_eq!(policy.delay(empty(3), 0.0), None);
    }

    #[test]
    fn headers_are_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + SECOND * 784_111_777;
        let read = |headers: &[(&str, &str)]| retry_after(headers, now);
        assert_eq!(read(&[("Retry-After", "12")]), Some(SECOND * 12));
        assert_eq!(read(&[("retry-after", " 1.5 ")]), Some(SECOND * 3 / 2));
        assert_eq!(
            read(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")]),
            Some(SECOND * 10)
        );
        assert_eq!(
            read(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")]),
            Some(Duration::ZERO),
            "a date that has passed"
        );
        assert_eq!(
            read(&[("retry-after", "9"), ("retry-after-ms", "250")]),
            Some(SECOND / 4)
        );
        assert_eq!(read(&[("llm_provider-retry-after", "7")]), Some(SECOND * 7));
        for bad in ["", "soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(read(&[("retry-after", bad)]), None, "{bad}");
        }
        assert_eq!(read(&[("x-noretry-after", "1")]), None);
    }

    proptest! {
        #[test]
        fn a_delay_is_never_shorter_than_asked_nor_past_the_end(
            failed_tries in 0_u32..100,
            since in 0_u64..2_000,
            named in prop::option::of(0_u64..u64::MAX),
            random in any::<f64>(),
        ) {
            let policy = RetryPolicy::default();
            let failed = FailedTry {
                failed_tries,
                since_first: Duration::from_secs(since),
                reason: WaitReason::CannotConnect,
                retry_after: named.map(Duration::from_secs),
            };
            let random = if random.is_nan() { 0.5 } else { random };
            if let Some(delay) = policy.delay(failed, random) {
                prop_assert!(delay >= failed.retry_after.unwrap_or(Duration::ZERO));
                prop_assert!(failed.since_first + delay <= policy.total);
                prop_assert!(failed_tries < policy.max_tries);
            }
        }
    }
}
