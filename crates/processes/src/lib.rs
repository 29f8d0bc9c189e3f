//! Starts, watches and ends the processes of a team.
//!
//! # Theory of operation
//!
//! The operating system decides which members are alive. A member is alive if a process holds its lock. The
//! lock file names that process, and a signal is sent through a handle ([`ProcessHandle`]) that always
//! refers to this one process. No other file overrides this.
//!
//! A process that starts, ends or reaps a member holds the member's start lock. So eight concurrent spawns
//! start one process, and a death that eight processes notice gives one notice. If the holder of the lock
//! is killed, the kernel frees the lock and the next process continues: every step can be repeated.
//!
//! * [`spawn()`] and [`restart()`] are atomic: either the process is ready, or nothing of it is left.
//! * [`repair()`] runs before a team is shown: it reaps deaths, expires requests that can no longer be
//!   answered, releases the tasks of dead members, and finishes their commands.
//! * [`follow_shutdown`] carries a shutdown through, whatever the member does.
//! * [`check_idle()`] reports whether the team has anything left to do.
//!
//! **Invariants:** a process is signalled only if its pid, start time and boot id are those in the lock; an
//! action meant for one incarnation never reaches a later one; every wait has a limit.

mod exit_status;
mod mark;
mod process_handle;
mod reap;
mod remove;
mod repair;
mod restart;
mod shutdown;
mod start;
mod status;
mod unfinished_commands;

pub use mark::mark_of;
pub use process_handle::{ProcessHandle, ProcessHandleError};
pub use reap::recover_events::recover_events;
pub use reap::{ReapError, Reaped, reap};
pub use remove::{RemoveError, remove};
pub use repair::{OrphanClaim, Repairs, orphan_claims, repair};
pub use restart::policy::{GiveUpError, decide_restart, give_up};
pub use restart::{RestartError, restart, restart_dead};
pub use shutdown::kill::{KillError, Killed, kill};
pub use shutdown::{
    EndError, Ended, FollowError, ShutdownAllOptions, follow_shutdown, shut_down_all,
};
pub use start::asked::{AskedSpawn, spawn_asked};
pub use start::launch::LaunchError;
pub use start::programs::{NoTeammate, Programs};
pub use start::spawn::{SpawnError, Spawned, spawn};
pub use start::start_lock::StartGuardError;
pub use status::host_view::{HostLink, HostView, host_link, host_views};
pub use status::idle_check::{IdleCheck, check_idle};
pub use status::member_view::{MemberView, ViewError, member_view, member_views};
pub use status::progress::{
    BrokenMember, Progress, Quiet, TaskCount, all_tasks_completed, quiet, stuck_text,
};
pub use status::unread::unread;
pub use unfinished_commands::unfinished_commands;
