//! How much of the board another host may ask for: a pure decision.
//!
//! An ask costs its home a look at the whole board and synced writes, and all hosts wait meanwhile. Each host
//! therefore has a number of asks that are decided, which grows back with time; what is asked beyond it is refused without a
//! look at the board. What ends a claim has a larger number of its own: refusing it leaves a task with nobody.

use protocol::HostId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many asks may come at once, and the time in which one of them grows back.
const ASKS: (u32, Duration) = (256, Duration::from_millis(25));
/// The same for what ends a claim.
const ENDS: (u32, Duration) = (1024, Duration::from_millis(10));

/// Why an ask is refused without a look at the board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the host '{host}' asks for more changes of the board than its home decides: {most} at once, and {a_second} a second; \
     ask again later"
)]
pub(crate) struct TooManyAsks {
    host: HostId,
    most: u32,
    a_second: u128,
}

/// What a host has left.
#[derive(Debug)]
struct Left {
    count: u32,
    /// Up to when what grows back was counted.
    at: Instant,
}

/// What each host has left, for each of the two kinds.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    left: BTreeMap<(HostId, bool), Left>,
}

impl Quotas {
    /// Whether an ask of `host` is decided now.
    pub(crate) fn take(
        &mut self,
        host: &HostId,
        ends_claim: bool,
        now: Instant,
    ) -> Result<(), TooManyAsks> {
        let (most, grows) = if ends_claim { ENDS } else { ASKS };
        let key = (host.clone(), ends_claim);
        let left = self.left.entry(key).or_insert(Left {
            count: most,
            at: now,
        });
        let passed = now.saturating_duration_since(left.at).as_nanos() / grows.as_nanos();
        let grown = u32::try_from(passed).unwrap_or(most).min(most);
        if grown > 0 {
            left.count = left.count.saturating_add(grown).min(most);
            // What is left over counts for the next one, unless all has grown back.
            let counted = match left.count == most {
                true => now.saturating_duration_since(left.at),
                false => grows * grown,
            };
            left.at += counted;
        }
        if let Some(count) = left.count.checked_sub(1) {
            left.count = count;
            return Ok(());
        }
        Err(TooManyAsks {
            host: host.clone(),
            most,
            a_second: Duration::from_secs(1).as_millis() / grows.as_millis(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_number_of_asks_that_grows_back_and_others_have_theirs() {
        let (flooding, other) = (HostId::new("gpu1").unwrap(), HostId::new("gpu2").unwrap());
        let begun = Instant::now();
        let mut quotas = Quotas::default();
        let mut count = 0;
        while quotas.take(&flooding, false, begun).is_ok() {
            count += 1;
        }
        assert_eq!(count, ASKS.0);
        assert!(quotas.take(&other, false, begun).is_ok());
        // What ends a claim is not kept back by that.
        assert!(quotas.take(&flooding, true, begun).is_ok());
        let later = begun + ASKS.1 * 3;
        let decided = (0..10).filter(|_| quotas.take(&flooding, false, later).is_ok());
        assert_eq!(decided.count(), 3);
        let much_later = begun + Duration::from_secs(3600);
        let decided = (0..1000).filter(|_| quotas.take(&flooding, false, much_later).is_ok());
        assert_eq!(decided.count(), ASKS.0 as usize);
    }

    #[test]
    fn less_than_the_time_of_one_is_not_lost() {
        let host = HostId::new("gpu1").unwrap();
        let begun = Instant::now();
        let mut quotas = Quotas::default();
        while quotas.take(&host, false, begun).is_ok() {}
        let almost = ASKS.1 - Duration::from_millis(1);
        assert!(quotas.take(&host, false, begun + almost).is_err());
        assert!(quotas.take(&host, false, begun + ASKS.1).is_ok());
        let next = begun + ASKS.1 + almost;
        assert!(quotas.take(&host, false, next).is_err());
        assert!(quotas.take(&host, false, begun + ASKS.1 * 2).is_ok());
    }
}
