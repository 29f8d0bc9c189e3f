//! Creates, finds and opens a team folder.

use crate::board::TaskCache;
use crate::error::PathError;
use crate::files::atomic;
use crate::files::{FileId, create_dir};
use crate::layout::{FOLDER, Layout};
use crate::roster::{RosterCache, RosterError};
use protocol::{Roster, TeamName};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the creation of a folder by another process may take.
const CREATION: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(5);

/// What a write that was reported as done survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of any process, and a power cut.
    #[default]
    PowerCut,
    /// The death of any process.
    ProcessDeath,
}

/// How a team folder is used.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What a finished write survives.
    pub durability: Durability,
    /// How long a lock is waited for.
    pub lock_wait: Duration,
    /// The size of unread mail from which on an inbox takes no more.
    pub inbox_limit: u64,
    /// How long a read inbox file stays under its name before it is set aside, so that a burst
    /// of mail does not pay for it with each message.
    pub seal_after: Duration,
    /// How long a file that was set aside is kept after everything in it was read: a program
    /// that was about to write to it gets that time.
    pub segment_grace: Duration,
    /// The size from which on the event log is set aside and a new one begun.
    pub events_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            lock_wait: Duration::from_secs(10),
            inbox_limit: 64 << 20,
            seal_after: Duration::from_millis(200),
            segment_grace: Duration::from_secs(60),
            events_limit: 8 << 20,
        }
    }
}

/// A team folder. Cheap to clone; clones share what they have read of the
/// roster and the board.
#[derive(Debug, Clone)]
pub struct TeamDir {
    pub(crate) layout: Layout,
    pub(crate) options: Options,
    pub(crate) cache: Arc<RosterCache>,
    pub(crate) tasks: Arc<TaskCache>,
    /// The identity of the opened folder, to notice one that has its name later.
    identity: Option<FolderId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderId {
    device: u64,
    id: FileId,
}

impl FolderId {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            id: FileId::of(&metadata),
        })
    }
}

/// Why a team folder could not be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error("there is no team folder ({FOLDER}) in {} or above it", .0.display())]
    NotFound(PathBuf),
    /// A part of it could not be created.
    #[error(transparent)]
    Create(#[from] PathError),
    /// Its roster could not be read.
    #[error(transparent)]
    Roster(#[from] RosterError),
}

impl TeamDir {
    /// Creates the team folder of a workspace, or opens the one it has.
    ///
    /// Several processes may do so at the same time; one of them decides the name.
    pub fn create(workspace: &Path, name: &str, options: Options) -> Result<Self, OpenError> {
        let layout = Layout::new(workspace.join(FOLDER));
        create_dir(layout.root())?;
        let folders = [
            layout.inbox_dir(),
            layout.requests_dir(),
            layout.tasks_dir(),
            layout.members_dir(),
        ];
        for folder in folders {
            create_dir(&folder)?;
        }
        atomic::create(&layout.gitignore(), b"*\n", options.durability)?;
        let roster = Roster {
            team_name: TeamName(name.to_owned()),
            ..Roster::default()
        };
        let bytes = crate::roster::encode(&roster);
        atomic::create(&layout.roster(), &bytes, options.durability)?;
        atomic::sync_parent(layout.root(), options.durability)?;
        Self::open(workspace, options)
    }

    /// Opens the team folder of a workspace.
    pub fn open(workspace: &Path, options: Options) -> Result<Self, OpenError> {
        let layout = Layout::new(workspace.join(FOLDER));
        if !layout.root().is_dir() {
            return Err(OpenError::NotFound(workspace.to_path_buf()));
        }
        let team = Self {
            identity: FolderId::of(layout.root()).ok(),
            layout,
            options,
            cache: Arc::default(),
            tasks: Arc::default(),
        };
        team.await_roster()?;
        Ok(team)
    }

    /// Waits a moment for the roster: another process may be creating the folder right now.
    fn await_roster(&self) -> Result<(), RosterError> {
        let began = Instant::now();
        loop {
            match self.roster() {
                Err(RosterError::File(error))
                    if error.kind() == io::ErrorKind::NotFound && began.elapsed() < CREATION =>
                {
                    std::thread::sleep(RETRY);
                }
                result => return result.map(|_| ()),
            }
        }
    }

    /// Opens the team folder of `start` or of the nearest folder above it that has one.
    pub fn find(start: &Path, options: Options) -> Result<Self, OpenError> {
        let workspace = start.ancestors().find(|path| path.join(FOLDER).is_dir());
        match workspace {
            Some(workspace) => Self::open(workspace, options),
            None => Err(OpenError::NotFound(start.to_path_buf())),
        }
    }

    /// Whether the folder that was opened was removed or moved away, or another bears its name now.
    pub fn is_gone(&self) -> bool {
        match FolderId::of(self.layout.root()) {
            Ok(found) => self.identity.is_some_and(|opened| opened != found),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// The paths of the folder.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The folder that the team works in.
    pub fn workspace(&self) -> &Path {
        self.layout.root().parent().unwrap_or(Path::new("/"))
    }

    /// How this folder is used.
    pub fn options(&self) -> &Options {
        &self.options
    }
}
