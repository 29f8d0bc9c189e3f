//! What can go wrong with trees and submissions.

use git::GitError;
use protocol::{AgentName, SubmissionId};
use rules::StepRefusal;
use std::io;
use std::path::PathBuf;
use teamdir::{
    LockError, PathError, RepairError, RosterError, SendError, StaleFileError, SubmissionError,
    TeamFileError,
};

/// Why work on trees or submissions was not done.
#[derive(Debug, thiserror::Error)]
pub enum IntegrationError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("there is no member '{0}'; see `team-lead status`")]
    UnknownMember(String),
    #[error(
        "'{0}' has no tree of its own: only members that were spawned with --tree own submit work"
    )]
    NoTree(AgentName),
    #[error(
        "'{0}' cannot have a tree of its own: team/{0} is the team's own branch; choose another name"
    )]
    ReservedName(AgentName),
    #[error(
        "the branch {0} is in the way: git cannot have it beside team/main, the team's branch; rename it, \
         with `git branch -m {0} OTHER`, or work with --tree shared"
    )]
    BranchInTheWay(String),
    #[error("the workspace is in the middle of {0}: finish or abort it first")]
    Operation(&'static str),
    #[error("'{0}' has no commit to submit")]
    NoCommit(AgentName),
    #[error("everything that '{name}' has committed is in team/main already{more}")]
    NothingNew { name: AgentName, more: String },
    #[error("'{0}' still runs: `team-lead shutdown {0} --wait` first")]
    Running(AgentName),
    #[error(
        "the tree of '{name}' has work that is not in team/main: {what}; submit it, or remove the tree \
         with --rescue, which keeps it under refs/team/rescue"
    )]
    Unmerged { name: AgentName, what: String },
    #[error("{what} `{command}` of a new tree {end}:\n{output}")]
    Setup {
        what: &'static str,
        command: String,
        end: String,
        output: String,
    },
    #[error("[tree] of team.toml names {path:?}, which {why}")]
    SetupPath { path: String, why: &'static str },
    #[error("the work tree has changes that are not committed ({0}): commit or stash them first")]
    Dirty(String),
    #[error("there is no branch {0}")]
    NoBranch(String),
    #[error("no branch is checked out: name one with --into, or `git switch` to one")]
    Detached,
    #[error("{branch} is checked out in {}: run this there, or name another branch", folder.display())]
    CheckedOutElsewhere { branch: String, folder: PathBuf },
    #[error(
        "team/main does not merge into {branch}: {what}; merge it by hand: git merge team/main"
    )]
    LandConflict { branch: String, what: String },
    #[error("there is no branch team/main yet: no member has a tree of its own")]
    NoTeamBranch,
    #[error(
        "nothing is known about submission {0} but its damaged file: if its author is known, \
         `team-lead submit` the work again"
    )]
    NothingKnown(SubmissionId),
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    #[error(transparent)]
    Repair(#[from] RepairError),
    #[error(transparent)]
    Stale(#[from] StaleFileError),
    #[error(transparent)]
    Step(#[from] StepRefusal),
    #[error(transparent)]
    TeamFile(#[from] TeamFileError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl IntegrationError {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.into(),
            source,
        }
    }
}

/// The first error of several pieces of work, of which none keeps the others from being done.
#[derive(Debug, Default)]
pub(crate) struct FirstError(Option<IntegrationError>);

impl FirstError {
    pub(crate) fn note(&mut self, done: Result<(), IntegrationError>) {
        if let Err(error) = done {
            self.0.get_or_insert(error);
        }
    }

    pub(crate) fn into_result(self) -> Result<(), IntegrationError> {
        self.0.map_or(Ok(()), Err)
    }
}
