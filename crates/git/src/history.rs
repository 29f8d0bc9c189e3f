//! Commits: how they are related, what they change, and how they are made.

use crate::error::GitError;
use crate::process::{shown, split};
use crate::repository::{Repository, commit};
use protocol::CommitId;

/// The most bytes of the first line of a message that are read.
const MOST_SUBJECT_BYTES: u64 = 4096;

/// A commit to be made.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    pub tree: &'a CommitId,
    pub parents: &'a [&'a CommitId],
    pub message: &'a str,
    /// The name and address of its author.
    pub author: (&'a str, &'a str),
    /// The name and address of whoever makes it.
    pub committer: (&'a str, &'a str),
}

/// How far two commits are apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Distance {
    pub ahead: u64,
    pub behind: u64,
}

/// A file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `A`, `M`, `D` or another sign of git.
    pub kind: String,
    pub path: String,
}

impl Distance {
    /// Reads what `git rev-list --count --left-right` prints.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, GitError> {
        let text = String::from_utf8_lossy(bytes);
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(ahead)), Some(Ok(behind))) => Ok(Self { ahead, behind }),
            _ => Err(GitError::unexpected("rev-list", text)),
        }
    }
}

/// The most characters of the first line of a message.
const MOST_SUBJECT: usize = 1000;

impl Repository {
    /// Whether `commit` is `descendant` or one of its ancestors.
    pub fn contains(&self, descendant: &CommitId, commit: &CommitId) -> Result<bool, GitError> {
        let git = self.neutral(["merge-base", "--is-ancestor"]);
        let git = git.args([commit.as_str(), descendant.as_str()]);
        let output = git.output()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(git.failure(&output)),
        }
    }

    /// The first line of a commit's message, or `None` if the commit is `descendant` or one of its
    /// ancestors.
    pub fn subject_unless_in(
        &self,
        descendant: Option<&CommitId>,
        of: &CommitId,
    ) -> Result<Option<String>, GitError> {
        let git = self.neutral(["log", "-1", "--format=%s", of.as_str()]);
        let git = git.args(descendant.map(|descendant| format!("^{descendant}")));
        let git = git.most_output(MOST_SUBJECT_BYTES);
        let output = git.output()?;
        let bytes = match output.is_cut {
            true => output.stdout,
            false => git.check(output)?,
        };
        let subject = shown(bytes.trim_ascii_end());
        Ok((!bytes.is_empty()).then(|| subject.chars().take(MOST_SUBJECT).collect()))
    }

    /// The tree object of a commit.
    pub fn tree_of(&self, of: &CommitId) -> Result<CommitId, GitError> {
        let git = self.neutral(["rev-parse", "--verify", "--end-of-options"]);
        commit("rev-parse", &git.arg(format!("{of}^{{tree}}")).success()?)
    }

    /// Makes a commit. Nothing refers to it yet.
    pub fn commit(&self, new: &Commit<'_>) -> Result<CommitId, GitError> {
        let mut git = self.neutral(["commit-tree", new.tree.as_str(), "-F", "-"]);
        for parent in new.parents {
            git = git.args(["-p", parent.as_str()]);
        }
        let git = git
            .variable("GIT_AUTHOR_NAME", new.author.0)
            .variable("GIT_AUTHOR_EMAIL", new.author.1)
            .variable("GIT_COMMITTER_NAME", new.committer.0)
            .variable("GIT_COMMITTER_EMAIL", new.committer.1)
            .input(new.message);
        commit("commit-tree", &git.success()?)
    }

    /// The files that `to` has changed since it parted from `from`.
    pub fn changes(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Change>, GitError> {
        let git = self.neutral(["diff", "--name-status", "-z", "--no-renames"]);
        let bytes = git.arg(format!("{from}...{to}")).success()?;
        let mut parts = split(&bytes);
        let mut changes = Vec::new();
        while let (Some(kind), Some(path)) = (parts.next(), parts.next()) {
            changes.push(Change {
                kind: shown(kind),
                path: shown(path),
            });
        }
        Ok(changes)
    }

    /// What `to` has changed since it parted from `from`, as a patch for people.
    pub fn patch(&self, from: &CommitId, to: &CommitId) -> Result<Vec<u8>, GitError> {
        let git = self.neutral(["diff", "--no-ext-diff", "--no-textconv", "--no-color"]);
        git.arg(format!("{from}...{to}")).success()
    }
}
