//! Why a lead did not start.

use member::{ConfineError, ModelError, RuleError, RuntimeError, TrustError};
use processes::NoTeammate;
use std::io;
use teamdir::{JoinError, PathError, TeamFileError};
use tools::{DuplicateTool, OpenWorkspaceError};

/// Why a lead did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another lead runs in this folder.
    #[error("another lead works in {folder}: {holder}")]
    Held { folder: String, holder: JoinError },
    /// The lead's place cannot be taken.
    #[error(transparent)]
    MemberRuntime(RuntimeError),
    /// There is no model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// It cannot be said whether the workspace is trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A rule of the command line can match nothing.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Commands cannot be confined as chosen.
    #[error("the lead does not start: {0}")]
    Confine(#[from] ConfineError),
    /// There is no program for teammates.
    #[error(transparent)]
    NoTeammate(#[from] NoTeammate),
    /// The folder to work in cannot be used.
    #[error(transparent)]
    Workspace(#[from] OpenWorkspaceError),
    /// Two tools bear the same name.
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
    /// A new conversation could not be begun.
    #[error(transparent)]
    Journal(#[from] PathError),
    /// A conversation could not be taken up again.
    #[error(transparent)]
    Session(#[from] member::SessionError),
    /// The limits of the run could not be stored.
    #[error(transparent)]
    Budget(#[from] TeamFileError),
    /// The system refuses what the lead needs.
    #[error("cannot wait for signals and files: {0}")]
    System(#[from] io::Error),
}
