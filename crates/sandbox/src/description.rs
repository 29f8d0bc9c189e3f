//! What a command may see, change and use.

use std::ffi::OsString;
use std::path::PathBuf;

/// The description of a sandbox. Nothing is visible or writable that is not listed here, apart from
/// `/proc` (its own processes only), a minimal `/dev` and a private `/tmp`.
///
/// All paths are absolute. A listed path that does not exist is ignored, except `folder` and the
/// writable ones. Where two lists speak of nested paths, the longer path decides.
#[derive(Clone, Debug)]
pub struct Description {
    /// The working folder. It must lie in a readable or writable path.
    pub folder: PathBuf,
    /// Visible, with everything below, and not writable.
    pub readable: Vec<PathBuf>,
    /// Visible and writable, with everything below.
    pub writable: Vec<PathBuf>,
    /// Inside a writable path, but neither writable nor removable.
    pub read_only: Vec<PathBuf>,
    /// Inside a readable or writable path, but empty: their content cannot be read or changed.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that are created, if they are missing, before the command starts. A mount
    /// can only protect a name that exists. Each should be listed in `read_only` as well.
    pub placeholders: Vec<Placeholder>,
    /// Names that do not exist and that the command must not leave behind. No layer can refuse
    /// them; [`Session::created`](crate::Session::created) finds them afterwards.
    pub unwanted: Vec<PathBuf>,
    /// A folder in which the command must not leave new files with variables, such as
    /// `.env.production`. There are too many names for them to be listed as unwanted.
    pub variables_unwanted_in: Option<PathBuf>,
    /// Repositories of git (`.git`) in writable paths. What makes git outside run code in their
    /// submodules and linked work trees, and in files that their settings name, is protected; the
    /// settings and hooks of the repositories themselves should be listed in `read_only`.
    pub repositories: Vec<PathBuf>,
    /// A file that does not exist yet, in a folder that does. While the command runs it says what existed
    /// before, so that [`Unfinished`](crate::Unfinished) can look for the new names if the caller is killed. Paths
    /// that are not below `folder` are left out. The whole folder of the file is hidden from the command.
    pub record: Option<PathBuf>,
    pub network: Network,
    /// The whole environment of the command.
    pub environment: Vec<(OsString, OsString)>,
    pub limits: Limits,
}

impl Description {
    /// A sandbox that starts in this folder and has nothing else: no files, no network, no variables.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            readable: Vec::new(),
            writable: Vec::new(),
            read_only: Vec::new(),
            hidden: Vec::new(),
            placeholders: Vec::new(),
            unwanted: Vec::new(),
            variables_unwanted_in: None,
            repositories: Vec::new(),
            record: None,
            network: Network::Off,
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// A file or folder that is created so that it can be protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    pub path: PathBuf,
    pub content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Folder,
    File(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// No network but a loopback interface of its own.
    Off,
    /// The network of the machine, its loopback interface included.
    On,
    /// No network but a loopback interface of its own, on which somebody outside serves
    /// [`PROXY`](crate::PROXY): [`Session::listener`](crate::Session::listener) is the socket, and
    /// whoever accepts its connections decides what is reached. Only with namespaces.
    Proxy,
}

/// Resource limits. `None` leaves the caller's limit as it is. Core dumps are always off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads of the command together. Only in force with namespaces of its own,
    /// because the kernel counts all processes of the user otherwise, and never for root.
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// The length of one file in bytes.
    pub file_bytes: Option<u64>,
    /// The address space of one process in bytes.
    pub memory_bytes: Option<u64>,
    /// The size of the private `/tmp` in bytes. Only in force with namespaces of its own.
    pub tmp_bytes: Option<u64>,
}
