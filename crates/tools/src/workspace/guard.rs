//! The paths that the file tools must not write.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sandbox::Network;
use sandbox::workspace::{WorkspaceNeeds, guarded_paths, is_environment};

use super::walk::{Walk, lower};
use super::{PathError, Workspace};

/// What must not be written as the disk is now: a command may have changed which files are read by
/// git, so it is found out anew for every write.
#[derive(Debug)]
pub(super) struct Guard {
    /// Relative to the workspace.
    paths: Vec<PathBuf>,
}

impl Guard {
    pub(super) fn of(workspace: &Workspace) -> Self {
        if workspace.outside.is_some() {
            return Self { paths: Vec::new() };
        }
        let home = std::env::var_os("HOME");
        let home = home.and_then(|home| Path::new(&home).canonicalize().ok());
        let guarded = guarded_paths(&WorkspaceNeeds {
            workspace: &workspace.root,
            home: home.as_deref(),
            control: &[],
            secrets: &[],
            programs: &[],
            writable: true,
            network: Network::Off,
        });
        let inside = guarded.unwritable.iter();
        let inside = inside.filter_map(|path| path.strip_prefix(&workspace.root).ok());
        let own = workspace.protected.iter().map(PathBuf::as_path);
        Self {
            paths: own.chain(inside).map(Path::to_owned).collect(),
        }
    }
}

impl Walk {
    /// A protected path is recognized by its name, ignoring case, and by being the same file or folder
    /// under any name.
    pub(super) fn must_not_be_protected(
        &self,
        workspace: &Workspace,
        guard: &Guard,
        path: &str,
    ) -> Result<(), PathError> {
        if let Some(outside) = &workspace.outside {
            return outside.must_be_writable(&self.path(), path);
        }
        let names = self.names();
        let refused = |protected: String| PathError::Protected {
            path: path.to_owned(),
            protected,
        };
        if let Some(first) = names.first()
            && (is_environment(OsStr::new(first)) || first == "head")
        {
            // A folder with a file `HEAD` and a few others is a repository, whose settings run code.
            return Err(refused(first.replace("head", "HEAD")));
        }
        for protected in &guard.paths {
            let parts: Vec<String> = protected.iter().map(lower).collect();
            if names.starts_with(&parts) || self.passes(workspace, protected) {
                return Err(refused(protected.display().to_string()));
            }
        }
        // A repository, or the link of one, in any folder: git runs what its settings name.
        match names.iter().any(|name| name == ".git") {
            true => Err(refused(".git".to_owned())),
            false => Ok(()),
        }
    }
}
