//! Creates, finds and opens a team folder.

use crate::board::TaskCache;
use crate::error::{Context, PathError};
use crate::files::atomic;
use crate::files::{self, FileId, create_dir};
use crate::layout::{FOLDER, Layout};
use crate::mail::inbox_writer::InboxWriters;
use crate::roster::{RosterCache, RosterError};
use protocol::{AgentName, Roster, TeamName};
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
    /// Of a board that is at home on another host.
    pub(crate) copied_tasks: Arc<TaskCache>,
    pub(crate) writers: Arc<InboxWriters>,
    /// The person whom this process acts for, which its events say.
    pub(crate) person: Option<Arc<str>>,
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
        let metadata = std::fs::symlink_metadata(path)?;
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

/// The paths of a workspace's team folder. The workspace may be reached through links; in what is
/// found there, from here on, none is followed below the team folder.
fn layout_of(workspace: &Path) -> Result<Layout, OpenError> {
    match workspace.canonicalize() {
        Ok(real) => Ok(Layout::new(real.join(FOLDER))),
        Err(error) if is_missing(&error) => Err(OpenError::NotFound(workspace.to_path_buf())),
        Err(error) => Err(PathError::new("open", workspace, error).into()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl TeamDir {
    /// Creates the team folder of a workspace, or opens the one it has.
    ///
    /// Several processes may do so at the same time; one of them decides the name.
    pub fn create(workspace: &Path, name: &str, options: Options) -> Result<Self, OpenError> {
        let layout = layout_of(workspace)?;
        create_dir(layout.root())?;
        for folder in layout.folders() {
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

    /// The same folder, for what a person does: the events say who it was.
    #[must_use]
    pub fn acting_for(&self, person: &str) -> Self {
        Self {
            person: Some(person.into()),
            ..self.clone()
        }
    }

    /// Opens the team folder of a workspace.
    pub fn open(workspace: &Path, options: Options) -> Result<Self, OpenError> {
        let layout = layout_of(workspace)?;
        match files::open_folder(layout.root()) {
            Err(error) if is_missing(&error) => {
                return Err(OpenError::NotFound(workspace.to_path_buf()));
            }
            opened => drop(opened.context("open the team folder", layout.root())?),
        }
        let team = Self {
            identity: FolderId::of(layout.root()).ok(),
            layout,
            options,
            cache: Arc::default(),
            tasks: Arc::default(),
            copied_tasks: Arc::default(),
            writers: Arc::default(),
            person: None,
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

    /// Opens the team folder that a command in `start` means: see [`locate`].
    pub fn find(start: &Path, options: Options) -> Result<Self, OpenError> {
        match locate(start) {
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

    /// The folder for the records of running commands, which exists when this returns.
    pub fn commands_folder(&self) -> Result<PathBuf, PathError> {
        let folder = self.layout.commands_dir();
        create_dir(&folder)?;
        Ok(folder)
    }

    /// The folder of the members' own trees, which exists when this returns.
    pub fn trees_folder(&self) -> Result<PathBuf, PathError> {
        let folder = self.layout.trees_dir();
        create_dir(&folder)?;
        Ok(folder)
    }

    /// The names under which there are trees, in the team or not.
    pub fn tree_names(&self) -> Result<Vec<AgentName>, PathError> {
        let folder = self.layout.trees_dir();
        let listed = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.context("list", &folder)?,
        };
        let names = listed.flatten().map(|entry| entry.file_name());
        let mut names: Vec<AgentName> = names
            .filter_map(|name| AgentName::new(name.to_str()?).ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// How this folder is used.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// The workspace that a command in `start` means: `start` or the nearest folder above it that has a
/// team folder. The search ends at the root of a git repository, and where the folder above belongs to
/// another owner: beyond that, the team would be somebody else's. A folder above that everybody may write
/// into can have a team of anybody; there only one of the owner of the folder counts.
pub fn locate(start: &Path) -> Option<&Path> {
    let owner = |folder: &Path| folder.metadata().ok().map(|metadata| metadata.uid());
    let is_shared = |folder: &Path| {
        folder != start
            && folder
                .metadata()
                .is_ok_and(|found| found.mode() & 0o002 != 0)
    };
    let mut folder = start;
    loop {
        // A link in its place ends the search too, and is refused when it is opened.
        let found = folder.join(FOLDER).symlink_metadata().ok();
        let found = found.filter(|found| found.is_dir() || found.is_symlink());
        if found.is_some_and(|found| !is_shared(folder) || owner(folder) == Some(found.uid())) {
            return Some(folder);
        }
        // In a linked worktree or a submodule it is a file.
        if folder.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let above = folder.parent()?;
        if owner(above) != owner(folder) {
            return None;
        }
        folder = above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown};

    #[test]
    fn a_team_of_somebody_else_in_a_shared_folder_above_is_passed_over() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let top = place.path();
        let (shared, below) = (top.join("shared"), top.join("shared/below"));
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(shared.join(FOLDER)).unwrap();
        lchown(shared.join(FOLDER), Some(4711), None).unwrap();
        // In a folder of the user's own it is odd, and refused when it is opened.
        assert_eq!(locate(&below), Some(shared.as_path()));
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(locate(&below), None);
        assert_eq!(locate(&shared), Some(shared.as_path()));
        fs::create_dir(top.join(FOLDER)).unwrap();
        assert_eq!(locate(&below), Some(top));
        lchown(shared.join(FOLDER), Some(0), None).unwrap();
        assert_eq!(locate(&below), Some(shared.as_path()));
    }

    #[test]
    fn the_search_ends_at_a_repository_and_at_another_owner() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path();
        let deep = top.join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(top.join(FOLDER)).unwrap();
        assert_eq!(locate(&deep), Some(top));
        for git in ["a/.git", "a/b/c/.git"] {
            fs::write(top.join(git), "gitdir: elsewhere").unwrap();
            assert_eq!(locate(&deep), None, "{git}");
            fs::remove_file(top.join(git)).unwrap();
        }
        // The team of the repository itself is found.
        fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(locate(&deep), Some(top));
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        lchown(top.join("a/b/c"), Some(4711), None).unwrap();
        assert_eq!(locate(&deep), None);
        assert_eq!(locate(&top.join("a/b")), Some(top));
    }
}
