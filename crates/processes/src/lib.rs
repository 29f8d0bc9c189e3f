//! The processes of a team: starting, watching and ending them.
//!
//! # Theory of operation
//!
//! The operating system is the witness. A member lives if a process holds its lock; which process
//! that is stands in the lock; a signal goes through a handle ([`ProcessHandle`]) that means this one
//! process for ever. No word in a file is believed against that.
//!
//! Whoever starts, ends or reaps a member's process holds its life lock meanwhile. That makes one
//! process of eight spawns at once, and one notice of a death that eight processes see at once. The
//! kernel frees the lock of whoever is killed, and the next who looks goes on: the steps are in an
//! order in which each can be repeated.
//!
//! * [`spawn()`] and [`restart()`] are all or nothing: the process is ready, or nothing of it is left.
//! * [`repair()`] is what everybody does who looks at a team: deaths are reaped, requests that nobody
//!   can answer end, tasks of the dead go back.
//! * [`follow_shutdown`] carries a shutdown to its end, whatever the member does.
//! * [`quiet()`] tells whether there is anything left to wait for.
//!
//! **Invariants:** a process is only signalled if pid, start time and boot are those in the lock; a
//! later life is never touched by what was meant for an earlier one; all waiting is bounded.

mod answers;
mod claims;
mod end;
mod launch;
mod mark;
mod member_spec;
mod policy;
mod process_handle;
mod programs;
mod quiet;
mod reap;
mod recover_events;
mod repair;
mod restart;
mod roll_back;
mod shutdown;
mod spawn;
mod start_lock;
mod unread;
mod view;

pub use end::{KillError, Killed, kill};
pub use launch::LaunchError;
pub use mark::mark_of;
pub use member_spec::MemberSpec;
pub use policy::{GiveUpError, decide_restart, give_up};
pub use process_handle::{ProcessHandle, ProcessHandleError};
pub use programs::{NoTeammate, Programs};
pub use quiet::{Quiet, quiet};
pub use reap::{ReapError, Reaped, reap};
pub use recover_events::recover_events;
pub use repair::{OrphanClaim, Repairs, orphan_claims, repair};
pub use restart::{Cause, RestartError, restart};
pub use shutdown::{EndError, Ended, FollowError, LastWish, follow_shutdown, shut_down_all};
pub use spawn::{SpawnError, Spawned, spawn};
pub use start_lock::StartGuardError;
pub use unread::unread;
pub use view::{MemberView, ViewError, view, views};
