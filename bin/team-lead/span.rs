//! Spans of time and points in time as people type them.

use protocol::Timestamp;
use std::time::Duration;

/// A number of this many seconds or more is a point in time and not a span: 1980 had begun.
const FIRST_TIME: f64 = 315_532_800.0;

/// No longer span is taken: a time that lies so far away could not be stored.
const LONGEST: Duration = Duration::from_secs(3650 * 86400);

/// Reads a span: seconds, or a number with one of the units s, m, h and d.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
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
        .filter(|span| *span <= LONGEST)
        .ok_or_else(|| {
            "use seconds, or a number with a unit as in 90s, 10m, 2h or 1d; ten years at most"
                .to_owned()
        })
}

/// A point in time, given by itself or by how long it lies back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long ago.
    Ago(Duration),
    /// At this time.
    At(Timestamp),
}

impl Since {
    /// Reads one: seconds since 1970, or a span.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(seconds) if seconds >= FIRST_TIME => {
                let time = serde_json::from_value(seconds.into());
                time.map(Self::At).map_err(|error| error.to_string())
            }
            Ok(_) | Err(_) => span(text).map(Self::Ago),
        }
    }

    /// The point in time, seen from `now`.
    pub(crate) fn point(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => {
                let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(now.as_micros().saturating_sub(span))
            }
        }
    }
}

/// A span in a few words: its largest unit alone.
pub(crate) fn words(span: Duration) -> String {
    match span.as_secs() {
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
    fn spans_have_units() {
        assert_eq!(span("90"), Ok(Duration::from_secs(90)));
        assert_eq!(span("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(span("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(span("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(span("1d"), Ok(Duration::from_secs(86400)));
        for wrong in ["", "m", "-1", "ten", "1w", "nan", "inf", "é", "1e12"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_large_number_is_a_time() {
        let time = Timestamp::from_secs(1_763_251_200);
        assert_eq!(Since::parse("1763251200"), Ok(Since::At(time)));
        let ago = Since::parse("2h").unwrap();
        assert_eq!(ago.point(time), Timestamp::from_secs(1_763_244_000));
        assert!(Since::parse("yesterday").is_err());
    }

    #[test]
    fn words_use_the_largest_unit() {
        assert_eq!(words(Duration::from_secs(119)), "119 s");
        assert_eq!(words(Duration::from_secs(600)), "10 min");
        assert_eq!(words(Duration::from_secs(7200)), "2 h");
        assert_eq!(words(Duration::from_secs(400_000)), "4 days");
    }
}
