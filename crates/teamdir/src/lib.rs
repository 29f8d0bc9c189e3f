//! The team folder on disk: the only code that touches `.team/`.
//!
//! # Theory of operation
//!
//! Every file belongs to one of four families, and each family has one way to be written:
//!
//! * **Logs many processes append to** (inboxes, events, notes, dead letters): a lock file, one `write`
//!   of a whole line (`append.rs`). Nothing ever shortens them. Senders to an inbox hold its lock together
//!   (`inbox_writer.rs`) and share syncs (`shared_sync.rs`).
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
//! lock is held while anything slow happens, but that of a shared sync, which nobody waits for; all
//! waiting is bounded.

mod board;
mod bridge;
mod clock;
mod error;
mod events;
mod files;
mod grants;
mod layout;
mod locks;
mod mail;
mod members;
mod notes;
mod repair;
mod requests;
mod roster;
mod submissions;
mod team_dir;
mod team_files;
mod watch;

// The folder.
pub use layout::{FOLDER, Layout};
pub use team_dir::{Durability, OpenError, Options, TeamDir, locate};

// Its parts, as a process meets them.
pub use members::{
    CutError, InboxLock, JoinError, Journal, Liveness, MemberGuard, MemberSession, SessionError,
    StartLock, TrashError, new_session_id,
};
pub use roster::RosterError;

pub use mail::{
    CommitHook, Delivery, ForwardHook, MailState, Mailbox, ReceiveError, SendError, Sent,
    UnsyncedInboxes, WaitPlan, new_message_id,
};
pub use watch::{
    Changes, FolderWatch, MAX_SLEEP, POLL_INTERVAL, PollReason, WatchChoice, WatchMode, Watcher,
};

pub use board::{BoardPlace, LockedBoard, TaskError};
pub use bridge::{
    BridgeGuard, IncomingBundle, NewPart, Notes, Outbox, OutboxError, PartError, Space, SpawnGuard,
};
pub use events::{EventPosition, EventReader};
pub use grants::GrantsReader;
pub use notes::{NOTES_LIMIT, NotesRead, new_note_id};
pub use requests::{RequestError, new_request_id};
pub use submissions::{IntegrationGuard, SubmissionError};
pub use team_files::TeamFileError;

// What all of them use.
pub use clock::now;
pub use error::PathError;
pub use files::append::AppendError;
pub use locks::{LockError, is_running};

// Finding and repairing damage.
pub use repair::old_files::Retention;
pub use repair::ownership::OwnershipError;
pub use repair::stale_files::{StaleFile, StaleFileError, StaleFileKind};
pub use repair::unfinished_lines::{LogFile, UnfinishedLine};
pub use repair::{RepairError, Repaired};
