//! Why a path cannot be used. The texts are for the model.

use std::io;

use rustix::io::Errno;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It leads out of the workspace.
    #[error("Path escapes workspace: {0}")]
    Escapes(String),
    /// It has no characters.
    #[error("Path is empty")]
    Empty,
    /// No file name can have a NUL byte.
    #[error("Path contains a NUL byte: {0:?}")]
    Nul(String),
    /// It is, or lies below, a protected path.
    #[error("{path} cannot be written: the file tools must not change {protected}")]
    Protected {
        /// The path.
        path: String,
        /// The protected path.
        protected: String,
    },
    /// It is a folder, or is written like one.
    #[error("{0} is a folder, not a file")]
    IsFolder(String),
    /// A part of it that should be a folder is a file.
    #[error("Not a folder on the way: {0}")]
    NotAFolder(String),
    /// It is neither a file nor a folder.
    #[error("{path} is {kind}, not a regular file")]
    Special {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// Somebody else has changed it in between.
    #[error("{0} was changed by somebody else in the meantime; read it again")]
    Changed(String),
    /// There is nothing.
    #[error("File not found: {0}")]
    NotFound(String),
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl PathError {
    pub(crate) fn io(path: &str, error: impl Into<io::Error>) -> Self {
        let source = error.into();
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::NotADirectory => Self::NotAFolder(path),
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn errno(path: &str) -> impl Fn(Errno) -> Self {
        move |error| Self::io(path, error)
    }
}
