//! Lists and opens what is in the workspace, for the tools that search.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat};

use super::walk::Walk;
use super::{PathError, Workspace, file_type, must_be_regular, must_not_be_kernel};

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    File { size: u64 },
    Link,
    Other,
}

impl Workspace {
    /// The real location of an existing folder or regular file, relative to the workspace.
    pub(crate) fn locate(&self, path: &str) -> Result<PathBuf, PathError> {
        let walk = Walk::along(self, path)?;
        walk.must_not_be_secret(self, path)?;
        let location = walk.location(path)?;
        self.must_not_be_hidden(&location, path)?;
        Ok(location)
    }

    /// Opens a regular file for reading by a relative path that contains no link. One system call,
    /// where the kernel has it, because a search opens many files. Only files of the top folder and
    /// files with several names can be secret.
    pub(crate) fn open_beneath(&self, relative: &Path) -> Result<File, PathError> {
        let path = relative.to_string_lossy();
        self.must_not_be_hidden(relative, &path)?;
        if let Some(outside) = &self.outside {
            outside.must_be_readable(relative, &path)?;
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let how = OpenHow::new()
            .flags(flags)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        let opened = match openat2(self.handle.as_ref(), relative, how) {
            Ok(opened) => opened,
            // Missing, or forbidden by a container. If it is about the file, the walk finds out.
            Err(Errno::ENOSYS | Errno::EPERM) => {
                return self.open_file(&path).map(|opened| opened.file);
            }
            Err(error) => return Err(PathError::io(&path, error)),
        };
        let stat = fstat(&opened).map_err(|error| PathError::io(&path, error))?;
        must_be_regular(&stat, &path)?;
        if self.outside.is_some() {
            must_not_be_kernel(&opened, &path)?;
        } else if stat.st_nlink > 1 || relative.components().count() == 1 {
            Walk::along(self, &path)?.must_not_be_secret(self, &path)?;
        }
        Ok(File::from(opened))
    }

    /// What is in a folder, in no particular order.
    pub(crate) fn entries(&self, path: &str) -> Result<Vec<Entry>, PathError> {
        let failed = |error| PathError::io(path, error);
        let walk = Walk::along(self, path)?;
        let folder = walk.existing_folder(self, path)?;
        let location = walk.location(path)?;
        self.must_not_be_hidden(&location, path)?;
        if let Some(outside) = &self.outside {
            outside.must_be_readable(&location, path)?;
        }
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = openat(folder, ".", flags, Mode::empty()).map_err(failed)?;
        let listed = folder
            .try_clone()
            .map_err(|error| PathError::io(path, error))?;
        let mut entries = Vec::new();
        for entry in Dir::from_fd(listed).map_err(failed)?.iter() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let relative = location.join(OsStr::from_bytes(name.to_bytes()));
            if self.is_hidden(&relative) {
                continue;
            }
            // A name that vanished meanwhile is left out.
            let Ok(stat) = fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) else {
                continue;
            };
            entries.push(Entry {
                name: name.to_string_lossy().into_owned(),
                kind: match file_type(&stat) {
                    SFlag::S_IFDIR => EntryKind::Folder,
                    SFlag::S_IFREG => EntryKind::File {
                        size: u64::try_from(stat.st_size).unwrap_or(0),
                    },
                    SFlag::S_IFLNK => EntryKind::Link,
                    _ => EntryKind::Other,
                },
            });
        }
        Ok(entries)
    }
}
