//! Which session a process belongs to.

use rustix::process::Pid;

/// The number of the session of a process, or `None` if there is no such process.
///
/// Zero means a session whose leader lives outside this pid namespace, as that of a command that was
/// started from outside into a container. `rustix::process::getsid` has no word for that and panics.
#[must_use]
pub fn session_of(pid: Pid) -> Option<i32> {
    // SAFETY: getsid takes a number and touches no memory of ours.
    let session = unsafe { libc::getsid(pid.as_raw_nonzero().get()) };
    (session >= 0).then_some(session)
}
