//! The error of a file operation: the operation, the path and the cause.

use safe_open::Refusal;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file operation failed.
#[derive(Debug)]
pub struct PathError {
    action: &'static str,
    path: PathBuf,
    cause: io::Error,
}

impl PathError {
    /// The path the operation was about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the cause.
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }

    /// Whether there was no room for what was to be written, which may pass by itself.
    pub fn is_full(&self) -> bool {
        matches!(
            self.cause.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    /// What was found in the place of the file, if that is why.
    pub fn refusal(&self) -> Option<&Refusal> {
        Refusal::of(&self.cause)
    }

    pub(crate) fn new(action: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_path_buf();
        Self {
            action,
            path,
            cause,
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            path,
            cause,
        } = self;
        write!(f, "cannot {action} {}: {cause}", path.display())?;
        // The bare system message does not say what to do about it.
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                f.write_str("; free some space and try again")
            }
            io::ErrorKind::PermissionDenied => f.write_str("; check who owns the folder"),
            io::ErrorKind::ReadOnlyFilesystem => f.write_str("; the folder must be writable"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for PathError {}

/// Adds action and path to an `io::Result`.
pub(crate) trait Context<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, PathError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, PathError> {
        self.map_err(|cause| PathError::new(action, path, cause.into()))
    }
}
