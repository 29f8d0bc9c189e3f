//! Why a path cannot be used. The texts are for the model.

use std::io;

use nix::errno::Errno;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("Path escapes workspace: {0}")]
    Escapes(String),
    #[error("Path is empty")]
    Empty,
    #[error("Path contains a NUL byte: {0:?}")]
    Nul(String),
    /// It is a protected path or below one.
    #[error("{path} cannot be written: the file tools must not change {protected}")]
    Protected { path: String, protected: String },
    /// It holds keys or passwords.
    #[error("{0} cannot be read: it holds secrets; ask a person for what you need of it")]
    Secret(String),
    #[error("{0} cannot be used: a rule of the team denies it")]
    Denied(String),
    /// What was allowed is a path without links.
    #[error("{path} was not used: {link} is a link to {target}; give the path that it leads to")]
    Link {
        path: String,
        link: String,
        target: String,
    },
    /// It is a folder, or ends in a slash.
    #[error("{0} is a folder, not a file")]
    IsFolder(String),
    /// A part of it that should be a folder is a file.
    #[error("Not a folder: {0}")]
    NotAFolder(String),
    #[error("{path} is {kind}, not a regular file")]
    Special { path: String, kind: &'static str },
    #[error("{0} has changed since it was read; read it again")]
    Changed(String),
    #[error("{0} exists and you have not read it; read it with read_file before you replace it")]
    Exists(String),
    #[error("{0} is being changed by another process; try again")]
    Busy(String),
    #[error("File not found: {0}")]
    NotFound(String),
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
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
