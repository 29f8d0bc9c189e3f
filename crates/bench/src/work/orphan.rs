//! A child that was forked and has not executed its program yet, as a kill of its parent may leave one.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Starts a child that has all descriptors of this process until somebody has opened the pipe `gate` for
/// writing and closed it. This process waits for that too, and can be killed meanwhile.
pub(super) fn start(gate: &Path) -> anyhow::Result<()> {
    let gate = CString::new(gate.as_os_str().as_bytes())?;
    let wait = move || {
        let mut byte = 0u8;
        // SAFETY: plain system calls on memory that was made before the fork. The end of the pipe is what
        // is waited for.
        let read = unsafe {
            let gate = libc::open(gate.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            libc::read(gate, (&raw mut byte).cast(), 1)
        };
        match read {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let mut command = Command::new("true");
    // SAFETY: as the closure says.
    unsafe {
        command.pre_exec(wait);
    }
    command.spawn()?.wait()?;
    Ok(())
}
