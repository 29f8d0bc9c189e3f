//! Replaces and creates files atomically: a reader sees the old or the new one, never a part.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files;
use crate::locks::is_at;
use safe_open::{Folder, Links, Options};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the file at `path`, or creates it.
pub(crate) fn replace(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), PathError> {
    let mut temporary = write_beside(path, bytes, durability)?;
    temporary.persist().context("replace", path)?;
    temporary.sync_name(path, durability)
}

/// Replaces the file at `path` where nothing has to survive a power cut, as fast as can be.
///
/// Renaming over an existing file makes some file systems write the new one to the disk first, which
/// takes milliseconds. Exchanging the two names does not, and readers see the old or the new file all
/// the same. After a power cut the file may be empty.
pub(crate) fn exchange(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let mut temporary = write_beside(path, bytes, Durability::ProcessDeath)?;
    let folder = &temporary.folder;
    match folder.exchange(&temporary.name, folder, &temporary.target) {
        // What has the temporary name now is the old file, and goes with it.
        Ok(()) => Ok(()),
        // There is no file yet, or the file system does not know how.
        Err(_) => temporary.persist().context("replace", path),
    }
}

/// Creates the file at `path`. Returns `false`, and changes nothing, when it exists.
pub(crate) fn create(path: &Path, bytes: &[u8], durability: Durability) -> Result<bool, PathError> {
    let mut temporary = write_beside(path, bytes, durability)?;
    match temporary.persist_new() {
        Ok(()) => match temporary.sync_name(path, durability) {
            Ok(()) => Ok(true),
            Err(error) => {
                // What is reported as not created must not be in the way of the next try.
                if is_at(&temporary.file, path).unwrap_or(false) {
                    let _ = temporary.folder.remove_file(&temporary.target);
                }
                Err(error)
            }
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(PathError::new("create", path, error)),
    }
}

/// A file that gets its name when it is complete. Dropped before, it is removed.
///
/// It holds its folder open, so that it gets its name in the folder in which it was created.
#[derive(Debug)]
pub(crate) struct Temporary {
    folder: Folder,
    file: File,
    name: OsString,
    target: OsString,
}

/// Whether a path has the name of a file that replaces another one soon.
pub(crate) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_encoded_bytes);
    name.is_some_and(|name| name.starts_with(b".") && name.ends_with(b".tmp"))
}

impl Temporary {
    fn create(path: &Path) -> io::Result<Self> {
        // Unique in this process; a name that another one uses is passed over.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (folder, target) = files::split(path)?;
        let options = Options::write(Links::Refuse).create_new();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut name = OsString::from(".");
            name.push(target);
            name.push(format!(".{}-{number}.tmp", std::process::id()));
            match folder.open_file(&name, options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let target = target.to_owned();
                    return Ok(Self {
                        file: opened?.file,
                        folder,
                        name,
                        target,
                    });
                }
            }
        }
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// A second descriptor of the file, which appends.
    pub(crate) fn file_to_append(&self) -> io::Result<File> {
        let options = Options::append(Links::Refuse);
        Ok(self.folder.open_file(&self.name, options)?.file)
    }

    /// Gives the file its name, replacing one that has it.
    pub(crate) fn persist(&mut self) -> io::Result<()> {
        self.folder.rename(&self.name, &self.folder, &self.target)?;
        self.name.clear();
        Ok(())
    }

    /// The same, unless a file has the name.
    fn persist_new(&mut self) -> io::Result<()> {
        let renamed = self
            .folder
            .rename_new(&self.name, &self.folder, &self.target);
        match renamed {
            // Some file systems cannot do this in one step. A process that is killed between the two
            // leaves a file with two names, of which `doctor` removes the temporary one.
            Err(error) if files::is_unsupported(&error) => {
                self.folder.link(&self.name, &self.target)?;
                self.folder.remove_file(&self.name)?;
            }
            result => result?,
        }
        self.name.clear();
        Ok(())
    }

    /// Makes the name survive a power cut, if that is asked for.
    pub(crate) fn sync_name(&self, path: &Path, durability: Durability) -> Result<(), PathError> {
        match durability {
            Durability::PowerCut => self.folder.sync().context("sync the folder of", path),
            Durability::ProcessDeath => Ok(()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // What stays is found by `doctor`.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// A complete temporary file in the same folder, so that the last step is one rename.
pub(crate) fn write_beside(
    path: &Path,
    bytes: &[u8],
    durability: Durability,
) -> Result<Temporary, PathError> {
    files::check_size(bytes).context("write", path)?;
    let created = Temporary::create(path);
    let mut temporary = created.context("create a temporary file beside", path)?;
    temporary.file.write_all(bytes).context("write", path)?;
    if durability == Durability::PowerCut {
        temporary.file.sync_all().context("sync", path)?;
    }
    Ok(temporary)
}

pub(crate) fn sync_parent(path: &Path, durability: Durability) -> Result<(), PathError> {
    match (durability, path.parent()) {
        (Durability::PowerCut, Some(parent)) => files::sync_dir(parent),
        _ => Ok(()),
    }
}
