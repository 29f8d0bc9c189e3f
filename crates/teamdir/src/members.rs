//! The files of one member.
//!
//! * `lock`: the member lock, which makes one process the member and shows others that it runs.
//! * `journal`: the member's journal, whose append is the commit point of its mail.
//! * `read_journal`: reading it, with or without the parts that were cut off.
//! * `live_file`: the file with the member's current state.
//! * `engine_file`: what the member keeps of its engine.
//! * `exit_file`: the file that says how the member's last process ended.
//! * `todo`: the to-do list that the member keeps for itself.
//! * `sessions`: the conversations that a lead has left.
//! * `log`: the log file.
//! * `removal`: removing all of them.
//! * `session`: all of these together, opened in the one safe order.

mod engine_file;
mod exit_file;
pub(crate) mod journal;
mod journal_end;
pub(crate) mod journal_lines;
pub(crate) mod live_file;
pub(crate) mod lock;
mod log;
mod read_journal;
mod removal;
pub(crate) mod session;
mod sessions;
mod todo;

pub use journal::{CutError, Journal};
pub use lock::{JoinError, Liveness, MemberGuard, StartLock};
pub use removal::{InboxLock, TrashError};
pub use session::{MemberSession, SessionError};
pub use sessions::new_session_id;
