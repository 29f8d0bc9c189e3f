//! The workspace: the boundary of the file tools.
//!
//! A path is walked one name at a time, from a handle of the workspace's folder, with calls that
//! never follow a link. A link is read and its text walked in the same way; `..` goes back to a
//! handle that is already there. So every step starts from a folder that was reached from the
//! workspace, and no step can lead out, however the names change meanwhile.
//!
//! The kernel has a call with the same guarantee (`openat2` with `RESOLVE_BENEATH`). The walk has
//! advantages: it works where a container forbids that call or the kernel lacks it, it knows the real
//! location of a file, which is needed to protect folders, and it accepts absolute links and paths that
//! lead inside. Files are written to a temporary file and renamed, which never follows a link and leaves
//! other hard links alone.

mod entries;
mod error;
mod guard;
mod outside;
mod replace;
mod walk;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};

use crate::access::{FileAccess, IsHidden};
pub(crate) use entries::EntryKind;
pub use error::PathError;
use guard::Guard;
pub(crate) use outside::Forbidden;
use outside::{Outside, must_not_be_kernel};
use walk::Walk;

/// The folder in which the file tools work, and the paths in it that they must not change.
#[derive(Clone)]
pub struct Workspace {
    root: PathBuf,
    /// The path by which it was opened, which may contain links.
    given: PathBuf,
    handle: Arc<OwnedFd>,
    protected: Vec<PathBuf>,
    /// Set if it is not a workspace but what one call was allowed of the machine.
    outside: Option<Outside>,
    /// What the call must neither read nor show.
    hidden: Option<IsHidden>,
}

/// The workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the workspace {}", path.display())]
pub struct OpenWorkspaceError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// A regular file of the workspace, opened for reading.
#[derive(Debug)]
pub struct OpenFile {
    pub file: File,
    /// The size in bytes when it was opened.
    pub size: u64,
    /// Where it is, by its name and without links.
    pub(crate) location: PathBuf,
    pub(crate) version: Version,
}

/// What must be at a path for it to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Nothing,
    /// The file of this version.
    File(Version),
}

/// Identifies a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    identity: Identity,
    size: i64,
    modified: (i64, i64),
}

/// Identifies a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Workspace {
    /// Opens a folder as a workspace. The file tools do not write to the paths in `protected`,
    /// which are relative to the folder, to anything below them, or to what a sandbox protects in the
    /// workspace at the time of writing.
    pub fn open(
        path: impl AsRef<Path>,
        protected: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self, OpenWorkspaceError> {
        let path = path.as_ref();
        let failed = |source| OpenWorkspaceError {
            path: path.to_owned(),
            source,
        };
        let root = path.canonicalize().map_err(failed)?;
        let handle = open_root(&root)?;
        let normal = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let usual = sandbox::workspace::protected_names().map(PathBuf::from);
        let protected = protected.into_iter().chain(usual);
        let protected = protected.map(|path| path.components().filter(normal).collect::<PathBuf>());
        Ok(Self {
            given: std::path::absolute(path).map_err(failed)?,
            root,
            handle,
            protected: protected
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
            outside: None,
            hidden: None,
        })
    }

    /// The files that a call with this access works with.
    pub(crate) fn for_call(
        &self,
        access: &FileAccess,
        forbidden: impl FnOnce() -> Forbidden,
    ) -> Result<Self, OpenWorkspaceError> {
        let place = match &access.outside {
            Some(allowed) => Self::outside(allowed, forbidden())?,
            None => self.clone(),
        };
        Ok(Self {
            hidden: access.hidden.clone(),
            ..place
        })
    }

    /// The name by which a model knows a path relative to the folder.
    pub(crate) fn name(&self, relative: &Path) -> PathBuf {
        match self.outside {
            Some(_) => self.root.join(relative),
            None => relative.to_owned(),
        }
    }

    /// Whether a path relative to the folder is neither to be read nor to be shown.
    pub(crate) fn is_hidden(&self, relative: &Path) -> bool {
        let hidden = self.hidden.as_ref();
        hidden.is_some_and(|is_hidden| is_hidden(&self.root.join(relative)))
    }

    fn must_not_be_hidden(&self, relative: &Path, path: &str) -> Result<(), PathError> {
        match self.is_hidden(relative) {
            true => Err(PathError::Denied(path.to_owned())),
            false => Ok(()),
        }
    }

    /// The path of the folder, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The paths that the file tools do not change, relative to the folder.
    pub(crate) fn protected(&self) -> impl Iterator<Item = &Path> {
        self.protected.iter().map(PathBuf::as_path)
    }

    /// Opens a regular file for reading. Never blocks, as opening a pipe could.
    pub fn open_file(&self, path: &str) -> Result<OpenFile, PathError> {
        let walk = Walk::along(self, path)?;
        let (folder, leaf) = walk.existing_file(self, path)?;
        leaf.must_be_regular(path)?;
        walk.must_not_be_secret(self, path)?;
        let location = walk.location(path)?;
        self.must_not_be_hidden(&location, path)?;
        let flags = OFlag::O_RDONLY
            | OFlag::O_NONBLOCK
            | OFlag::O_NOFOLLOW
            | OFlag::O_NOCTTY
            | OFlag::O_CLOEXEC;
        let opened = openat(folder, leaf.name.as_os_str(), flags, Mode::empty());
        let opened = opened.map_err(|error| PathError::io(path, error))?;
        let stat = fstat(&opened).map_err(|error| PathError::io(path, error))?;
        // The file may have been replaced since the walk.
        must_be_regular(&stat, path)?;
        if self.outside.is_some() {
            must_not_be_kernel(&opened, path)?;
        }
        Ok(OpenFile {
            file: File::from(opened),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            location: self.name(&location),
            version: Version::of(&stat),
        })
    }

    /// Creates a file, with its folders if they are missing, or replaces the content of one atomically
    /// and keeps its permissions. Fails if something else than expected is there. The comparison and
    /// the change are one step for all who use this method, in whatever process. Returns where the file
    /// is, by its name and without links.
    pub(crate) fn replace_file(
        &self,
        path: &str,
        content: &[u8],
        expected: Expected,
    ) -> Result<PathBuf, PathError> {
        replace::replace(self, path, content, expected)
    }

    /// Refuses a path that the file tools must not write.
    pub(crate) fn must_not_be_protected(&self, path: &str) -> Result<(), PathError> {
        Walk::along(self, path)?.must_not_be_protected(self, &Guard::of(self), path)
    }

    /// An absolute path relative to the workspace, or `None` if it is outside. The walk checks whether the
    /// rest stays inside.
    fn relative<'a>(&self, absolute: &'a Path) -> Option<&'a Path> {
        let roots = [&self.root, &self.given];
        let mut found = roots.iter().map(|root| absolute.strip_prefix(root));
        found.find_map(Result::ok)
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("root", &self.root)
            .field("outside", &self.outside)
            .finish_non_exhaustive()
    }
}

/// A handle of the folder at a path without links.
fn open_root(path: &Path) -> Result<Arc<OwnedFd>, OpenWorkspaceError> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened = open(path, flags, Mode::empty());
    let handle = opened.map_err(|error| OpenWorkspaceError {
        path: path.to_owned(),
        source: error.into(),
    })?;
    Ok(Arc::new(handle))
}

impl Version {
    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.size).unwrap_or(0)
    }

    /// When the content was last changed.
    pub(crate) fn modified(&self) -> SystemTime {
        let (seconds, nanos) = self.modified;
        let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let nanos = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        SystemTime::UNIX_EPOCH + seconds + nanos
    }

    fn of(stat: &FileStat) -> Self {
        Self {
            identity: Identity::of(stat),
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

impl Identity {
    fn of(stat: &FileStat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// What kind of file it is: one of the flags that begin with `S_IF`.
fn file_type(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

fn must_be_regular(stat: &FileStat, path: &str) -> Result<(), PathError> {
    let kind = match file_type(stat) {
        SFlag::S_IFREG => return Ok(()),
        SFlag::S_IFDIR => return Err(PathError::IsFolder(path.to_owned())),
        SFlag::S_IFLNK => "a symbolic link",
        SFlag::S_IFIFO => "a named pipe",
        SFlag::S_IFSOCK => "a socket",
        SFlag::S_IFCHR | SFlag::S_IFBLK => "a device",
        _ => "of an unknown kind",
    };
    Err(PathError::Special {
        path: path.to_owned(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), []).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "mine").unwrap();
        let opened = workspace.open_file("file").unwrap();
        fs::write(&path, "theirs").unwrap();
        let replace = |expected| workspace.replace_file("file", b"x", expected);
        let replaced = replace(Expected::File(opened.version));
        assert!(
            matches!(replaced, Err(PathError::Changed(_))),
            "{replaced:?}"
        );
        let created = replace(Expected::Nothing);
        assert!(matches!(created, Err(PathError::Exists(_))), "{created:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        fs::remove_file(&path).unwrap();
        let replaced = replace(Expected::File(opened.version));
        assert!(
            matches!(replaced, Err(PathError::Changed(_))),
            "{replaced:?}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let location = replace(Expected::Nothing).unwrap();
        let opened = workspace.open_file("file").unwrap();
        assert_eq!(
            (location.as_path(), location.as_path()),
            (Path::new("file"), opened.location.as_path())
        );
        let expected = Expected::File(opened.version);
        workspace.replace_file("file", b"newer", expected).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
    }

    #[test]
    fn a_workspace_that_is_no_folder_cannot_be_opened() {
        let error = Workspace::open("/dev/null", []).unwrap_err();
        assert_eq!(error.to_string(), "cannot open the workspace /dev/null");
        assert!(Workspace::open("/no/such/folder", []).is_err());
    }
}
