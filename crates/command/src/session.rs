//! Which session a process belongs to.

use nix::unistd::{Pid, getsid};

/// The number of the session of a process, or `None` if there is no such process.
///
/// Zero means a session whose leader is outside this pid namespace, as that of a command that was
/// started from outside into a container.
#[must_use]
pub fn session_of(pid: Pid) -> Option<i32> {
    getsid(Some(pid)).ok().map(Pid::as_raw)
}
