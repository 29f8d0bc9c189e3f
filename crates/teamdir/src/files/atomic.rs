//! Replaces and creates files atomically: a reader sees the old or the new one, never a part.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::{exchange_names, sync_dir};
use crate::locks::is_at;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Replaces the file at `path`, or creates it.
pub(crate) fn replace(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), PathError> {
    let temporary = write_beside(path, bytes, durability)?;
    let persisted = temporary.persist(path).map_err(|error| error.error);
    persisted.context("replace", path)?;
    sync_parent(path, durability)
}

/// Replaces the file at `path` where nothing has to survive a power cut, as fast as can be.
///
/// Renaming over an existing file makes some file systems write the new one to the disk first, which
/// takes milliseconds. Exchanging the two names does not, and readers see the old or the new file all
/// the same. After a power cut the file may be empty.
pub(crate) fn exchange(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let temporary = write_beside(path, bytes, Durability::ProcessDeath)?;
    let exchanged = exchange_names(temporary.path(), path);
    match exchanged {
        // What has the temporary name now is the old file, and goes with it.
        Ok(()) => Ok(()),
        // There is no file yet, or the file system does not know how.
        Err(_) => {
            let persisted = temporary.persist(path).map_err(|error| error.error);
            persisted.context("replace", path)?;
            Ok(())
        }
    }
}

/// Creates the file at `path`. Returns `false`, and changes nothing, when it exists.
pub(crate) fn create(path: &Path, bytes: &[u8], durability: Durability) -> Result<bool, PathError> {
    let temporary = write_beside(path, bytes, durability)?;
    match temporary.persist_noclobber(path) {
        Ok(created) => match sync_parent(path, durability) {
            Ok(()) => Ok(true),
            Err(error) => {
                // What is reported as not created must not be in the way of the next try.
                if is_at(&created, path).unwrap_or(false) {
                    let _ = std::fs::remove_file(path);
                }
                Err(error)
            }
        },
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(PathError::new("create", path, error.error)),
    }
}

/// A complete temporary file in the same folder, so that the last step is one rename.
pub(crate) fn write_beside(
    path: &Path,
    bytes: &[u8],
    durability: Durability,
) -> Result<NamedTempFile, PathError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str());
    let prefix = format!(".{}.", name.unwrap_or("file"));
    let mut builder = tempfile::Builder::new();
    let created = builder.prefix(&prefix).suffix(".tmp").tempfile_in(parent);
    let mut temporary = created.context("create a temporary file beside", path)?;
    temporary.write_all(bytes).context("write", path)?;
    if durability == Durability::PowerCut {
        temporary.as_file().sync_all().context("sync", path)?;
    }
    Ok(temporary)
}

pub(crate) fn sync_parent(path: &Path, durability: Durability) -> Result<(), PathError> {
    match (durability, path.parent()) {
        (Durability::PowerCut, Some(parent)) => sync_dir(parent),
        _ => Ok(()),
    }
}
