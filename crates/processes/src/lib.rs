//! The processes of a team: starting, watching and ending them.
//!
//! # Theory of operation
//!
//! The operating system decides which members are alive. A member is alive if a process holds its lock; the
//! lock file says which process that is; a signal goes through a handle ([`ProcessHandle`]) that means this
//! one process for ever. No file is believed against that.
//!
//! Whoever starts, ends or reaps a member's process holds its start lock meanwhile. That makes one
//! process of eight spawns at once, and one notice of a death that eight processes see at once. The
//! kernel frees the lock of whoever is killed, and the next process that checks goes on: the steps are in an
//! order in which each can be repeated.
//!
//! * [`spawn()`] and [`restart()`] are all or nothing: the process is ready, or nothing of it is left.
//! * [`repair()`] is what everybody does who looks at a team: deaths are reaped, requests that nobody
//!   can answer end, tasks of the dead go back.
//! * [`follow_shutdown`] carries a shutdown to its end, whatever the member does.
//! * [`check_idle()`] tells whether there is anything left to wait for.
//!
//! **Invariants:** a process is only signalled if pid, start time and boot are those in the lock; a
//! later incarnation is never touched by what was meant for an earlier one; all waiting is bounded.

mod mark;
mod process_handle;
mod reap;
mod repair;
mod restart;
mod shutdown;
mod start;
mod status;

pub use mark::mark_of;
pub use process_handle::{ProcessHandle, ProcessHandleError};
pub use reap::recover_events::recover_events;
pub use reap::{ReapError, Reaped, reap};
pub use repair::{OrphanClaim, Repairs, orphan_claims, repair};
pub use restart::policy::{GiveUpError, decide_restart, give_up};
pub use restart::{Cause, RestartError, restart};
pub use shutdown::kill::{KillError, Killed, kill};
pub use shutdown::{
    EndError, Ended, FollowError, ShutdownAllOptions, follow_shutdown, shut_down_all,
};
pub use start::launch::LaunchError;
pub use start::member_spec::MemberSpec;
pub use start::programs::{NoTeammate, Programs};
pub use start::spawn::{SpawnError, Spawned, spawn};
pub use start::start_lock::StartGuardError;
pub use status::idle_check::{IdleCheck, check_idle};
pub use status::member_view::{MemberView, ViewError, member_view, member_views};
pub use status::unread::unread;
