//! The repository of a person.

use crate::error::GitError;
use crate::process::Git;
use protocol::CommitId;
use std::fs;
use std::path::{Path, PathBuf};

/// The first version with `git merge-tree --write-tree`.
const OLDEST: (u32, u32) = (2, 38);

/// The repository of a person, with the neutral git folder for work on its objects.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The top folder of the work tree.
    top: PathBuf,
    /// The git folder of this work tree.
    git_folder: PathBuf,
    /// What all work trees of the repository share.
    common: PathBuf,
    /// A git folder without settings.
    neutral: PathBuf,
}

/// The version of git, such as `2.47.3`, or why there is none that can be used.
pub fn version_of() -> Result<String, GitError> {
    let line = Git::new(["version"]).line()?;
    let version = line.split_whitespace().nth(2).unwrap_or_default();
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let first_two = (numbers.next().flatten(), numbers.next().flatten());
    match first_two {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(version.to_owned()),
        _ => Err(GitError::TooOld { found: line }),
    }
}

impl Repository {
    /// The repository whose top folder is `folder`. `neutral` is where its neutral git folder is, or is
    /// made.
    pub fn open(folder: &Path, neutral: &Path) -> Result<Self, GitError> {
        version_of()?;
        let folder =
            fs::canonicalize(folder).map_err(|error| GitError::file("resolve", folder, error))?;
        let ask = Git::new([
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-object-format",
        ])
        .folder(&folder);
        let output = ask.output()?;
        if output.code != Some(0) {
            // Git refuses a repository of another owner, and its own message is shown.
            let is_in_one = folder.ancestors().any(|above| above.join(".git").exists());
            return match is_in_one {
                false => Err(GitError::NoRepository { folder }),
                true => Err(ask.failure(&output)),
            };
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let mut line = || lines.next();
        let (Some(top), Some(git_folder), Some(common), Some(format)) =
            (line(), line(), line(), line())
        else {
            return Err(GitError::unexpected("rev-parse", text));
        };
        let git_folder = PathBuf::from(git_folder);
        let top = PathBuf::from(top);
        if top != folder {
            return Err(GitError::NotTheTop { folder, top });
        }
        let common =
            fs::canonicalize(common).map_err(|error| GitError::file("resolve", common, error))?;
        let repository = Self {
            top,
            git_folder,
            common,
            neutral: neutral.to_owned(),
        };
        if repository.is_partial()? {
            return Err(GitError::Partial);
        }
        repository.make_neutral(format)?;
        Ok(repository)
    }

    /// The top folder of the work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder of its objects. Trees borrow from it, so that their sandboxes must show it.
    pub fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// The folders that trees need to read: of its own objects, and of those that it borrows itself.
    pub fn object_folders(&self) -> Vec<PathBuf> {
        let own = self.objects();
        let borrowed = fs::read_to_string(own.join("info/alternates")).unwrap_or_default();
        let borrowed = borrowed.lines().map(|line| own.join(line));
        let borrowed: Vec<PathBuf> = borrowed
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        [own].into_iter().chain(borrowed).collect()
    }

    pub(crate) fn git_folder(&self) -> &Path {
        &self.git_folder
    }

    pub(crate) fn common(&self) -> &Path {
        &self.common
    }

    fn is_partial(&self) -> Result<bool, GitError> {
        let ask = self.own(["config", "--get", "extensions.partialClone"]);
        Ok(ask.output()?.code == Some(0))
    }

    /// Makes the neutral git folder, if it is not there. Several processes may do so at the same time.
    fn make_neutral(&self, format: &str) -> Result<(), GitError> {
        if self.neutral.join("HEAD").is_file() {
            return Ok(());
        }
        let format = format!("--object-format={format}");
        let init = Git::new(["init", "--quiet", "--bare", "--template=", &format]);
        init.arg("--").arg(&self.neutral).success().map(drop)
    }

    /// A command on the references of the repository.
    pub(crate) fn own<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, words: I) -> Git {
        Git::new(words)
            .variable("GIT_DIR", &self.common)
            .folder(&self.common)
    }

    /// A command on the objects of the repository, without any settings.
    pub(crate) fn neutral<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, words: I) -> Git {
        let git = Git::new(words)
            .variable("GIT_DIR", &self.neutral)
            .variable("GIT_OBJECT_DIRECTORY", self.objects())
            .folder(&self.neutral);
        let shallow = self.common.join("shallow");
        match shallow.exists() {
            true => git.variable("GIT_SHALLOW_FILE", shallow),
            false => git,
        }
    }

    /// The commit that the work tree is at.
    pub fn head(&self) -> Result<CommitId, GitError> {
        if let Some(head) = self.loose_head() {
            return Ok(head);
        }
        let ask = Git::new(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).folder(&self.top);
        let output = ask.output()?;
        match output.code {
            Some(0) => commit("rev-parse", &output.stdout),
            _ => Err(GitError::NoCommit),
        }
    }
}

/// A commit that a command printed.
pub(crate) fn commit(command: &str, bytes: &[u8]) -> Result<CommitId, GitError> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    CommitId::new(text).map_err(|_| GitError::unexpected(command, text))
}
