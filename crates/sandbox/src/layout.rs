//! Turns a description into a list of mounts.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::description::Description;
use crate::error::PrepareError;
use crate::mounts::{DEVICE, FROZEN, Mount, VISIBLE};

/// The device nodes that are visible. Everything else in `/dev` is created anew or missing.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Names in `/dev` that are links everywhere.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
const DEFAULT_TMP_BYTES: u64 = 2 << 30;
const SHARED_MEMORY_BYTES: u64 = 1 << 30;
/// The mode of a folder in which everybody has files.
const SHARED_MODE: &str = "1777";

/// What is at a path of the new tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Readable {
        identity: (u64, u64),
        folder: bool,
    },
    Writable {
        identity: (u64, u64),
    },
    /// Writable, but a mount of its own because something below it is protected.
    Pinned,
    Protected,
    Hidden,
    Memory {
        bytes: u64,
    },
    Devices,
    Processes,
    Link(PathBuf),
}

impl Entry {
    /// Whether mount points below it have to be created, because nothing of the machine is there.
    const fn is_memory(&self) -> bool {
        match self {
            Self::Memory { .. } | Self::Devices => true,
            Self::Readable { .. }
            | Self::Writable { .. }
            | Self::Pinned
            | Self::Protected
            | Self::Hidden
            | Self::Processes
            | Self::Link(_) => false,
        }
    }
}

/// The planned tree.
#[derive(Debug, Default)]
struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
}

/// The mounts for a description, in the order in which they have to be made.
pub(crate) fn mounts(wanted: &Description) -> Result<Vec<Mount>, PrepareError> {
    let mut tree = Tree::default();
    let bytes = wanted.limits.tmp_bytes.unwrap_or(DEFAULT_TMP_BYTES);
    tree.add("/tmp", Entry::Memory { bytes });
    tree.add("/var/tmp", Entry::Memory { bytes });
    tree.add("/dev", Entry::Devices);
    tree.add("/proc", Entry::Processes);
    for path in &wanted.readable {
        tree.add_readable(path)?;
    }
    for path in &wanted.writable {
        tree.add_writable(path)?;
    }
    // What is hidden in a protected folder is added after the folder. Otherwise the folder would be mounted
    // writable for its sake.
    let protected = with_targets(&wanted.read_only);
    let is_inside = |path: &PathBuf| {
        let mut above = path.ancestors().skip(1);
        above.any(|above| protected.iter().any(|path| path == above))
    };
    let hidden = with_targets(&wanted.hidden).into_iter();
    let (inside, hidden): (Vec<_>, Vec<_>) = hidden.partition(is_inside);
    for path in &hidden {
        tree.add_hidden(path)?;
    }
    for path in &protected {
        tree.add_protected(path)?;
    }
    for path in &inside {
        tree.add_hidden(path)?;
    }
    tree.remove_needless();
    let mounts = tree.emit()?;
    // The number of a mount must fit into the report of its failure.
    if mounts.len() > usize::from(u16::MAX) {
        return Err(io::Error::from_raw_os_error(libc::E2BIG).into());
    }
    Ok(mounts)
}

impl Tree {
    fn add(&mut self, path: impl Into<PathBuf>, entry: Entry) {
        self.entries.insert(path.into(), entry);
    }

    /// The nearest entry above a path.
    fn ground(&self, path: &Path) -> Option<(&Path, &Entry)> {
        let mut above = path.ancestors().skip(1);
        above.find_map(|path| {
            let (path, entry) = self.entries.get_key_value(path)?;
            Some((path.as_path(), entry))
        })
    }

    fn add_readable(&mut self, path: &Path) -> Result<(), PrepareError> {
        let Some(real) = self.resolve(path)? else {
            return Ok(());
        };
        let metadata = lstat(&real)?;
        let entry = Entry::Readable {
            identity: (metadata.dev(), metadata.ino()),
            folder: metadata.is_dir(),
        };
        self.entries.entry(real).or_insert(entry);
        Ok(())
    }

    fn add_writable(&mut self, path: &Path) -> Result<(), PrepareError> {
        let missing = || PrepareError::path(path, io::ErrorKind::NotFound.into());
        let real = self.resolve(path)?.ok_or_else(missing)?;
        if real.parent().is_none() {
            return Err(PrepareError::Root(real));
        }
        let metadata = lstat(&real)?;
        if nix::unistd::geteuid().is_root() && metadata.uid() != 0 {
            return Err(PrepareError::ForeignOwner {
                path: real,
                owner: metadata.uid(),
            });
        }
        let identity = (metadata.dev(), metadata.ino());
        self.add(real, Entry::Writable { identity });
        Ok(())
    }

    /// Resolves the links of a path. They are recreated in the new tree, so that the path works there too.
    fn resolve(&mut self, path: &Path) -> Result<Option<PathBuf>, PrepareError> {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(PrepareError::path(path, error)),
        };
        if real != path {
            let to = match fs::read_link(path) {
                Ok(to) => to,
                Err(_) => real.clone(),
            };
            self.add(path, Entry::Link(to));
        }
        Ok(Some(real))
    }

    fn add_hidden(&mut self, path: &Path) -> Result<(), PrepareError> {
        if !exists(path)? {
            return Ok(());
        }
        let is_shown = match self.ground(path) {
            Some((
                _,
                Entry::Readable { .. } | Entry::Writable { .. } | Entry::Pinned | Entry::Protected,
            )) => true,
            Some(_) | None => false,
        };
        if is_shown || self.entries.contains_key(path) {
            self.pin_above(path);
            self.add(path, Entry::Hidden);
        }
        Ok(())
    }

    fn add_protected(&mut self, path: &Path) -> Result<(), PrepareError> {
        if !exists(path)? || self.entries.contains_key(path) {
            return Ok(());
        }
        if let Some((_, Entry::Writable { .. } | Entry::Pinned)) = self.ground(path) {
            self.pin_above(path);
            self.add(path, Entry::Protected);
        }
        Ok(())
    }

    /// Keeps the folders between a writable path and something protected in it from being renamed.
    fn pin_above(&mut self, path: &Path) {
        let Some((top, Entry::Writable { .. } | Entry::Pinned)) = self.ground(path) else {
            return;
        };
        let top = top.to_owned();
        let between = path.ancestors().skip(1).take_while(|above| *above != top);
        for above in between.map(Path::to_owned).collect::<Vec<_>>() {
            self.add(above, Entry::Pinned);
        }
    }

    /// Removes entries that a readable folder above them already shows.
    fn remove_needless(&mut self) {
        let is_needless = |(path, entry): &(&PathBuf, &Entry)| {
            let above = self.ground(path);
            matches!(entry, Entry::Readable { .. })
                && matches!(above, Some((_, Entry::Readable { .. })))
        };
        let needless = self.entries.iter().filter(is_needless);
        let needless: Vec<PathBuf> = needless.map(|(path, _)| path.clone()).collect();
        for path in needless {
            self.entries.remove(&path);
        }
    }

    fn emit(&self) -> Result<Vec<Mount>, PrepareError> {
        let mut mounts = Vec::new();
        for (path, entry) in &self.entries {
            let ground = self.ground(path);
            let in_memory = ground.is_none_or(|(_, entry)| entry.is_memory());
            if in_memory {
                let top = ground.map_or(Path::new("/"), |(path, _)| path);
                let between = path.ancestors().skip(1).take_while(|above| *above != top);
                let mut between: Vec<&Path> = between.collect();
                between.reverse();
                for above in between {
                    mounts.push(Mount::Folder(relative(above)?));
                }
            }
            self.emit_entry(&mut mounts, path, entry, in_memory)?;
        }
        Ok(mounts)
    }

    fn emit_entry(
        &self,
        mounts: &mut Vec<Mount>,
        path: &Path,
        entry: &Entry,
        in_memory: bool,
    ) -> Result<(), PrepareError> {
        let target = relative(path)?;
        let is_folder = !matches!(entry, Entry::Readable { folder: false, .. });
        if in_memory && !matches!(entry, Entry::Link(_)) {
            mounts.push(match is_folder {
                true => Mount::Folder(target.clone()),
                false => Mount::File(target.clone()),
            });
        }
        let tree = |identity, attributes| -> Result<Mount, PrepareError> {
            Ok(Mount::Tree {
                source: text(path)?,
                identity,
                target: target.clone(),
                attributes,
            })
        };
        match entry {
            Entry::Readable { identity, .. } => mounts.push(tree(*identity, FROZEN)?),
            Entry::Writable { identity } => mounts.push(tree(*identity, VISIBLE)?),
            Entry::Pinned => mounts.push(Mount::Again {
                target,
                attributes: VISIBLE,
            }),
            Entry::Protected => mounts.push(Mount::Again {
                target,
                attributes: FROZEN,
            }),
            Entry::Hidden => mounts.push(Mount::Cover(target)),
            Entry::Memory { bytes } => mounts.push(memory(target, SHARED_MODE, *bytes)?),
            Entry::Devices => devices(mounts)?,
            Entry::Processes => mounts.push(Mount::Processes(target)),
            // Where the machine's own tree is mounted, its link is visible already.
            Entry::Link(to) if in_memory => mounts.push(Mount::Link {
                target,
                to: text(to)?,
            }),
            Entry::Link(_) => {}
        }
        Ok(())
    }
}

/// The paths and, for links among them, also what they lead to: protecting a link alone would not protect
/// its target.
fn with_targets(paths: &[PathBuf]) -> Vec<PathBuf> {
    let is_link =
        |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let targets = paths.iter().filter(is_link);
    let targets = targets.filter_map(|path| fs::canonicalize(path).ok());
    paths.iter().cloned().chain(targets).collect()
}

fn devices(mounts: &mut Vec<Mount>) -> Result<(), PrepareError> {
    let dev = Path::new("/dev");
    // It must not be writable for others, or the kernel refuses to open its devices with `O_CREAT`.
    mounts.push(memory(relative(dev)?, "0755", 1 << 16)?);
    for name in DEVICES {
        let path = dev.join(name);
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let target = relative(&path)?;
        mounts.push(Mount::File(target.clone()));
        mounts.push(Mount::Tree {
            source: text(&path)?,
            identity: (metadata.dev(), metadata.ino()),
            target,
            attributes: DEVICE,
        });
    }
    for (name, to) in DEVICE_LINKS {
        mounts.push(Mount::Link {
            target: relative(&dev.join(name))?,
            to: text(Path::new(to))?,
        });
    }
    let shared = relative(&dev.join("shm"))?;
    mounts.push(Mount::Folder(shared.clone()));
    mounts.push(memory(shared, SHARED_MODE, SHARED_MEMORY_BYTES)?);
    let terminals = relative(&dev.join("pts"))?;
    mounts.push(Mount::Folder(terminals.clone()));
    mounts.push(Mount::Terminals(terminals));
    Ok(())
}

fn memory(target: CString, mode: &str, bytes: u64) -> Result<Mount, PrepareError> {
    let options = format!("mode={mode},size={bytes}");
    Ok(Mount::Memory {
        target,
        options: CString::new(options).map_err(io::Error::from)?,
    })
}

/// Whether anything is at a path. A dangling link counts as well.
fn exists(path: &Path) -> Result<bool, PrepareError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(PrepareError::path(path, error)),
    }
}

/// Whether there is nothing at a path, as far as this user can know.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

fn lstat(path: &Path) -> Result<fs::Metadata, PrepareError> {
    fs::symlink_metadata(path).map_err(|error| PrepareError::path(path, error))
}

/// A path as the kernel takes it.
pub(crate) fn text(path: &Path) -> Result<CString, PrepareError> {
    let text = CString::new(path.as_os_str().as_bytes());
    text.map_err(|error| PrepareError::path(path, error.into()))
}

/// The path relative to the new root, as the kernel takes it.
fn relative(path: &Path) -> Result<CString, PrepareError> {
    text(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests;
