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

    /// The date in UTC, as in `2026-11-18`.
    pub fn date(self) -> String {
        let (year, month, day) = civil(self.micros.div_euclid(86_400_000_000));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// The date and the time of day in UTC without seconds, as in `2026-11-18 06:21`.
    pub fn to_minute(self) -> String {
        let time = self.time_of_day();
        let minute = time.get(..5).unwrap_or(&time);
        format!("{} {minute}", self.date())
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

/// The year, month and day of a day that is counted from 1970, in the Gregorian calendar.
///
/// Years are counted from March here, so that the day that only leap years have is the last one, and
/// in eras of 400 years, which are all equally long.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + era * 400;
    match month {
        0..10 => (year, month + 3, day),
        _ => (year + 1, month - 9, day),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| Timestamp::from_secs(seconds).date();
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(951_782_399), "2000-02-28");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(951_868_800), "2000-03-01");
        assert_eq!(date(1_794_916_800), "2026-11-17");
        assert_eq!(date(4_107_542_399), "2100-02-28");
        assert_eq!(date(4_107_542_400), "2100-03-01");
        assert_eq!(date(9_000_000_000), "2255-03-14");
    }
}
