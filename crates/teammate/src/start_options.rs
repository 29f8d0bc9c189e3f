//! What a life is given, and what can come of it.

use agent::Settings;
use config::Config;
use llm::Variables;
use llm::choice::{BuildError, ChoiceError};
use member::RuntimeError;
use protocol::{AgentName, RequestId};
use std::io;
use std::path::PathBuf;
use teamdir::{RosterError, TeamDir};
use tools::{DuplicateTool, OpenWorkspaceError, Policy};

/// Who to be, and how.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The team.
    pub team: TeamDir,
    /// Which member.
    pub name: AgentName,
    /// The environment, and what a `.env` file adds to it.
    pub variables: Variables,
    /// What can be chosen about the agent.
    pub settings: Settings,
    /// Which commands the shell tools refuse.
    pub policy: Policy,
    /// What people set in files.
    pub config: Config,
    /// Whether a person looks at standard output.
    pub echo: bool,
}

/// How a life ended in good order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It agreed to this request.
    Agreed(RequestId),
    /// A signal said so.
    Signal,
    /// It was idle for as long as it may be.
    IdleForLong,
    /// Its program ended with code 0.
    ProgramEnded,
}

/// Why a life could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum TeammateError {
    /// This process cannot be the member.
    #[error(transparent)]
    MemberRuntime(#[from] RuntimeError),
    /// The roster cannot be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The value names no model.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] BuildError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] OpenWorkspaceError),
    /// Two tools bear the same name.
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
    /// The system gives no signals or timers.
    #[error("the system refuses what a process needs: {0}")]
    System(#[from] io::Error),
    /// Somebody took it out of the roster.
    #[error("'{0}' is no longer in the roster")]
    Dismissed(AgentName),
    /// Another process is the member now.
    #[error("a later process is '{0}' now; this one gives up")]
    Replaced(AgentName),
    /// The team folder is gone, or another one is in its place.
    #[error("the team folder {} was removed, moved away or replaced", .0.display())]
    FolderRemoved(PathBuf),
    /// The program of a foreign member ended badly.
    #[error("the program of '{name}' {how}")]
    Program {
        /// The member.
        name: AgentName,
        /// How it ended.
        how: String,
    },
}
