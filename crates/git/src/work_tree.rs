//! Changes the person's own work tree, and only when it is clean.
//!
//! These commands run with the person's settings, as if the person had typed them, except for hooks and
//! monitors: the merged work may have changed a file that a hook runs.

use crate::error::GitError;
use crate::process::{Git, shown, split};
use crate::repository::Repository;
use protocol::CommitId;

/// The operations that a person may be in the middle of, by the files that git keeps of them.
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// The state of a person's work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkTree {
    /// The branch that is checked out, such as `refs/heads/main`; `None` if the head is detached.
    pub branch: Option<String>,
    /// What is changed, new or in conflict and not committed.
    pub uncommitted: Vec<String>,
    /// The operation that the person is in the middle of, such as `a rebase`.
    pub operation: Option<&'static str>,
}

impl Repository {
    /// A command in the person's work tree, with the person's settings.
    fn personal<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, words: I) -> Git {
        let git = Git::new(words).folder(self.top());
        let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
        let file = std::env::var_os("GIT_CONFIG_GLOBAL").map(std::path::PathBuf::from);
        match file.or_else(|| Some(home?.join(".gitconfig"))) {
            Some(file) => git.variable("GIT_CONFIG_GLOBAL", file),
            None => git,
        }
    }

    /// The state of the person's work tree.
    pub fn work_tree(&self) -> Result<WorkTree, GitError> {
        let branch = self
            .personal(["symbolic-ref", "--quiet", "HEAD"])
            .output()?;
        let branch = (branch.code == Some(0)).then(|| shown(branch.stdout.trim_ascii_end()));
        let status = self.personal(["status", "--porcelain", "-z", "--untracked-files=normal"]);
        let bytes = status.success()?;
        let uncommitted = split(&bytes).map(|part| shown(part.get(3..).unwrap_or(part)));
        Ok(WorkTree {
            branch,
            uncommitted: uncommitted.collect(),
            operation: self.operation(),
        })
    }

    /// The operation that the person is in the middle of.
    pub fn operation(&self) -> Option<&'static str> {
        let mut all = OPERATIONS.iter();
        let found = all.find(|(name, _)| self.git_folder().join(name).exists());
        found.map(|(_, what)| *what)
    }

    /// The name and address that the person commits with.
    pub fn identity(&self) -> Result<Option<(String, String)>, GitError> {
        let ask = |key: &str| {
            let output = self.personal(["config", "--get", key]).output()?;
            let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok::<_, GitError>(Some(value).filter(|value| !value.is_empty()))
        };
        Ok(ask("user.name")?.zip(ask("user.email")?))
    }

    /// Moves the checked-out branch, the index and the files to a descendant of the branch.
    pub fn fast_forward(&self, to: &CommitId) -> Result<(), GitError> {
        let git = self.personal(["merge", "--ff-only", "--quiet", "--no-autostash"]);
        git.arg(to.as_str()).success().map(drop)
    }
}
