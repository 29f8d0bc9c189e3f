//! Waiting for a condition, with a limit.

use std::thread;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Returns as soon as `cond` holds. Panics with `what` and `limit` if it still
/// does not hold when the limit has passed. `cond` is asked at least once.
#[track_caller]
pub fn wait_until(what: &str, limit: Duration, mut cond: impl FnMut() -> bool) {
    wait_for(what, limit, || cond().then_some(()));
}

/// Returns the first value that `get` yields. Panics with `what` and `limit` if
/// there is none when the limit has passed. `get` is asked at least once.
#[track_caller]
pub fn wait_for<T>(what: &str, limit: Duration, get: impl FnMut() -> Option<T>) -> T {
    match try_wait_for(limit, get) {
        Some(value) => value,
        None => panic!("waited {limit:?} for: {what}"),
    }
}

/// Returns the first value that `get` yields, or `None` if there is none when
/// the limit has passed. `get` is asked at least once, and once more after the
/// last pause.
pub fn try_wait_for<T>(limit: Duration, mut get: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        // The clock is read before the question, so that a slow pause on a
        // loaded machine never costs the last try.
        let late = start.elapsed() >= limit;
        if let Some(value) = get() {
            return Some(value);
        }
        if late {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_the_wait() {
        let mut left = 3;
        let value = wait_for("three tries", Duration::from_secs(10), || {
            left -= 1;
            (left == 0).then_some("done")
        });
        assert_eq!(value, "done");
    }

    #[test]
    fn no_limit_still_asks_once() {
        wait_until("now", Duration::ZERO, || true);
        assert_eq!(try_wait_for(Duration::ZERO, || None::<u8>), None);
    }

    #[test]
    #[should_panic(expected = "waited 5ms for: the moon")]
    fn running_out_of_time_names_the_wish() {
        wait_until("the moon", Duration::from_millis(5), || false);
    }
}
