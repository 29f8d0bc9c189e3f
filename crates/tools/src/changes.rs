//! What is known about changes of files by others.

use std::fmt::Debug;
use std::path::Path;
use std::time::SystemTime;

/// The changes of all agents that work in one workspace. It is asked only when a change was found.
pub trait Changes: Debug + Send + Sync {
    /// Records that this agent has replaced a file. Locations are real ones, relative to the workspace.
    fn record(&self, location: &Path);

    /// Who else has changed a file at this time, as far as it is known.
    fn find(&self, location: &Path, modified: SystemTime) -> Option<ChangedBy>;
}

/// Who has changed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// A file tool of this agent.
    FileTool(String),
    /// Perhaps a command of one of these agents: each ran one at that time.
    Command(Vec<String>),
}
