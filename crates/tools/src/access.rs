//! What one call of a tool may do.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What one call may do. Whoever decides about the call sets it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub commands: CommandAccess,
    pub files: FileAccess,
}

/// What a command may do to the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandAccess {
    #[default]
    Full,
    /// It reaches every host, besides what it may do anyway.
    Network,
    /// It cannot change the workspace, and has no network.
    ReadOnly,
}

/// Which files a file tool may use, besides and instead of those of the workspace.
#[derive(Clone, Default)]
pub struct FileAccess {
    /// The path outside of the workspace that was allowed for this call: absolute, and without `.` and `..`.
    /// The call works there and nowhere else.
    pub outside: Option<PathBuf>,
    pub hidden: Option<IsHidden>,
}

/// Whether a file is neither to be read nor to be shown. It gets absolute paths.
pub type IsHidden = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl From<CommandAccess> for Access {
    fn from(commands: CommandAccess) -> Self {
        Self {
            commands,
            files: FileAccess::default(),
        }
    }
}

impl fmt::Debug for FileAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileAccess")
            .field("outside", &self.outside)
            .field("hidden", &self.hidden.is_some())
            .finish()
    }
}
