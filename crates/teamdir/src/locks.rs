//! Locks between processes, and who holds them.
//!
//! * `file_lock`: a `flock` on a file that is never replaced, with a bounded wait.
//! * `lease`: whether any process has a file open for writing.
//! * `process`: whether the process named in a lock file still runs.

mod file_lock;
mod lease;
mod process;

pub use file_lock::LockError;
pub use process::is_running;

pub(crate) use file_lock::{FileLock, SharedLock, is_at};
pub(crate) use lease::has_no_writer;
