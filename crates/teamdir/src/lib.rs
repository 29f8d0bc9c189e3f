//! The team folder on disk: the only code that touches `.team/`.
//!
//! # Theory of operation
//!
//! Every file belongs to one of four families, and each family has one way to be written:
//!
//! * **Logs many processes append to** (inboxes, events, dead letters): a lock file, one `write`
//!   of a whole line (`append.rs`). Nothing ever shortens them.
//! * **Files that are replaced whole** (roster, requests, tasks, live state): temporary file,
//!   sync, rename, sync of the folder, under a lock where the new text depends on the old.
//! * **The journal of a member**: appended by the one process that holds the member's lock; a
//!   torn end is cut off. Appending a record is the only commit point of mail.
//! * **Locks**: files that are never replaced, held with `flock`, freed by the kernel when their
//!   holder dies.
//!
//! [`Mailbox`] explains how mail gets from an inbox into a journal exactly once.
//!
//! **Invariants:** no other crate joins a path under `.team/`; no inbox is ever shortened; no
//! lock is held while anything slow happens; all waiting is bounded.

mod append;
mod atomic;
mod clock;
mod dead_letters;
mod error;
mod events;
mod file;
mod intake;
mod journal;
mod lease;
mod ledger;
mod leftovers;
mod live_file;
mod lock;
mod mail_state;
mod mailbox;
mod member;
mod member_files;
mod mend;
mod open_lines;
mod outbox;
mod paths;
mod peek;
mod pending_events;
mod post;
mod process;
mod requests;
mod roster;
mod seen;
mod segment;
mod stamp;
mod takeover;
mod tasks;
mod team;
mod trash;
mod watch;

pub use append::AppendError;
pub use clock::now;
pub use error::PathError;
pub use events::EventReader;
pub use intake::Received;
pub use journal::Journal;
pub use ledger::LedgerError;
pub use leftovers::{Leftover, LeftoverError, LeftoverKind};
pub use lock::LockError;
pub use mail_state::MailState;
pub use mailbox::{Delivery, Mailbox, ReceiveError, Settled};
pub use member::{JoinError, Liveness, MemberGuard, StartLock};
pub use mend::{MendError, Mended};
pub use open_lines::{OpenLine, OpenPlace};
pub use outbox::{SendError, Sent, new_message_id};
pub use paths::{FOLDER, Layout};
pub use post::{Post, PostError};
pub use process::is_running;
pub use requests::{RequestError, new_request_id};
pub use roster::RosterError;
pub use takeover::TakeOverError;
pub use tasks::{LockedBoard, TaskError};
pub use team::{Durability, OpenError, Options, TeamDir};
pub use watch::{LOOK_EVERY, NET, PollReason, Watch, WatchChoice, WatchMode};
