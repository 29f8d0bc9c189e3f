//! A command and its limits.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Description, Layers};

/// A shell command and its limits.
#[derive(Clone, Debug)]
pub struct Spec {
    pub command: String,
    /// The working directory.
    pub folder: PathBuf,
    /// The value of [`MARK`](crate::MARK) in its environment. It should be unique on the machine.
    pub mark: String,
    /// The wall-clock limit.
    pub limit: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The number of bytes of output kept in memory, half from the start and half from the end.
    pub memory: usize,
    /// Where the complete output is written.
    pub save: Save,
    pub surroundings: Surroundings,
}

/// What a command runs in. The variable [`MARK`](crate::MARK) is added to each environment.
#[derive(Clone, Debug)]
pub enum Surroundings {
    /// The environment of this process, and all its rights.
    Inherited,
    /// These variables, and all rights of this process.
    Environment(Vec<(OsString, OsString)>),
    /// A sandbox, which also says what the environment and the working folder are.
    Sandbox {
        description: Box<Description>,
        layers: &'static Layers,
        /// What the proxy of the command does, with [`Network::Proxy`](sandbox::Network::Proxy).
        proxy: Option<ProxySpec>,
    },
}

/// The proxy of a command.
#[derive(Clone)]
pub struct ProxySpec(pub Arc<dyn Fn() -> proxy::Policy + Send + Sync>);

impl fmt::Debug for ProxySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySpec")
    }
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
            surroundings: Surroundings::Inherited,
        }
    }

    /// The same command with another wall-clock limit.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// The file for the complete output of a command.
#[derive(Clone, Debug)]
pub struct Save {
    /// A file that does not exist yet, in a folder that does.
    pub path: PathBuf,
    pub when: SaveWhen,
    /// The maximum number of bytes to write; further output is only counted.
    pub max_bytes: u64,
}

impl Save {
    /// A file of up to 64 MiB.
    pub fn new(path: impl Into<PathBuf>, when: SaveWhen) -> Self {
        Self {
            path: path.into(),
            when,
            max_bytes: 64 * 1024 * 1024,
        }
    }
}

/// When the file of a [`Save`] is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveWhen {
    /// When the output does not fit in memory.
    Large,
    /// From the first byte, so that others can follow it.
    Always,
}
