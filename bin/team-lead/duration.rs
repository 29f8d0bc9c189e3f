//! Durations and points in time as people type and read them.

use crate::wrong_value::WrongValue;
use protocol::Timestamp;
use std::time::Duration;

/// The start of 1980. A number of this many seconds or more is a point in time, not a duration.
const FIRST_TIME: f64 = 315_532_800.0;

/// The longest accepted duration, so that every resulting time can be stored.
const LONGEST: Duration = Duration::from_secs(3650 * 86400);

/// Parses a duration: seconds, or a number with one of the units s, m, h and d.
pub(crate) fn parse(text: &str) -> Result<Duration, WrongValue> {
    let (number, unit) = match text.chars().next_back() {
        Some('s') => (text.strip_suffix('s'), 1.0),
        Some('m') => (text.strip_suffix('m'), 60.0),
        Some('h') => (text.strip_suffix('h'), 3600.0),
        Some('d') => (text.strip_suffix('d'), 86400.0),
        Some(_) | None => (Some(text), 1.0),
    };
    let number: Option<f64> = number.and_then(|number| number.trim().parse().ok());
    number
        .and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
        .filter(|duration| *duration <= LONGEST)
        .ok_or(WrongValue(
            "use seconds, or a number with a unit as in 90s, 10m, 2h or 1d; ten years at most",
        ))
}

/// A point in time, absolute or relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Duration),
    At(Timestamp),
}

impl Since {
    /// Parses seconds since 1970, or a duration before now.
    pub(crate) fn parse(text: &str) -> Result<Self, WrongValue> {
        match text.parse::<f64>() {
            Ok(seconds) if seconds >= FIRST_TIME => {
                let time = serde_json::from_value(seconds.into());
                time.map(Self::At)
                    .map_err(|_| WrongValue("no time can be so many seconds since 1970"))
            }
            Ok(_) | Err(_) => parse(text).map(Self::Ago),
        }
    }

    /// The absolute point in time.
    pub(crate) fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(ago) => {
                let ago = i64::try_from(ago.as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(now.as_micros().saturating_sub(ago))
            }
        }
    }
}

/// Formats a duration in its largest unit, as in `10 min`.
pub(crate) fn format(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse("1d"), Ok(Duration::from_secs(86400)));
        for wrong in ["", "m", "-1", "ten", "1w", "nan", "inf", "é", "1e12"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_large_number_is_a_time() {
        let time = Timestamp::from_secs(1_763_251_200);
        assert_eq!(Since::parse("1763251200"), Ok(Since::At(time)));
        let ago = Since::parse("2h").unwrap();
        assert_eq!(ago.resolve(time), Timestamp::from_secs(1_763_244_000));
        assert!(Since::parse("yesterday").is_err());
    }

    #[test]
    fn a_duration_is_formatted_in_its_largest_unit() {
        assert_eq!(format(Duration::from_secs(119)), "119 s");
        assert_eq!(format(Duration::from_secs(600)), "10 min");
        assert_eq!(format(Duration::from_secs(7200)), "2 h");
        assert_eq!(format(Duration::from_secs(400_000)), "4 days");
    }
}
