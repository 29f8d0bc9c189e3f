//! What a teammate process is started with, and how it ends.

use integration::IntegrationError;
use member::{
    ConfineError, EngineError, LogOptions, ModelError, RuleError, RuntimeError, WorkspaceSettings,
};
use protocol::{AgentName, RequestId};
use std::io;
use std::path::PathBuf;
use teamdir::{PathError, RosterError, TeamDir};
use tools::{DuplicateTool, OpenWorkspaceError};

/// What a teammate process is started with.
#[derive(Debug, Clone)]
pub struct StartOptions {
    pub team: TeamDir,
    pub name: AgentName,
    /// What is set for the workspace.
    pub workspace: WorkspaceSettings,
    /// The size of the model's window, whatever is known about the model.
    pub window: Option<u64>,
    /// How many times the model may be asked in a turn; 0 is without limit.
    pub max_rounds: u32,
    /// Whether a new conversation is begun.
    pub fresh: bool,
    pub log: LogOptions,
}

/// How a teammate process ended cleanly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It approved this shutdown request.
    ShutdownApproved(RequestId),
    Terminated,
    IdleTimeout,
    /// The program of a foreign member ended with code 0.
    ProgramEnded,
}

/// Why a teammate process could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum TeammateError {
    /// A new conversation could not be begun.
    #[error(transparent)]
    Journal(#[from] PathError),
    /// This process cannot be the member.
    #[error(transparent)]
    MemberRuntime(#[from] RuntimeError),
    /// The roster cannot be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] OpenWorkspaceError),
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
    #[error(transparent)]
    Confine(#[from] ConfineError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A rule of the roster can match nothing.
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(
        "'{name}' cannot work in a tree of its own: {source}; --tree shared lets it work in the workspace"
    )]
    Tree {
        name: AgentName,
        source: Box<IntegrationError>,
    },
    #[error("its tree is {0:?}, which this version does not know")]
    UnknownTree(String),
    #[error("the system refuses signals or timers: {0}")]
    System(#[from] io::Error),
    #[error("'{0}' is no longer in the roster")]
    Dismissed(AgentName),
    /// A later incarnation runs.
    #[error("a later process is '{0}' now; this one ends")]
    Replaced(AgentName),
    /// The team folder is gone, or another one is in its place.
    #[error("the team folder {} was removed, moved away or replaced", .0.display())]
    FolderRemoved(PathBuf),
    /// The program of a foreign member ended badly.
    #[error("the program of '{name}' {how}")]
    Program { name: AgentName, how: String },
}
