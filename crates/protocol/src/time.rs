//! Points in time as they are stored: seconds since 1970, as a JSON number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// A point in time with microsecond precision, stored as float seconds since 1970 in UTC.
///
/// It comes from a wall clock, so it orders nothing: the clock may be set back. Order comes from
/// positions in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    micros: i64,
}

impl Timestamp {
    /// The point `micros` microseconds after 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// The point `seconds` seconds after 1970.
    pub const fn from_secs(seconds: i64) -> Self {
        Self {
            micros: seconds.saturating_mul(1_000_000),
        }
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.micros
    }

    /// Seconds since 1970.
    pub fn as_secs_f64(self) -> f64 {
        self.micros as f64 / 1e6
    }

    /// The time of day in UTC, as in `06:21:11`.
    pub fn time_of_day(self) -> String {
        let seconds = self.micros.div_euclid(1_000_000).rem_euclid(86_400);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
    }

    /// The point `duration` later.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self {
            micros: self.micros.saturating_add(micros),
        }
    }

    /// How long `earlier` lies back; zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.micros.saturating_sub(earlier.micros);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_secs_f64())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        // The range keeps the arithmetic free of overflow. Microseconds are exact until the year
        // 2106, from when on a float of seconds cannot tell them apart.
        if !(-9e9..=9e9).contains(&seconds) {
            return Err(serde::de::Error::custom(format_args!(
                "{seconds} is not a time in seconds since 1970"
            )));
        }
        Ok(Self {
            micros: (seconds * 1e6).round() as i64,
        })
    }
}
