//! When the lines of a log were written. They begin with the time of day, and the date is worked out from
//! the time at which the file was last changed.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// The time of each line in seconds since 1970. A line without a time has that of the line before it.
pub(super) fn line_times(lines: &[Vec<u8>], written: SystemTime) -> Vec<i64> {
    let written = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    let written = i64::try_from(written.as_secs()).unwrap_or_default();
    let mut seconds = Vec::new();
    for line in lines {
        let before = seconds.last().copied();
        seconds.push(time_of_day(line).or(before).unwrap_or(0));
    }
    // Backwards from the last line: a later time of day is one of the day before.
    let mut day = written.div_euclid(DAY);
    let mut after = written.rem_euclid(DAY);
    for second in seconds.iter_mut().rev() {
        if *second > after {
            day -= 1;
        }
        after = *second;
        *second += day * DAY;
    }
    seconds
}

/// The seconds of a line that begins as in `07:08:29 `.
fn time_of_day(line: &[u8]) -> Option<i64> {
    let text = str::from_utf8(line.get(..9)?).ok()?.strip_suffix(' ')?;
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    Some(hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn midnight_lies_between_a_later_and_an_earlier_time_of_day() {
        let lines = ["23:59:58 one", "         more", "00:00:01 two"];
        let lines: Vec<Vec<u8>> = lines.map(|line| line.as_bytes().to_vec()).into();
        let written = UNIX_EPOCH + Duration::from_secs(10 * 86_400 + 5);
        let start = 10 * DAY;
        assert_eq!(
            line_times(&lines, written),
            [start - 2, start - 2, start + 1]
        );
    }
}
