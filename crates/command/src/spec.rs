//! What is to be run, and within which limits.

use std::path::PathBuf;
use std::time::Duration;

/// A shell command and its limits.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The text for the shell.
    pub command: String,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// The value of [`MARK`](crate::MARK) in its environment. It should be unique on the machine.
    pub mark: String,
    /// How long it may run.
    pub limit: Duration,
    /// How long its processes have to end after SIGTERM before they get SIGKILL.
    pub grace: Duration,
    /// How many bytes of output are kept in memory, half of them from the start and half from the
    /// end.
    pub memory: usize,
    /// Where the whole output goes.
    pub save: Save,
}

impl Spec {
    /// A command with a limit of two minutes, a grace of 300 ms and 256 KiB of output in memory.
    pub fn new(command: &str, folder: impl Into<PathBuf>, mark: &str, save: Save) -> Self {
        Self {
            command: command.to_owned(),
            folder: folder.into(),
            mark: mark.to_owned(),
            limit: Duration::from_secs(120),
            grace: Duration::from_millis(300),
            memory: 256 * 1024,
            save,
        }
    }

    /// The same command with another wall-clock limit.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// Where the whole output of a command is written to.
#[derive(Clone, Debug)]
pub struct Save {
    /// A file that does not exist yet, in a folder that does.
    pub path: PathBuf,
    /// Whether it is always written.
    pub when: SaveWhen,
    /// How many bytes are written at most; what comes after them is only counted.
    pub most: u64,
}

impl Save {
    /// The file for a command that may write a lot: 64 MiB of it are kept.
    pub fn new(path: impl Into<PathBuf>, when: SaveWhen) -> Self {
        Self {
            path: path.into(),
            when,
            most: 64 * 1024 * 1024,
        }
    }
}

/// When the file of a [`Save`] is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveWhen {
    /// As soon as the output does not fit in memory.
    Large,
    /// From the first byte on, so that others can follow it.
    Always,
}
