//! Why a file was not opened or read.

use nix::errno::Errno;
use std::fmt;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A file was not opened or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {}: {cause}", path.display())]
pub struct OpenError {
    path: PathBuf,
    cause: Cause,
}

impl OpenError {
    pub(crate) fn new(path: &Path, cause: Cause) -> Self {
        let path = path.to_path_buf();
        Self { path, cause }
    }

    /// The file that was to be opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it was not.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// What was found in its place, if that is why.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.cause {
            Cause::Refused(refusal) => Some(refusal),
            Cause::System(_) => None,
        }
    }

    /// Whether there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(&self.cause, Cause::System(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        error.cause.into()
    }
}

/// The system's error, or what was found in the place of the file.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<Errno> for Cause {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<Cause> for io::Error {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::System(error) => error,
            Cause::Refused(refusal) => refusal.into(),
        }
    }
}

/// What is not accepted in the place of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "{} is a symbolic link, and none is followed here; put the real one in its place",
        .0.display()
    )]
    Link(PathBuf),
    #[error("it is {0}, not a regular file; move it away and try again")]
    NotRegular(Kind),
    #[error(
        "it has {size} bytes, and at most {limit} are read; move it away, or shorten it, and try again"
    )]
    TooLarge { size: u64, limit: u64 },
    #[error(
        "it has {0} names (hard links), and what is written here would change there too; put a copy \
         in its place"
    )]
    SeveralNames(u64),
}

impl Refusal {
    /// The refusal in an error that came through `std::io`.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|cause| cause.downcast_ref())
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            Refusal::Link(_) | Refusal::NotRegular(_) | Refusal::SeveralNames(_) => {
                io::ErrorKind::InvalidInput
            }
        };
        Self::new(kind, refusal)
    }
}

/// What a file is, if it is not a regular one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Folder,
    Fifo,
    Socket,
    Device,
    Link,
    Other,
}

impl Kind {
    pub fn of(found: FileType) -> Self {
        if found.is_dir() {
            Self::Folder
        } else if found.is_fifo() {
            Self::Fifo
        } else if found.is_socket() {
            Self::Socket
        } else if found.is_block_device() || found.is_char_device() {
            Self::Device
        } else if found.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Link => "a symbolic link",
            Self::Other => "something else",
        })
    }
}
