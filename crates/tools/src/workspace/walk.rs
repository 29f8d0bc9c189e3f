//! Follows a path without ever leaving the workspace.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, mkdirat};

use sandbox::workspace::{is_secret, protected_names};

use super::guard::Guard;
use super::{Identity, PathError, Workspace, file_type, must_be_regular};

/// The number of links that Linux follows.
const MOST_LINKS: usize = 40;
/// The longest path that Linux accepts.
const LONGEST: usize = 4096;

/// Flags to open a name without following links.
const LOOK: OFlag = OFlag::O_PATH
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// The real location of a path: the folders from the workspace down to it, all reached without
/// following a link.
#[derive(Debug)]
pub(super) struct Walk {
    folders: Vec<Level>,
    /// The last component, if it is not a folder.
    leaf: Option<Leaf>,
    /// Whether the path ends like that of a folder.
    wants_folder: bool,
}

/// A folder of the path.
#[derive(Debug)]
struct Level {
    name: OsString,
    /// `None` if the folder does not exist, nor any below it.
    found: Option<(OwnedFd, Identity)>,
}

/// The file at the end of the path.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) name: OsString,
    pub(super) stat: FileStat,
}

impl Leaf {
    pub(super) fn must_be_regular(&self, path: &str) -> Result<(), PathError> {
        must_be_regular(&self.stat, path)
    }
}

/// Where a file is to be written.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Where it is, relative to the workspace and without links.
    pub(super) location: PathBuf,
    /// The existing file.
    pub(super) existing: Option<FileStat>,
}

impl Walk {
    /// Walks along a path from a model.
    pub(super) fn along(workspace: &Workspace, path: &str) -> Result<Self, PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains('\0') {
            return Err(PathError::Nul(path.to_owned()));
        }
        if path.len() >= LONGEST {
            return Err(PathError::io(path, Errno::ENAMETOOLONG));
        }
        let mut walk = Self {
            folders: Vec::new(),
            leaf: None,
            wants_folder: false,
        };
        let mut todo = VecDeque::new();
        walk.enter(workspace, Path::new(path), path, &mut todo)?;
        let mut links = 0;
        while let Some(part) = todo.pop_front() {
            let Some(link) = walk.step(workspace, part, path)? else {
                continue;
            };
            links += 1;
            if links > MOST_LINKS || todo.len() > LONGEST {
                return Err(PathError::io(path, Errno::ELOOP));
            }
            let link = OsString::from_vec(link);
            walk.enter(workspace, Path::new(&link), path, &mut todo)?;
        }
        Ok(walk)
    }

    /// Puts the parts of a path or of a link before the remaining ones.
    fn enter(
        &mut self,
        workspace: &Workspace,
        text: &Path,
        path: &str,
        todo: &mut VecDeque<OsString>,
    ) -> Result<(), PathError> {
        let relative = if text.is_absolute() {
            self.folders.clear();
            let inside = workspace.relative(text);
            inside.ok_or_else(|| PathError::Escapes(path.to_owned()))?
        } else {
            text
        };
        // `strip_prefix` drops a final slash.
        if text.as_os_str().as_bytes().ends_with(b"/") {
            todo.push_front(".".into());
        }
        let bytes = relative.as_os_str().as_bytes();
        for part in bytes.rsplit(|byte| *byte == b'/') {
            // An empty part is a doubled or final slash, which means the same as a dot.
            let part = if part.is_empty() { b"." } else { part };
            todo.push_front(OsStr::from_bytes(part).to_owned());
        }
        Ok(())
    }

    /// Takes one part of the path. Returns the text of a link that has to be walked first.
    fn step(
        &mut self,
        workspace: &Workspace,
        part: OsString,
        path: &str,
    ) -> Result<Option<Vec<u8>>, PathError> {
        if self.leaf.is_some() {
            return Err(PathError::NotAFolder(path.to_owned()));
        }
        self.wants_folder = matches!(part.as_bytes(), b"." | b"..");
        match part.as_bytes() {
            b"." => return Ok(None),
            b".." => {
                let left = self.folders.pop();
                left.ok_or_else(|| PathError::Escapes(path.to_owned()))?;
                return Ok(None);
            }
            _ => {}
        }
        let Some(folder) = self.handle(workspace) else {
            self.folders.push(Level {
                name: part,
                found: None,
            });
            return Ok(None);
        };
        let found = match openat(folder, part.as_os_str(), LOOK, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::ENOENT) => {
                self.folders.push(Level {
                    name: part,
                    found: None,
                });
                return Ok(None);
            }
            Err(error) => return Err(PathError::io(path, error)),
        };
        let stat = fstat(&found).map_err(PathError::errno(path))?;
        match file_type(&stat) {
            SFlag::S_IFDIR => self.folders.push(Level {
                name: part,
                found: Some((found, Identity::of(&stat))),
            }),
            SFlag::S_IFLNK => {
                let text = readlinkat(&found, c"").map_err(PathError::errno(path))?;
                if workspace.outside.is_some() {
                    return Err(PathError::Link {
                        path: path.to_owned(),
                        link: workspace
                            .name(&self.folder_path().join(part))
                            .display()
                            .to_string(),
                        target: text.to_string_lossy().into_owned(),
                    });
                }
                return Ok(Some(text.into_vec()));
            }
            _ => self.leaf = Some(Leaf { name: part, stat }),
        }
        Ok(None)
    }

    fn folder_path(&self) -> PathBuf {
        self.folders.iter().map(|level| &level.name).collect()
    }

    /// The current folder, if it exists.
    fn handle<'a>(&'a self, workspace: &'a Workspace) -> Option<BorrowedFd<'a>> {
        match self.folders.last() {
            None => Some(workspace.handle.as_fd()),
            Some(level) => level.found.as_ref().map(|(fd, _)| fd.as_fd()),
        }
    }

    /// The path without links, relative to the workspace, of an existing folder or regular file.
    pub(super) fn location(&self, path: &str) -> Result<PathBuf, PathError> {
        if self.folders.iter().any(|level| level.found.is_none()) {
            return Err(PathError::NotFound(path.to_owned()));
        }
        let folders = self.folders.iter().map(|level| &level.name);
        let Some(leaf) = &self.leaf else {
            return Ok(folders.collect());
        };
        leaf.must_be_regular(path)?;
        Ok(folders.chain([&leaf.name]).collect())
    }

    /// The folder at the end of the path.
    pub(super) fn existing_folder<'a>(
        &'a self,
        workspace: &'a Workspace,
        path: &str,
    ) -> Result<BorrowedFd<'a>, PathError> {
        match (self.handle(workspace), &self.leaf) {
            (Some(folder), None) => Ok(folder),
            (Some(_), Some(_)) => Err(PathError::NotAFolder(path.to_owned())),
            (None, _) => Err(PathError::NotFound(path.to_owned())),
        }
    }

    /// The file at the end of the path, and its folder.
    pub(super) fn existing_file<'a>(
        &'a self,
        workspace: &'a Workspace,
        path: &str,
    ) -> Result<(BorrowedFd<'a>, &'a Leaf), PathError> {
        match (self.handle(workspace), &self.leaf) {
            (Some(folder), Some(leaf)) => Ok((folder, leaf)),
            (Some(_), None) => Err(PathError::IsFolder(path.to_owned())),
            (None, _) => Err(PathError::NotFound(path.to_owned())),
        }
    }

    /// The target for a file at the end of the path. Creates missing folders.
    pub(super) fn target(mut self, workspace: &Workspace, path: &str) -> Result<Target, PathError> {
        let guard = Guard::of(workspace);
        self.must_not_be_protected(workspace, &guard, path)?;
        let location = self.path();
        let (name, existing) = match self.leaf.take() {
            Some(leaf) => (leaf.name, Some(leaf.stat)),
            None => match self.folders.pop() {
                Some(Level { name, found: None }) if !self.wants_folder => (name, None),
                Some(_) | None => return Err(PathError::IsFolder(path.to_owned())),
            },
        };
        for at in 0..self.folders.len() {
            self.create_folder(workspace, at, path)?;
        }
        // A folder that was created meanwhile may be a protected one. Outside names alone decide.
        if workspace.outside.is_none() {
            self.must_not_be_protected(workspace, &guard, path)?;
        }
        let folder = match self.folders.pop() {
            Some(Level {
                found: Some((fd, _)),
                ..
            }) => fd,
            Some(_) | None => {
                let root = workspace.handle.try_clone();
                root.map_err(|error| PathError::io(path, error))?
            }
        };
        Ok(Target {
            folder,
            name,
            location,
            existing,
        })
    }

    fn create_folder(
        &mut self,
        workspace: &Workspace,
        at: usize,
        path: &str,
    ) -> Result<(), PathError> {
        let (above, rest) = self.folders.split_at_mut(at);
        let Some(level) = rest.first_mut().filter(|level| level.found.is_none()) else {
            return Ok(());
        };
        let above = above.last().and_then(|level| level.found.as_ref());
        let above = above.map_or(workspace.handle.as_fd(), |(fd, _)| fd.as_fd());
        match mkdirat(
            above,
            level.name.as_os_str(),
            Mode::from_bits_truncate(0o777),
        ) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(PathError::io(path, error)),
        }
        let flags = LOOK | OFlag::O_DIRECTORY;
        let opened = openat(above, level.name.as_os_str(), flags, Mode::empty());
        let opened = opened.map_err(PathError::errno(path))?;
        let stat = fstat(&opened).map_err(PathError::errno(path))?;
        level.found = Some((opened, Identity::of(&stat)));
        Ok(())
    }

    /// A file with secrets is recognized by its name in the top folder, ignoring case, and by being
    /// the same file as one of the usual ones under any name.
    pub(super) fn must_not_be_secret(
        &self,
        workspace: &Workspace,
        path: &str,
    ) -> Result<(), PathError> {
        if let Some(outside) = &workspace.outside {
            return outside.must_be_readable(&self.path(), path);
        }
        let leaf = self.leaf.as_ref().filter(|_| self.folders.is_empty());
        let name = leaf.map(|leaf| leaf.name.to_string_lossy().to_lowercase());
        let has_name = name.is_some_and(|name| is_secret(OsStr::new(&name)));
        let usual = protected_names().filter(|name| is_secret(OsStr::new(name)));
        if has_name
            || usual
                .into_iter()
                .any(|name| self.passes(workspace, Path::new(name)))
        {
            return Err(PathError::Secret(path.to_owned()));
        }
        Ok(())
    }

    /// The path without links, relative to the workspace, whether it exists or not.
    pub(super) fn path(&self) -> PathBuf {
        let folders = self.folders.iter().map(|level| &level.name);
        folders
            .chain(self.leaf.iter().map(|leaf| &leaf.name))
            .collect()
    }

    /// The names from the workspace down, in lower case.
    pub(super) fn names(&self) -> Vec<String> {
        self.path().iter().map(lower).collect()
    }

    /// Whether it is the same file as another path, or below the same folder.
    pub(super) fn passes(&self, workspace: &Workspace, protected: &Path) -> bool {
        let Some(protected) = protected.to_str() else {
            return false;
        };
        let Ok(other) = Self::along(workspace, protected) else {
            return false;
        };
        let on_the_way = |wanted: Identity| {
            let folders = self.folders.iter().filter_map(|level| level.found.as_ref());
            folders.into_iter().any(|(_, identity)| *identity == wanted)
        };
        match (&other.leaf, other.folders.last()) {
            (Some(leaf), _) => {
                let wanted = Identity::of(&leaf.stat);
                let own = self.leaf.as_ref().map(|leaf| Identity::of(&leaf.stat));
                own == Some(wanted)
            }
            (None, Some(level)) => level.found.as_ref().is_some_and(|(_, id)| on_the_way(*id)),
            (None, None) => false,
        }
    }
}

pub(super) fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
