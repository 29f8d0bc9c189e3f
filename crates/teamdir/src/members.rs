//! The files of one member.
//!
//! * `lock`: the member lock, which makes one process the member and shows others that it runs.
//! * `journal`: the member's journal, whose append is the commit point of its mail.
//! * `live_file`: the file with the member's current state.
//! * `log`: the log file and the archived conversations.
//! * `session`: all of these together, opened in the one safe order.

pub(crate) mod journal;
pub(crate) mod journal_lines;
pub(crate) mod live_file;
pub(crate) mod lock;
mod log;
pub(crate) mod session;

pub use journal::Journal;
pub use lock::{JoinError, Liveness, MemberGuard, StartLock};
pub use session::{MemberSession, SessionError};
