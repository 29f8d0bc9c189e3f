//! Memory that the start of a process needed and that it does not need any more.

/// Gives freed memory back to the system. The allocator keeps it otherwise, and a team has many members that
/// mostly wait.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number, and may be made at any time by any thread.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
