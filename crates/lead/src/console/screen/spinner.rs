//! The line that shows that something runs: since when, how many tokens, and what it is.

use super::super::colour::Style;
use super::tool_call::Call;
use super::width::Span;
use std::time::{Duration, Instant};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How often the line changes while the lead works.
pub(crate) const FRAME: Duration = Duration::from_millis(120);
/// How often it changes while only members work.
pub(crate) const SLOW_FRAME: Duration = Duration::from_secs(1);
/// About how many bytes of text a token has, until the server says how many there were.
const BYTES_PER_TOKEN: usize = 4;

/// A turn of the lead that runs.
#[derive(Debug)]
pub(crate) struct Turn {
    since: Instant,
    /// The tokens of the replies that are complete.
    tokens: u64,
    /// The bytes of the reply that comes now.
    reply_bytes: usize,
    /// The calls that run, by their ids.
    calls: Vec<(String, Call)>,
    pub(crate) is_stopping: bool,
}

impl Turn {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            tokens: 0,
            reply_bytes: 0,
            calls: Vec::new(),
            is_stopping: false,
        }
    }

    /// More of the reply has come.
    pub(crate) const fn heard(&mut self, bytes: usize) {
        self.reply_bytes += bytes;
    }

    /// The reply is complete.
    pub(crate) const fn replied(&mut self, tokens: Option<u64>) {
        let guess = self.reply_bytes / BYTES_PER_TOKEN;
        self.tokens += match tokens {
            Some(tokens) => tokens,
            None => guess as u64,
        };
        self.reply_bytes = 0;
    }

    pub(crate) fn started(&mut self, id: &str, call: Call) {
        self.calls.push((id.to_owned(), call));
    }

    pub(crate) fn ended(&mut self, id: &str) -> Option<Call> {
        let place = self.calls.iter().position(|(call, _)| call == id)?;
        Some(self.calls.remove(place).1)
    }

    fn activity(&self) -> String {
        match (self.calls.as_slice(), self.reply_bytes) {
            _ if self.is_stopping => "interrupting".to_owned(),
            ([], 0) => "waiting for the model".to_owned(),
            ([], _) => "the model answers".to_owned(),
            ([(_, call)], _) => call.title(),
            ([(_, call), rest @ ..], _) => format!("{} and {} more", call.title(), rest.len()),
        }
    }
}

/// The line while the lead works, or only members do.
pub(crate) fn line(
    turn: Option<&Turn>,
    members: Option<(&[String], Instant)>,
    now: Instant,
) -> Option<Vec<Span>> {
    let since = turn
        .map(|turn| turn.since)
        .or(members.map(|(_, since)| since))?;
    let running = now.saturating_duration_since(since);
    let frame = running.as_millis() / FRAME.as_millis();
    let frame = usize::try_from(frame).unwrap_or_default() % FRAMES.len();
    let mut spans = vec![
        Span::new(Style::Code, format!("{} ", FRAMES[frame])),
        Span::new(Style::Dim, elapsed(running)),
    ];
    if let Some(turn) = turn {
        let guess = u64::try_from(turn.reply_bytes / BYTES_PER_TOKEN).unwrap_or_default();
        let tokens = turn.tokens + guess;
        if tokens > 0 {
            spans.push(Span::new(
                Style::Dim,
                format!(" · {} tokens", short(tokens)),
            ));
        }
    }
    if let Some((names, _)) = members {
        let (verb, names) = match names {
            [name] => ("works", name.clone()),
            names => ("work", names.join(", ")),
        };
        spans.push(Span::new(Style::Dim, format!(" · {names} {verb}")));
    }
    if let Some(turn) = turn {
        if !turn.is_stopping {
            spans.push(Span::new(Style::Dim, " · Esc interrupts"));
        }
        // Last, because it may be long.
        spans.push(Span::plain(format!(" · {}", turn.activity())));
    }
    Some(spans)
}

/// A time as people say it.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

/// A count in few characters.
pub(crate) fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::colour::Colour;
    use super::super::width::paint;
    use super::*;

    #[test]
    fn the_line_says_since_when_how_much_and_what() {
        let start = Instant::now();
        let mut turn = Turn::new(start);
        let shown = |turn: &Turn, seconds| {
            let now = start + Duration::from_secs(seconds);
            paint(&line(Some(turn), None, now).unwrap(), Colour::Off)
        };
        assert_eq!(
            shown(&turn, 0),
            "⠋ 0s · Esc interrupts · waiting for the model"
        );
        turn.heard(400);
        let text = shown(&turn, 65);
        assert!(
            text.ends_with(" 1m 05s · 100 tokens · Esc interrupts · the model answers"),
            "{text}"
        );
        turn.replied(Some(1_234));
        turn.started("a", Call::new("bash", r#"{"command":"cargo test"}"#));
        let text = shown(&turn, 3_700);
        assert!(
            text.ends_with(" 1h 01m · 1.2k tokens · Esc interrupts · $ cargo test"),
            "{text}"
        );
        turn.started("b", Call::new("bash", r#"{"command":"ls"}"#));
        assert!(shown(&turn, 1).contains("$ cargo test and 1 more"));
        turn.is_stopping = true;
        assert!(shown(&turn, 1).ends_with(" · interrupting"));
    }

    #[test]
    fn members_at_work_are_named() {
        let now = Instant::now();
        assert_eq!(line(None, None, now), None);
        let names = ["alice".to_owned(), "bob".to_owned()];
        let text = paint(&line(None, Some((&names, now)), now).unwrap(), Colour::Off);
        assert_eq!(text, "⠋ 0s · alice, bob work");
    }
}
