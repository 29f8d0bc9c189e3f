//! A path outside of the workspace that was allowed for one call.
//!
//! What was allowed is a text, so that the text must be the whole truth: no part of the path may be a link.
//! Then nobody can turn the allowed path into another one, whatever changes between the answer and the call.
//! Whoever wants what a link leads to asks for that path. Secrets and control files stay out of reach,
//! because a person who answers in a hurry should not be the only thing between a model and a key.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use sandbox::workspace::{is_environment, is_secret, protected_names};

use super::walk::lower;
use super::{OpenWorkspaceError, PathError, Workspace, open_root};

/// Folders of the kernel. The files of a process are among them, and with them the keys in its environment.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What the file tools leave alone outside of the workspace, whatever is allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forbidden {
    /// Absolute paths that are not read, each with everything below it.
    pub(crate) secrets: Vec<PathBuf>,
    /// Names that are not written in any folder, besides those that every workspace has.
    pub(crate) control: Vec<String>,
}

/// What is allowed of the whole machine.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    /// Relative to the root folder. What is below it is allowed too.
    allowed: PathBuf,
    forbidden: Forbidden,
}

impl Workspace {
    /// The whole machine, of which only `allowed` and what is below it is used. The path must be absolute,
    /// and without `.` and `..`.
    pub(crate) fn outside(
        allowed: &Path,
        forbidden: Forbidden,
    ) -> Result<Self, OpenWorkspaceError> {
        let root = PathBuf::from("/");
        let relative = allowed.strip_prefix(&root).unwrap_or(allowed);
        let outside = Outside {
            allowed: relative.to_owned(),
            forbidden,
        };
        Ok(Self {
            handle: open_root(&root)?,
            given: root.clone(),
            root,
            protected: Vec::new(),
            outside: Some(outside),
            hidden: None,
        })
    }
}

impl Outside {
    /// Refuses a path relative to the root folder, without links, that is not to be read.
    pub(super) fn must_be_readable(&self, location: &Path, path: &str) -> Result<(), PathError> {
        let is_normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !location.starts_with(&self.allowed) || !location.components().all(is_normal) {
            return Err(PathError::Escapes(path.to_owned()));
        }
        let names: Vec<String> = location.iter().map(lower).collect();
        let kernel = KERNEL.iter().map(Path::new);
        let secrets = self.forbidden.secrets.iter().map(PathBuf::as_path);
        let mut forbidden = kernel.chain(secrets);
        let is_below = |folder: &Path| {
            let folder: Vec<String> = folder.iter().skip(1).map(lower).collect();
            names.starts_with(&folder)
        };
        let has_secret_name = names.iter().any(|name| is_secret(OsStr::new(name)));
        match has_secret_name || forbidden.any(is_below) {
            true => Err(PathError::Secret(path.to_owned())),
            false => Ok(()),
        }
    }

    /// Refuses a path that is not to be written. Whatever folder it is in, it may be the workspace of
    /// somebody.
    pub(super) fn must_be_writable(&self, location: &Path, path: &str) -> Result<(), PathError> {
        self.must_be_readable(location, path)?;
        let own = &self.forbidden.control;
        for name in location.iter().map(lower) {
            if protected_names().any(|protected| protected == name)
                || own.contains(&name)
                || is_environment(OsStr::new(&name))
            {
                return Err(PathError::Protected {
                    path: path.to_owned(),
                    protected: name,
                });
            }
        }
        Ok(())
    }
}

/// Refuses an open file of the kernel, wherever it is mounted.
pub(super) fn must_not_be_kernel(file: impl AsFd, path: &str) -> Result<(), PathError> {
    let system = fstatfs(file).map_err(PathError::errno(path))?;
    match [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&system.filesystem_type()) {
        true => Err(PathError::Secret(path.to_owned())),
        false => Ok(()),
    }
}
