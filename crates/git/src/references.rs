//! References of the repository. Each change names the value it starts from.

use crate::error::GitError;
use crate::repository::{Repository, commit};
use protocol::CommitId;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// After this a lock of a reference is left by a git that was killed: a change takes milliseconds.
const STALE_LOCK: Duration = Duration::from_secs(20);

/// What the head of a work tree says in a repository whose references are not files.
const STORED_ELSEWHERE: &str = "refs/heads/.invalid";

impl Repository {
    /// The commit that a reference names, such as `refs/heads/main`. `None` if there is none.
    pub fn reference(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        match self.loose(name) {
            Some(commit) => Ok(Some(commit)),
            None => self.ask_reference(name),
        }
    }

    /// The commit in the file of a reference, for which no process is needed. `None` if the reference is
    /// stored in another way, or not there.
    fn loose(&self, name: &str) -> Option<CommitId> {
        if name.contains("..") {
            return None;
        }
        let text = fs::read_to_string(self.common().join(name)).ok()?;
        CommitId::new(text.trim_end()).ok()
    }

    /// The commit that the work tree is at, by the files alone. `None` if they do not tell.
    pub(crate) fn loose_head(&self) -> Option<CommitId> {
        let text = fs::read_to_string(self.git_folder().join("HEAD")).ok()?;
        match text.strip_prefix("ref:") {
            Some(name) => self.loose(name.trim()),
            None => CommitId::new(text.trim_end()).ok(),
        }
    }

    fn ask_reference(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let ask = self.own(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let ask = ask.arg(format!("{name}^{{commit}}"));
        let output = ask.output()?;
        match output.code {
            Some(0) => commit("rev-parse", &output.stdout).map(Some),
            _ => Ok(None),
        }
    }

    /// All references below a prefix such as `refs/team/`, with their commits.
    pub fn references(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let list = self.own(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let text = list.arg(prefix).line()?;
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .map(|(id, name)| Ok((name.to_owned(), commit("for-each-ref", id.as_bytes())?)))
            .collect()
    }

    /// A reference that keeps another one from being made: git cannot have `refs/heads/a` beside
    /// `refs/heads/a/b`.
    pub fn in_the_way_of(&self, name: &str) -> Result<Option<String>, GitError> {
        let mut above = name;
        while let Some((folder, _)) = above.rsplit_once('/') {
            above = folder;
            if above.matches('/').count() >= 2 && self.reference(above)?.is_some() {
                return Ok(Some(above.to_owned()));
            }
        }
        let below = self.references(&format!("{name}/"))?;
        Ok(below.into_iter().next().map(|(name, _)| name))
    }

    /// Moves a reference from the value that the caller has seen, or creates it if that is `None`.
    /// If it has another value now, nothing is changed and the error is [`GitError::Moved`].
    pub fn move_reference(
        &self,
        name: &str,
        to: &CommitId,
        from: Option<&CommitId>,
        why: &str,
    ) -> Result<(), GitError> {
        let zero = "0".repeat(to.as_str().len());
        let from_text = from.map_or(zero.as_str(), CommitId::as_str);
        let change = self.own(["update-ref", "--create-reflog", "-m", why]);
        let change = change.args([name, to.as_str(), from_text]);
        let mut output = change.output()?;
        if output.code != Some(0) && self.remove_stale_lock(name) {
            output = change.output()?;
        }
        if output.code == Some(0) {
            return Ok(());
        }
        match self.reference(name)?.as_ref() == from {
            true => Err(change.failure(&output)),
            false => Err(GitError::Moved {
                name: name.to_owned(),
            }),
        }
    }

    /// Deletes a reference that has this value.
    pub fn delete_reference(&self, name: &str, from: &CommitId) -> Result<(), GitError> {
        let change = self.own(["update-ref", "-d", name, from.as_str()]);
        change.success().map(drop)
    }

    /// The work trees that have a branch checked out, such as `refs/heads/main`, or are rebasing it.
    pub fn checked_out(&self, branch: &str) -> Result<Vec<PathBuf>, GitError> {
        let rebasing = self.rebasing(branch);
        let may_be = |head: String| head.contains(branch) || head.contains(STORED_ELSEWHERE);
        if !self.heads().any(may_be) {
            return Ok(rebasing);
        }
        let list = self
            .own(["worktree", "list", "--porcelain", "-z"])
            .success()?;
        let mut folder = None;
        let mut found = rebasing;
        for line in list.split(|byte| *byte == 0) {
            let line = String::from_utf8_lossy(line);
            if let Some(path) = line.strip_prefix("worktree ") {
                folder = Some(PathBuf::from(path));
            } else if line.strip_prefix("branch ") == Some(branch) {
                found.extend(folder.clone());
            }
        }
        Ok(found)
    }

    /// The git folders of all work trees.
    fn git_folders(&self) -> impl Iterator<Item = PathBuf> {
        let linked = fs::read_dir(self.common().join("worktrees"));
        let linked = linked.into_iter().flatten().flatten();
        let folders = linked.map(|entry| entry.path());
        std::iter::once(self.common().to_owned()).chain(folders)
    }

    /// What the heads of all work trees say.
    fn heads(&self) -> impl Iterator<Item = String> {
        let folders = self.git_folders();
        folders.filter_map(|folder| fs::read_to_string(folder.join("HEAD")).ok())
    }

    /// The work trees that are rebasing a branch. No head names it meanwhile, and git gives up at the end if it
    /// has moved.
    fn rebasing(&self, branch: &str) -> Vec<PathBuf> {
        let is_rebasing = |folder: &PathBuf| {
            let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
            let mut names = names
                .iter()
                .map(|name| fs::read_to_string(folder.join(name)));
            names.any(|name| name.is_ok_and(|name| name.trim_end() == branch))
        };
        let work_tree = |folder: PathBuf| {
            // A linked work tree is named in its git folder, by the path of its `.git`.
            let linked = fs::read_to_string(folder.join("gitdir"));
            let inside = linked.map_or(folder, |path| PathBuf::from(path.trim_end()));
            inside.parent().map_or(inside.clone(), PathBuf::from)
        };
        self.git_folders()
            .filter(is_rebasing)
            .map(work_tree)
            .collect()
    }

    /// Removes the lock that a killed git has left of a reference. Returns whether there was one.
    fn remove_stale_lock(&self, name: &str) -> bool {
        let lock = self.common().join(format!("{name}.lock"));
        let age = fs::symlink_metadata(&lock).and_then(|found| found.modified());
        let is_stale = age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STALE_LOCK));
        is_stale && fs::remove_file(&lock).is_ok()
    }
}
