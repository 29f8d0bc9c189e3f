//! The wall clock.

use protocol::Timestamp;
use std::time::SystemTime;

/// The time by the wall clock. It may jump; nothing in this crate orders by it.
pub fn now() -> Timestamp {
    let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = age.map(|age| i64::try_from(age.as_micros()).unwrap_or(i64::MAX));
    Timestamp::from_micros(micros.unwrap_or(0))
}
