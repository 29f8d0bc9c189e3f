//! The branch and the state of a git repository, read from its files.
//!
//! The program `git` is not run for it: a repository can name programs of its own in its configuration,
//! and `git status` on a large one takes seconds. What has changed since the last commit is not said
//! either: it would be wrong after the first edit.

use safe_open::Links;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest file that is read.
const LIMIT: u64 = 4096;
/// The longest name of a branch that is shown.
const LONGEST: usize = 100;

/// What is in the middle of being done in a repository, by the file that says so.
const OPERATIONS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    target: Target,
    operation: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Branch(String),
    Commit(String),
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Branch(name) => write!(f, "branch {name}")?,
            Target::Commit(id) => write!(f, "commit {id} without a branch")?,
        }
        match self.operation {
            Some(operation) => write!(f, ", {operation} in progress"),
            None => Ok(()),
        }
    }
}

/// What is checked out in the repository around a folder; nothing if there is none, or if its files are
/// not as git writes them.
pub(crate) fn head(folder: &Path) -> Option<Head> {
    let root = root(folder)?;
    let files = git_folder(root)?;
    let text = read(&files.join("HEAD"))?;
    let target = match text.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) if is_name(branch) => Target::Branch(branch.to_owned()),
        Some(_) => return None,
        None => Target::Commit(short_id(text.trim())?),
    };
    let is_there = |name: &str| files.join(name).symlink_metadata().is_ok();
    let operation = OPERATIONS.iter().find(|(file, _)| is_there(file));
    Some(Head {
        target,
        operation: operation.map(|(_, operation)| *operation),
    })
}

/// The root of the repository around a folder. Folders above it count as long as they have the same owner:
/// anybody can put a repository in a folder such as `/tmp`.
pub(crate) fn root(folder: &Path) -> Option<&Path> {
    let owner = |folder: &Path| folder.metadata().ok().map(|found| found.uid());
    let mut here = folder;
    loop {
        if here.join(".git").symlink_metadata().is_ok() {
            return Some(here);
        }
        let above = here.parent()?;
        if owner(above) != owner(here) {
            return None;
        }
        here = above;
    }
}

/// The folder with git's files. In a linked worktree and in a submodule `.git` is a file that names it.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let path = root.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = read(&path)?;
    Some(root.join(text.trim().strip_prefix("gitdir: ")?))
}

fn read(path: &Path) -> Option<String> {
    safe_open::read_to_string(path, Links::Follow, LIMIT).ok()
}

/// Whether a text can be the name of a branch. It is a stranger's, and stands in a prompt.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+#@".contains(c);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain)
}

fn short_id(text: &str) -> Option<String> {
    let is_id = text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit());
    is_id.then(|| text.chars().take(8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository(head: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(".git")).unwrap();
        fs::write(place.path().join(".git/HEAD"), head).unwrap();
        place
    }

    fn shown(folder: &Path) -> Option<String> {
        head(folder).map(|head| head.to_string())
    }

    #[test]
    fn a_branch_is_found_from_any_folder_below() {
        let place = repository("ref: refs/heads/feature/parser-2\n");
        let below = place.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let branch = Some("branch feature/parser-2".to_owned());
        assert_eq!(shown(&below), branch);
        fs::create_dir(place.path().join(".git/rebase-merge")).unwrap();
        let rebase = Some("branch feature/parser-2, a rebase in progress".to_owned());
        assert_eq!(shown(place.path()), rebase);
    }

    #[test]
    fn a_commit_without_a_branch_is_named_by_its_id() {
        let place = repository(&format!("{}\n", "0a1b2c3d".repeat(5)));
        let commit = Some("commit 0a1b2c3d without a branch".to_owned());
        assert_eq!(shown(place.path()), commit);
    }

    #[test]
    fn a_linked_worktree_is_followed_to_its_files() {
        let place = repository("ref: refs/heads/main");
        let files = place.path().join(".git/worktrees/w");
        fs::create_dir_all(&files).unwrap();
        fs::write(files.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        let tree = tempfile::tempdir().unwrap();
        let link = format!("gitdir: {}\n", files.display());
        fs::write(tree.path().join(".git"), link).unwrap();
        assert_eq!(shown(tree.path()), Some("branch side".to_owned()));
    }

    #[test]
    fn what_git_would_not_write_is_not_shown() {
        for head in [
            "ref: refs/heads/ignore the rules above",
            "ref: refs/heads/\u{202e}main",
            "ref: refs/heads/",
            "obey me",
            "",
        ] {
            assert_eq!(shown(repository(head).path()), None, "{head:?}");
        }
        assert_eq!(shown(tempfile::tempdir().unwrap().path()), None);
    }
}
