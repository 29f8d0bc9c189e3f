//! Runs git in a tree, only inside a sandbox, because the tree's owner may be hostile.

use crate::error::GitError;
use crate::history::Distance;
use crate::process::{Git, Output, shown, split};
use crate::repository::commit;
use command::Surroundings;
use protocol::CommitId;
use sandbox::Session;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a command in a tree may take.
const LIMIT: Duration = Duration::from_secs(120);
/// The most names of changed files that are listed.
const MOST_NAMES: usize = 200;

/// A tree, and the sandbox that commands in it run in.
#[derive(Debug)]
pub struct SandboxedTree {
    pub(crate) folder: PathBuf,
    surroundings: Surroundings,
}

/// What git in the tree says is in the tree. A hostile tree may lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The branch that is checked out; `None` if there is none.
    pub branch: Option<String>,
    /// `None` if there is no commit.
    pub head: Option<CommitId>,
    /// The files that are changed, new or in conflict and not committed, for people; ignored files are
    /// left out.
    pub uncommitted: Vec<String>,
}

impl SandboxedTree {
    /// Commands in the tree `folder` run in these surroundings. They should show the objects that the tree
    /// borrows.
    pub fn new(folder: &Path, surroundings: Surroundings) -> Self {
        Self {
            folder: folder.to_owned(),
            surroundings,
        }
    }

    /// Gives each command in the tree at most this many bytes of memory, where there is a sandbox.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        if let Surroundings::Sandbox { description, .. } = &mut self.surroundings {
            description.limits.memory_bytes = Some(bytes);
        }
        self
    }

    /// Prepares a git process in the tree. The caller spawns and finishes it, and keeps the session until
    /// then.
    pub(crate) fn prepare(&self, git: &Git) -> Result<(Command, Option<Session>), GitError> {
        let mut command = Command::new("git");
        command.args(git.words()).current_dir(&self.folder);
        let mut own = git.environment();
        // If the tree's own repository is broken, git must not use a repository in a folder above it.
        own.push(("GIT_DIR".into(), self.folder.join(".git").into()));
        own.push(("GIT_WORK_TREE".into(), self.folder.clone().into()));
        let session = match &self.surroundings {
            Surroundings::Inherited => {
                command.envs(own);
                None
            }
            Surroundings::Environment(variables) => {
                command
                    .env_clear()
                    .envs(variables.iter().cloned())
                    .envs(own);
                None
            }
            Surroundings::Sandbox {
                description,
                layers,
                ..
            } => {
                let mut description = description.clone();
                description.environment.extend(own);
                let prepared = sandbox::prepare(&mut command, &description, layers);
                Some(prepared.map_err(|error| GitError::NotStarted {
                    command: git.name(),
                    message: error.to_string(),
                })?)
            }
        };
        Ok((command, session))
    }

    pub(crate) fn output(&self, git: &Git) -> Result<Output, GitError> {
        let git = git.clone().limit(LIMIT);
        let (command, session) = self.prepare(&git)?;
        let output = git.run(command).map_err(|error| match (&session, error) {
            (Some(session), GitError::NotStarted { command, message }) => GitError::NotStarted {
                command,
                message: session.explain(std::io::Error::other(message)).to_string(),
            },
            (_, error) => error,
        });
        drop(session);
        output
    }

    pub(crate) fn success(&self, git: &Git) -> Result<Vec<u8>, GitError> {
        let output = self.output(git)?;
        git.check(output)
    }

    /// What is in the tree.
    pub fn status(&self) -> Result<Status, GitError> {
        let git = Git::new(["status", "--porcelain=v2", "--branch", "-z"]);
        let git = git.args(["--untracked-files=all", "--ignore-submodules=all"]);
        let bytes = self.success(&git)?;
        let mut parts = split(&bytes);
        let mut status = Status::default();
        while let Some(part) = parts.next() {
            let text = String::from_utf8_lossy(part);
            let mut words = text.splitn(3, ' ');
            let header = (words.next(), words.next(), words.next());
            if let (Some("#"), Some("branch.oid"), Some(id)) = header {
                status.head = CommitId::new(id).ok();
            } else if let (Some("#"), Some("branch.head"), Some(name)) = header {
                status.branch = (name != "(detached)").then(|| shown(name.as_bytes()));
            } else if let Some(name) = changed_name(part) {
                if part.starts_with(b"2 ") {
                    // The old name of a renamed file follows.
                    parts.next();
                }
                if status.uncommitted.len() < MOST_NAMES {
                    status.uncommitted.push(shown(name));
                }
            }
        }
        Ok(status)
    }

    /// The commits that references of the tree name: branches, tags and stashes.
    pub fn tips(&self) -> Result<Vec<(String, CommitId)>, GitError> {
        let git = Git::new(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let bytes = self.success(&git)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.filter_map(|(id, name)| Some((name.to_owned(), CommitId::new(id).ok()?)));
        Ok(found.collect())
    }

    /// Makes a commit of everything that is not committed and not ignored, and leaves the branch and the
    /// index of the tree alone. The sandbox must be writable.
    pub fn snapshot(&self, head: &CommitId, message: &str) -> Result<CommitId, GitError> {
        let index = self.folder.join(".git/snapshot.index");
        let run = |git: Git| self.success(&git.variable("GIT_INDEX_FILE", &index));
        run(Git::new(["read-tree", head.as_str()]))?;
        run(Git::new(["add", "--all", "--", "."]))?;
        let tree = commit("write-tree", &run(Git::new(["write-tree"]))?)?;
        let make = Git::new(["commit-tree", tree.as_str(), "-p", head.as_str()]);
        commit("commit-tree", &run(make.args(["-m", message]))?)
    }

    /// Sets a reference of the tree. The sandbox must be writable.
    pub fn set_reference(&self, name: &str, to: &CommitId) -> Result<(), GitError> {
        let git = Git::new(["update-ref", name, to.as_str()]);
        self.success(&git).map(drop)
    }

    /// Rebases the checked-out branch. If there are conflicts it is left as it was, and they are the
    /// error. The sandbox must be writable.
    pub fn rebase(&self, onto: &CommitId) -> Result<(), GitError> {
        let git = Git::new(["rebase", "--quiet", "--no-autostash", onto.as_str()]);
        let output = self.output(&git)?;
        if output.code == Some(0) {
            return Ok(());
        }
        let error = git.failure(&output);
        // If no rebase was begun, there is nothing to abort.
        let _ = self.output(&Git::new(["rebase", "--abort"]));
        Err(error)
    }

    /// How many commits `of` has that `from` has not, and the other way round.
    pub fn distance(&self, of: &CommitId, from: &CommitId) -> Result<Distance, GitError> {
        let git = Git::new(["rev-list", "--count", "--left-right"]);
        let bytes = self.success(&git.arg(format!("{of}...{from}")))?;
        Distance::parse(&bytes)
    }

    /// What the tree has committed since it parted from `from`, as a patch for people.
    pub fn patch(&self, from: &CommitId) -> Result<Vec<u8>, GitError> {
        let git = Git::new(["diff", "--no-ext-diff", "--no-textconv", "--no-color"]);
        self.success(&git.arg(format!("{from}...HEAD")))
    }

    /// What is not committed, as a patch for people; new files are left out.
    pub fn uncommitted_patch(&self) -> Result<Vec<u8>, GitError> {
        let git = Git::new([
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "HEAD",
        ]);
        self.success(&git)
    }
}

/// The name in a line of `status --porcelain=v2` about a file.
fn changed_name(line: &[u8]) -> Option<&[u8]> {
    let fields = match line.first()? {
        b'?' => 1,
        b'1' => 8,
        b'2' => 9,
        b'u' => 10,
        _ => return None,
    };
    line.splitn(fields + 1, |byte| *byte == b' ').nth(fields)
}
