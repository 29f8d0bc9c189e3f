//! What a server keeps in the user's state folder: its address, its sessions, and the token of the next login.
//!
//! `web/<hash of the workspace's path>.json`, `.token` and `.lock`, private to the user. The sandboxes of
//! members do not show this folder. Files are replaced whole under a lock, so that a kill leaves the old or the
//! new one.

use crate::secret::{self, Secret};
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use protocol::Timestamp;
use safe_open::Links;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "web";
const MAX_BYTES: u64 = 1 << 20;
/// How many sessions there are at most; the one that was used longest ago gives way.
const MAX_SESSIONS: usize = 32;

/// Why the files of a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no folder for the sessions: set HOME or XDG_STATE_HOME")]
    NoFolder,
    #[error("{}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    #[error("another server shows this team at {0}")]
    Held(String),
}

/// What is kept about the server of one workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    pub workspace: PathBuf,
    /// Where the server listens, or has listened last, as in `127.0.0.1:41234`.
    pub address: String,
    pub sessions: Vec<Session>,
    /// What the keys of the sessions are made from, with their cookies.
    #[serde(default)]
    pub(crate) seed: String,
}

/// A browser that has exchanged a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Short enough to type. It opens nothing.
    pub id: String,
    /// The person, as answers and events name them.
    pub person: String,
    /// The browser, by its own account.
    pub agent: String,
    pub created: Timestamp,
    pub used: Timestamp,
    /// The hash of the cookie.
    pub cookie: String,
}

/// The files of the server of one workspace.
#[derive(Debug, Clone)]
pub struct Store {
    workspace: PathBuf,
    /// The path without an ending.
    stem: PathBuf,
}

/// Held while a server runs.
#[derive(Debug)]
pub(crate) struct ServerLock {
    _file: File,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |cause| StoreError::File { path, cause }
}

impl Store {
    /// The files for a workspace, in the program's folder for the user's state.
    pub fn new(state: Option<PathBuf>, workspace: &Path) -> Result<Self, StoreError> {
        let folder = state.ok_or(StoreError::NoFolder)?.join(FOLDER);
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(failed(&folder))?;
        let found = folder.symlink_metadata().map_err(failed(&folder))?;
        if found.uid() != geteuid().as_raw() {
            return Err(StoreError::Foreign(folder));
        }
        let workspace = workspace.canonicalize().map_err(failed(workspace))?;
        let name = secret::hash(&workspace.to_string_lossy());
        let name: String = name.chars().take(32).collect();
        Ok(Self {
            stem: folder.join(name),
            workspace,
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.stem.with_extension("json")
    }

    /// The file with the token of the next login.
    pub fn token_path(&self) -> PathBuf {
        self.stem.with_extension("token")
    }

    /// A page for `--open` that leads a browser to the server, so that no command line shows the token.
    pub(crate) fn opening_path(&self) -> PathBuf {
        self.stem.with_extension("html")
    }

    /// Refuses a second server of the same team.
    pub(crate) fn lock(&self) -> Result<ServerLock, StoreError> {
        let path = self.stem.with_extension("lock");
        let file = private_file(&path).map_err(failed(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(ServerLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Held(self.read()?.address)),
            Err(TryLockError::Error(error)) => Err(failed(&path)(error)),
        }
    }

    /// Whether a server runs.
    pub fn is_served(&self) -> bool {
        matches!(self.lock(), Err(StoreError::Held(_)))
    }

    /// What is kept. Without a file, and where it is damaged, that is nothing.
    pub fn read(&self) -> Result<Stored, StoreError> {
        let path = self.path();
        let nothing = Stored {
            workspace: self.workspace.clone(),
            ..Stored::default()
        };
        let contents = match safe_open::read(&path, Links::Refuse, MAX_BYTES) {
            Ok(contents) => contents,
            Err(error) if error.is_not_found() => return Ok(nothing),
            Err(error) => return Err(failed(&path)(error.into())),
        };
        if contents.owner() != geteuid().as_raw() {
            return Err(StoreError::Foreign(path));
        }
        let stored = serde_json::from_slice::<Stored>(&contents.bytes).ok();
        let stored = stored.filter(|stored| stored.workspace == self.workspace);
        Ok(stored.unwrap_or(nothing))
    }

    /// Changes what is kept, alone.
    pub fn update<T>(&self, change: impl FnOnce(&mut Stored) -> T) -> Result<T, StoreError> {
        let path = self.stem.with_extension("change");
        let lock = private_file(&path).map_err(failed(&path))?;
        lock.lock().map_err(failed(&path))?;
        let before = self.read()?;
        let mut stored = before.clone();
        let result = change(&mut stored);
        while stored.sessions.len() > MAX_SESSIONS {
            let oldest = stored.sessions.iter().enumerate();
            let oldest = oldest.min_by_key(|(_, session)| session.used);
            let oldest = oldest.map_or(0, |(at, _)| at);
            stored.sessions.remove(oldest);
        }
        if stored != before {
            let mut bytes = serde_json::to_vec_pretty(&stored).unwrap_or_default();
            bytes.push(b'\n');
            replace(&self.path(), &bytes)?;
        }
        Ok(result)
    }

    /// Makes the token of the next login, in place of any other.
    pub fn new_token(&self) -> Result<Secret, StoreError> {
        let path = self.token_path();
        let token = Secret::random().map_err(failed(&path))?;
        replace(&path, format!("{}\n", token.as_str()).as_bytes())?;
        Ok(token)
    }

    /// Uses the token up if this is it.
    pub(crate) fn take_token(&self, shown: &str) -> Result<bool, StoreError> {
        let path = self.token_path();
        let contents = match safe_open::read(&path, Links::Refuse, MAX_BYTES) {
            Ok(contents) => contents,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(failed(&path)(error.into())),
        };
        let token = String::from_utf8_lossy(&contents.bytes);
        if token.trim().len() < 64 || !secret::is_same(token.trim(), shown) {
            return Ok(false);
        }
        // It counts once only, so it is gone before it opens anything.
        std::fs::remove_file(&path).map_err(failed(&path))?;
        let _ = std::fs::remove_file(self.opening_path());
        Ok(true)
    }

    /// Writes the page that leads a browser to `url`.
    pub fn opening_page(&self, url: &str) -> Result<PathBuf, StoreError> {
        let path = self.opening_path();
        let page = format!(
            "<!doctype html><meta charset=utf-8><title>team-lead</title>\
             <meta http-equiv=refresh content=\"0;url={url}\"><a href=\"{url}\">Open the team</a>\n"
        );
        replace(&path, page.as_bytes())?;
        Ok(path)
    }

    /// Forgets tokens of earlier servers that nobody has used.
    pub(crate) fn clean_up(&self) {
        let _ = std::fs::remove_file(self.token_path());
        let _ = std::fs::remove_file(self.opening_path());
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(path)
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let write = || -> io::Result<()> {
        let name = format!("{}.new", secret::random_hex(4)?);
        let new = path.with_extension(name);
        let written = File::options()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&new, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    };
    write().map_err(failed(path))
}
