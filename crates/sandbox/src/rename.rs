//! Creates and renames files in folders that a command may be changing at the same time. The folder is
//! opened without following links, and every operation happens in that open folder.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{AccessFlags, access, geteuid, linkat};

use crate::description::{Content, Placeholder};
use crate::error::PrepareError;
use crate::layout::text;
use crate::syscalls::reference;

/// How many numbers are tried in order, and then how many at random, because a command can use up the first
/// ones.
const IN_ORDER: u64 = 100;
const AT_RANDOM: u64 = 16;
/// All permissions of the owner.
const OWNER: u32 = 0o700;
/// The text between the old name and the number.
const MARK: &str = ".from-sandbox.";

/// A file that a command created under a name that other programs trust.
#[derive(Debug)]
pub struct RenamedFile {
    pub from: PathBuf,
    pub to: PathBuf,
    /// Why it still has its old name.
    pub error: Option<io::Error>,
}

impl fmt::Display for RenamedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.display(), self.to.display());
        write!(f, "the command created {from}, which other programs trust")?;
        match &self.error {
            None => write!(f, ": it is now {to}"),
            Some(error) => write!(f, ", and it cannot be moved to {to}: {error}"),
        }
    }
}

/// Renames a file or folder within its folder.
pub(crate) fn rename_new_file(from: PathBuf) -> RenamedFile {
    let mut to = from.clone();
    let renamed = folder_of(&from).and_then(|(folder, name)| {
        for attempt in 1..=IN_ORDER + AT_RANDOM {
            let number = match attempt <= IN_ORDER {
                true => attempt,
                false => random(),
            };
            let mut new = name.to_owned();
            new.push(format!("{MARK}{number}"));
            to.set_file_name(&new);
            let flags = RenameFlags::RENAME_NOREPLACE;
            match renameat2(&folder, name, &folder, new.as_os_str(), flags) {
                Err(Errno::EEXIST) => {}
                result => return result,
            }
        }
        Err(Errno::EEXIST)
    });
    let error = renamed.err().map(io::Error::from);
    RenamedFile { from, to, error }
}

fn random() -> u64 {
    // The standard library's hasher has random keys, so the number cannot be predicted.
    RandomState::new().build_hasher().finish()
}

/// Restores the user's access to a folder of their own from which a command has removed it. Otherwise new
/// names in it could be neither found nor renamed, and would take effect when a person opens the folder
/// again.
pub(crate) fn allow_access(folder: &Path) {
    let all = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    if access(folder, all).is_ok() {
        return;
    }
    let mut above: Vec<&Path> = folder.ancestors().collect();
    above.reverse();
    for folder in above {
        // A path that is not a folder, or leads through a link, is left alone.
        let _ = allow_access_to_one(folder);
    }
}

fn allow_access_to_one(folder: &Path) -> io::Result<()> {
    let path = text(folder).map_err(|_| Errno::EINVAL)?;
    let found = reference(None, &path)?;
    // The descriptor is used, so that a link cannot take the folder's place in the meantime.
    let same = format!("/proc/self/fd/{}", found.as_raw_fd());
    let metadata = fs::metadata(&same)?;
    let mode = metadata.permissions().mode();
    if metadata.is_dir() && metadata.uid() == geteuid().as_raw() && mode & OWNER != OWNER {
        fs::set_permissions(&same, fs::Permissions::from_mode(mode | OWNER))?;
    }
    Ok(())
}

/// Whether [`rename_new_file`] gives such names.
pub(crate) fn is_renamed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let number = name.rsplit_once(MARK).map(|(_, number)| number);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Creates a placeholder, if there is nothing under its name.
pub(crate) fn create(placeholder: &Placeholder) -> Result<(), PrepareError> {
    let path = &placeholder.path;
    let created = folder_of(path).and_then(|(folder, name)| match placeholder.content {
        Content::Folder => mkdirat(&folder, name, Mode::from_bits_truncate(0o755)),
        Content::File(text) => match create_whole(&folder, name, text) {
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            // Not every file system has files without a name.
            Err(_) => create_and_write(&folder, name, text),
        },
    });
    match created {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(PrepareError::path(path, errno.into())),
    }
}

/// Creates a file that has its text from the moment it has its name: git outside fails on an empty `commondir`.
fn create_whole(folder: &OwnedFd, name: &OsStr, text: &str) -> nix::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_TMPFILE | OFlag::O_CLOEXEC;
    let file = openat(folder, ".", flags, Mode::from_bits_truncate(0o644))?;
    nix::unistd::write(file.as_fd(), text.as_bytes())?;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(
        AT_FDCWD,
        unnamed.as_str(),
        folder,
        name,
        AtFlags::AT_SYMLINK_FOLLOW,
    )
}

fn create_and_write(folder: &OwnedFd, name: &OsStr, text: &str) -> nix::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_bits_truncate(0o644))?;
    nix::unistd::write(file.as_fd(), text.as_bytes()).map(drop)
}

/// The folder of a path, and the name in it.
fn folder_of(path: &Path) -> nix::Result<(OwnedFd, &OsStr)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::EINVAL);
    };
    let folder = text(folder).map_err(|_| Errno::EINVAL)?;
    Ok((reference(None, &folder)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_the_first_name_that_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("name.from-sandbox.1"), "old").unwrap();
        fs::write(root.join("name"), "new").unwrap();
        let renamed = rename_new_file(root.join("name"));
        assert!(renamed.error.is_none(), "{renamed}");
        assert_eq!(renamed.to, root.join("name.from-sandbox.2"));
        assert_eq!(fs::read_to_string(&renamed.to).unwrap(), "new");
        assert!(!root.join("name").exists());
        assert!(rename_new_file(root.join("name")).error.is_some());
    }

    #[test]
    fn a_command_cannot_take_all_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for number in 0..20_000 {
            fs::write(root.join(format!("name{MARK}{number}")), "").unwrap();
        }
        fs::write(root.join("name"), "new").unwrap();
        let renamed = rename_new_file(root.join("name"));
        assert!(renamed.error.is_none(), "{renamed}");
        assert!(is_renamed(renamed.to.file_name().unwrap()), "{renamed}");
        assert_eq!(fs::read_to_string(&renamed.to).unwrap(), "new");
    }

    #[test]
    fn a_placeholder_is_never_seen_without_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("commondir");
        std::thread::scope(|scope| {
            let looked = scope.spawn(|| {
                let mut seen = 0;
                while seen < 200 {
                    if let Ok(found) = fs::read_to_string(&path) {
                        assert_eq!(found, ".\n");
                        let _ = fs::remove_file(&path);
                        seen += 1;
                    }
                }
            });
            let content = Content::File(".\n");
            while !looked.is_finished() {
                let path = path.clone();
                create(&Placeholder { path, content }).unwrap();
            }
        });
        assert!(fs::read_dir(&root).unwrap().count() <= 1);
    }

    #[test]
    fn nothing_happens_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("other")).unwrap();
        fs::write(root.join("other/name"), "kept").unwrap();
        std::os::unix::fs::symlink("other", root.join("link")).unwrap();
        let renamed = rename_new_file(root.join("link/name"));
        assert!(renamed.error.is_some(), "{renamed}");
        for content in [Content::Folder, Content::File("x")] {
            let path = root.join("link/new");
            assert!(create(&Placeholder { path, content }).is_err());
        }
        let names = fs::read_dir(root.join("other")).unwrap();
        assert_eq!(names.count(), 1);
    }
}
