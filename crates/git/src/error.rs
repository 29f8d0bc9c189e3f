//! What can go wrong with git.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a git command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed, or not on PATH")]
    NotInstalled,
    #[error("git {found} is too old: 2.38 or later is needed")]
    TooOld { found: String },
    #[error("{} is not in a git repository", folder.display())]
    NoRepository { folder: PathBuf },
    #[error(
        "{} is a folder inside the repository {}: the team must be in its top folder",
        folder.display(), top.display()
    )]
    NotTheTop { folder: PathBuf, top: PathBuf },
    #[error("the repository has no commit yet: make one first, with `git commit`")]
    NoCommit,
    #[error(
        "the repository is a partial clone, whose missing objects cannot be fetched for others: \
         fetch them first, with `git fetch --refetch --no-filter`"
    )]
    Partial,
    #[error(
        "git does not know who you are: git config --global user.name NAME, and user.email ADDRESS"
    )]
    NoIdentity,
    #[error(
        "team/main of this repository belongs to the team in {}, another work tree of it: work with \
         --tree shared here, or in a clone (`git clone . FOLDER`), or end that team and `rm -r {}`",
        by.display(), team.display()
    )]
    Claimed {
        /// The other work tree.
        by: PathBuf,
        /// Its team's folder.
        team: PathBuf,
    },
    /// The reference has another value than the caller has seen.
    #[error("{name} was changed meanwhile")]
    Moved { name: String },
    #[error("git {command} failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it said.
        message: String,
    },
    #[error("git {command} wrote more than is read, {most} bytes")]
    TooMuchOutput { command: String, most: u64 },
    #[error("git {command} had no room on the disk: {message}")]
    NoRoom { command: String, message: String },
    /// By hand, or because the machine had no memory left.
    #[error("git {command} was killed{message}")]
    Killed { command: String, message: String },
    #[error("git {command} did not end within {} s", limit.as_secs())]
    TooLong { command: String, limit: Duration },
    #[error("git {command} could not be started: {message}")]
    NotStarted { command: String, message: String },
    #[error("git {command} said something that is not understood: {what}")]
    Unexpected { command: String, what: String },
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// What made a git command fail that reads what somebody else has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// What was read: it will fail again.
    Content,
    /// What was read, or a lack of room or memory here that may pass.
    Unclear,
    /// This host.
    Host,
}

impl GitError {
    /// What made a command fail that reads what somebody else has written.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Failed { .. }
            | Self::TooMuchOutput { .. }
            | Self::TooLong { .. }
            | Self::Unexpected { .. } => Blame::Content,
            Self::NoRoom { .. } | Self::Killed { .. } => Blame::Unclear,
            Self::NotInstalled
            | Self::TooOld { .. }
            | Self::NoRepository { .. }
            | Self::NotTheTop { .. }
            | Self::NoCommit
            | Self::Partial
            | Self::NoIdentity
            | Self::Claimed { .. }
            | Self::Moved { .. }
            | Self::NotStarted { .. }
            | Self::File { .. } => Blame::Host,
        }
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.into(),
            source,
        }
    }

    pub(crate) fn unexpected(command: &str, what: impl Into<String>) -> Self {
        Self::Unexpected {
            command: command.to_owned(),
            what: what.into(),
        }
    }
}
