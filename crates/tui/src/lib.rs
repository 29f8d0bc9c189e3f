//! The full-screen view of a team.
//!
//! # Theory of operation
//!
//! [`Screen`] is the state of the full-screen view. It handles [`Input`]: keys, a new
//! [`Snapshot`](overview::Snapshot) of the team, lines of the event log, of a [`Conversation`] or a log, and the time. It
//! returns [`Effect`]s. Commands are those of the command line: `Run(["approve", ...])` does the same
//! as typing it. [`Screen::draw`] draws the state on any `ratatui` terminal, including that of a test.
//!
//! [`watch`] connects it to a real terminal, files, processes and signals.
//!
//! **Invariants:** [`Screen`] reads no file, clock or key, and draws the same state the same way;
//! no control character of a file reaches a terminal.

mod conversation;
mod screen;
mod terminal;
mod text_line;

pub use conversation::Conversation;
pub use screen::{Effect, Input, Key, MouseInput, Pane, Screen};
pub use terminal::{Exit, FullScreen, WatchError, WatchOptions, watch};
pub use text_line::{LineKind, TextLine};

/// Text of a file on one line, without anything that a terminal acts on.
fn one_line(text: &str) -> String {
    terminal_text::one_line(text).into_owned()
}
