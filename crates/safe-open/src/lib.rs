//! Opens a file that somebody else may have put there.
//!
//! Whoever can write a folder can put a FIFO, a device, a link or a file of three gigabytes in the
//! place of the file that a program expects. Here, opening never waits, only a regular file is
//! accepted, reading a whole file has a limit, and symbolic links are followed only where the caller
//! says so. What is known of the file (its size, its owner) comes from the opened descriptor, so it
//! cannot be exchanged between the check and the use.

mod error;
mod folder;
mod resolve;

pub use error::{Cause, Kind, OpenError, Refusal};
pub use folder::Folder;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::Mode;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What becomes of symbolic links on the way to a file, its last component included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Any link is an error.
    Refuse,
    /// They are followed, as `open` does.
    Follow,
}

/// How a file is opened. The descriptor is closed on exec, and a new file is private to the user.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    links: Links,
    flags: OFlag,
    mode: Mode,
}

/// An opened regular file.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    /// The metadata of the opened descriptor.
    pub metadata: Metadata,
}

impl Opened {
    /// The user that owns the file.
    pub fn owner(&self) -> u32 {
        self.metadata.uid()
    }

    /// Takes the file for a program that inherits it: without `O_NONBLOCK`, which means nothing for a
    /// regular file but is visible to the program.
    pub fn for_child(self) -> io::Result<File> {
        let flags = OFlag::from_bits_retain(fcntl(&self.file, FcntlArg::F_GETFL)?);
        fcntl(&self.file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
        Ok(self.file)
    }
}

/// A whole file.
#[derive(Debug)]
pub struct Contents {
    pub bytes: Vec<u8>,
    /// The metadata of the descriptor that was read.
    pub metadata: Metadata,
}

impl Contents {
    /// The user that owns the file.
    pub fn owner(&self) -> u32 {
        self.metadata.uid()
    }
}

impl Options {
    /// Options for reading.
    pub fn read(links: Links) -> Self {
        Self::with(links, OFlag::O_RDONLY)
    }

    /// Options for reading, and for writing at any position.
    pub fn write(links: Links) -> Self {
        Self::with(links, OFlag::O_RDWR)
    }

    /// Options for reading, and for writing at the end only.
    pub fn append(links: Links) -> Self {
        Self::with(links, OFlag::O_RDWR | OFlag::O_APPEND)
    }

    fn with(links: Links, flags: OFlag) -> Self {
        // A terminal in the place of the file must not become the controlling one.
        let always = OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        Self {
            links,
            flags: flags | always,
            mode: Mode::empty(),
        }
    }

    /// Creates the file if there is none.
    #[must_use]
    pub fn create(mut self) -> Self {
        self.flags |= OFlag::O_CREAT;
        self.mode = Mode::S_IRUSR | Mode::S_IWUSR;
        self
    }

    /// Creates the file, and fails if there is one.
    #[must_use]
    pub fn create_new(self) -> Self {
        let mut options = self.create();
        options.flags |= OFlag::O_EXCL;
        options
    }

    /// Leaves the time of the last access as it is when the file is read, if the file is the user's own:
    /// others may not. A file that is written all the time would otherwise get a new one with each read, which
    /// is one more change of its inode.
    #[must_use]
    pub fn keep_access_time(mut self) -> Self {
        self.flags |= OFlag::O_NOATIME;
        self
    }

    /// Opens the file.
    pub fn open(self, path: &Path) -> Result<Opened, OpenError> {
        let fail = |cause| OpenError::new(path, cause);
        let resolve = |flags| resolve::open(None, path, flags, self.mode, self.links);
        let descriptor = match resolve(self.flags) {
            Err(Errno::EPERM) if self.flags.contains(OFlag::O_NOATIME) => {
                resolve(self.flags - OFlag::O_NOATIME)
            }
            opened => opened,
        };
        let descriptor = descriptor.map_err(|error| fail(explain(path, error, self.links)))?;
        let file = File::from(descriptor);
        let metadata = file.metadata().map_err(|error| fail(error.into()))?;
        if !metadata.is_file() {
            let kind = Kind::of(metadata.file_type());
            return Err(fail(Refusal::NotRegular(kind).into()));
        }
        Ok(Opened { file, metadata })
    }
}

impl Opened {
    /// Refuses a file that has other names besides this one: whoever gave it one of them may be
    /// somebody else, and what is written here appears there.
    pub fn with_one_name(self) -> Result<Self, Refusal> {
        match self.metadata.nlink() {
            // A file that was deleted after it was opened has no name left.
            0 | 1 => Ok(self),
            names => Err(Refusal::SeveralNames(names)),
        }
    }
}

/// Reads a whole file of at most `limit` bytes.
pub fn read(path: &Path, links: Links, limit: u64) -> Result<Contents, OpenError> {
    let opened = Options::read(links).open(path)?;
    let bytes = read_opened(&opened, limit).map_err(|cause| OpenError::new(path, cause))?;
    let metadata = opened.metadata;
    Ok(Contents { bytes, metadata })
}

/// Reads a whole file of UTF-8 of at most `limit` bytes.
pub fn read_to_string(path: &Path, links: Links, limit: u64) -> Result<String, OpenError> {
    let contents = read(path, links, limit)?;
    String::from_utf8(contents.bytes).map_err(|error| {
        let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        OpenError::new(path, error.into())
    })
}

/// Reads an opened file from its current position to its end.
pub fn read_opened(opened: &Opened, limit: u64) -> Result<Vec<u8>, Cause> {
    let size = opened.metadata.len();
    if size > limit {
        return Err(Refusal::TooLarge { size, limit }.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // The file may grow while it is read.
    (&opened.file)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit {
        return Err(Refusal::TooLarge { size, limit }.into());
    }
    Ok(bytes)
}

/// Turns an error of the system into a [`Cause`] that says what was found in the place of the file.
fn explain(path: &Path, error: Errno, links: Links) -> Cause {
    match error {
        Errno::ELOOP if links == Links::Refuse => match resolve::first_link(path) {
            Some(at) => Refusal::Link(at).into(),
            None => error.into(),
        },
        // The system says so when a file is opened for writing, or is a socket. There is no descriptor to
        // inspect then.
        Errno::ENXIO | Errno::EISDIR | Errno::ENODEV | Errno::EOPNOTSUPP => {
            let found = match links {
                Links::Refuse => path.symlink_metadata(),
                Links::Follow => path.metadata(),
            };
            match found {
                Ok(found) if !found.is_file() => {
                    Refusal::NotRegular(Kind::of(found.file_type())).into()
                }
                _ => error.into(),
            }
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests;
