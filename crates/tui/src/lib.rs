//! The team as a picture: its history replayed, and the full-screen view.
//!
//! # Theory of operation
//!
//! [`Replay`] folds the event log into what it adds up to: roster, board, mail.
//!
//! [`Screen`] is the state of the full-screen view. Whoever runs it feeds it with [`Input`]: keys, a
//! new [`look()`] at the team, lines of history ([`flow()`]), of a [`Conversation`] or a log, the time. It
//! answers with [`Effect`]s. Commands are those of the command line: `Run(["approve", ...])` means what typing it
//! means. [`Screen::draw`] draws the state on any terminal of `ratatui`, a test's included.
//!
//! [`watch`] is the skin around it: a real terminal, files, processes and signals.
//!
//! **Invariants:** [`Screen`] reads no file, clock or key, and draws the same state the same way;
//! no control character of a file reaches a terminal.

mod conversation;
mod flow;
mod harmless;
mod look;
mod replay;
mod screen;
mod terminal;

pub use conversation::Conversation;
pub use flow::flow;
pub use harmless::harmless;
pub use look::{Look, MemberRow, RequestRow, TaskRow, look};
pub use replay::{Mail, MemberHistory, Replay, Work};
pub use screen::{Effect, Input, Key, Pane, Screen};
pub use terminal::{FullScreen, Left, WatchError, WatchOptions, watch};
