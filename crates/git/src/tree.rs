//! Trees: repositories of their own that borrow the objects of another.

use crate::error::GitError;
use crate::process::Git;
use crate::repository::Repository;
use protocol::CommitId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of a repository's settings.
const SETTINGS_FILE: &str = "config";

/// A tree to be made.
#[derive(Debug, Clone)]
pub struct NewTree<'a> {
    /// A folder that does not exist, in one that does.
    pub path: &'a Path,
    /// The branch that is checked out, such as `team/alice`.
    pub branch: &'a str,
    /// Where the branch begins.
    pub base: &'a CommitId,
    /// The name and address of whoever commits in it.
    pub author: (&'a str, &'a str),
    /// A reference in the tree for the commit that it begins at, such as `refs/remotes/team/main`.
    pub upstream: &'a str,
}

/// A tree on the disk. Whoever works in it may have changed everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub path: PathBuf,
}

impl Repository {
    /// Makes a tree. It appears at its path when it is complete; what a killed process has left of an
    /// earlier attempt is removed.
    pub fn create_tree(&self, new: &NewTree<'_>) -> Result<Tree, GitError> {
        let unfinished = unfinished(new.path);
        remove_folder(&unfinished)?;
        self.fill(&unfinished, new)?;
        fs::rename(&unfinished, new.path)
            .map_err(|error| GitError::file("rename a new tree to", new.path, error))?;
        Ok(Tree {
            path: new.path.to_owned(),
        })
    }

    /// Makes an empty repository that borrows the objects of this one.
    pub(crate) fn begin_tree(&self, folder: &Path, new: &NewTree<'_>) -> Result<(), GitError> {
        let format = match new.base.as_str().len() {
            64 => "sha256",
            _ => "sha1",
        };
        let init = Git::new(["init", "--quiet", "--template="]);
        let init = init.arg(format!("--object-format={format}"));
        let init = init.arg(format!("--initial-branch={}", new.branch));
        init.arg("--").arg(folder).success()?;
        let git = folder.join(".git");
        let info = git.join("objects/info");
        let write = |path: PathBuf, text: String| {
            fs::write(&path, text).map_err(|error| GitError::file("write", path, error))
        };
        fs::create_dir_all(&info).map_err(|error| GitError::file("create", &info, error))?;
        let objects = self.objects();
        write(info.join("alternates"), format!("{}\n", objects.display()))?;
        let shallow = self.common().join("shallow");
        if shallow.exists() {
            fs::copy(&shallow, git.join("shallow"))
                .map_err(|error| GitError::file("copy", shallow, error))?;
        }
        let path = git.join(SETTINGS_FILE);
        let config = fs::read_to_string(&path);
        let config = config.map_err(|error| GitError::file("read", &path, error))?;
        let (name, address) = new.author;
        let own = format!(
            "[user]\n\tname = {}\n\temail = {}\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n",
            quoted(name),
            quoted(address)
        );
        write(path, format!("{config}{own}"))
    }

    fn fill(&self, folder: &Path, new: &NewTree<'_>) -> Result<(), GitError> {
        self.begin_tree(folder, new)?;
        // Uses all cores, because the checkout takes most of the time.
        let reset = Git::new(["-c", "checkout.workers=0", "reset", "--quiet", "--hard"]);
        reset.arg(new.base.as_str()).folder(folder).success()?;
        let upstream = Git::new(["update-ref", new.upstream, new.base.as_str()]);
        upstream.folder(folder).success().map(drop)
    }
}

/// Where a tree is made before it is complete. Names of members have no dots.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

/// Removes a folder with everything in it, if it is there.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::file("remove", folder, error))
        }
        _ => Ok(()),
    }
}

/// A value for a file of settings.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace(['\n', '\r'], " "))
}
