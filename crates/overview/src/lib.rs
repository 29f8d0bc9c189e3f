//! What people see of a team, for whatever shows it: `watch`, `events` and the web page.
//!
//! # Theory of operation
//!
//! [`snapshot()`] reads the state of a team at one moment. [`event_text()`] tells a line of the event log in
//! words. A [`Tail`] follows a growing file of a member. A [`TeamWatch`] says when to read all of them again: it
//! is woken by the files of the team and by the ends of its processes, and by nothing while the team rests.
//!
//! **Invariants:** nothing here prints or changes the team; no control character of a file is in a text.

mod event_text;
mod snapshot;
mod tail;
mod team_watch;

pub use event_text::{TimedEvent, Tone, event_text, kind_words, text_of_event, timed_event};
pub use snapshot::{MemberRow, RequestRow, Snapshot, Spending, TaskRow, board, snapshot};
pub use tail::{FileChange, NewLines, Tail};
pub use team_watch::{PAUSE, TeamWatch, Wake};

/// Text of a file on one line, without anything that a terminal acts on.
fn one_line(text: &str) -> String {
    terminal_text::one_line(text).into_owned()
}

/// Splits a text that the program has added to a conversation into its tag and its content.
pub fn split_tag(text: &str) -> (Option<&str>, &str) {
    let parts = text.strip_prefix('<').and_then(|rest| {
        let (tag, rest) = rest.split_once('>')?;
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let inside = rest.strip_suffix('>')?.strip_suffix(tag)?;
        let inside = inside.strip_suffix("</")?;
        (!tag.is_empty() && tag.chars().all(is_name)).then_some((tag, inside.trim()))
    });
    match parts {
        Some((tag, inside)) => (Some(tag), inside),
        None => (None, text),
    }
}
