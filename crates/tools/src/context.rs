//! What every call of a tool is given.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::policy::Policy;
use crate::tool::ToolError;
use crate::truncate::{LIMIT, Pieces, truncate};
use crate::workspace::Workspace;

/// The surroundings of a call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// Where the files are.
    pub workspace: Arc<Workspace>,
    /// Cancelled when the call should end.
    pub cancel: CancellationToken,
    /// Where long outputs go.
    pub output: OutputFolder,
    /// Which commands are refused.
    pub policy: Arc<Policy>,
    /// Who runs the commands. It starts the mark that they carry in their environment, so that a
    /// later process can find what was left by this one, and should be unique on the machine.
    pub owner: String,
}

impl ToolContext {
    /// A context with the usual policy that nobody has cancelled.
    pub fn new(workspace: Workspace, output: OutputFolder, owner: &str) -> Self {
        Self {
            workspace: Arc::new(workspace),
            cancel: CancellationToken::new(),
            output,
            policy: Arc::new(Policy::default()),
            owner: owner.to_owned(),
        }
    }

    /// Shortens a text to what a model is given, and saves the whole if that cuts anything.
    pub fn shorten(&self, text: String, label: &str) -> String {
        if text.chars().nth(LIMIT).is_none() {
            return text;
        }
        let saved = self.output.save(label, text.as_bytes());
        let shown = saved.as_ref().map(|path| self.show_path(path));
        truncate(&Pieces::whole(&text), LIMIT, shown.as_deref().ok())
    }

    /// A path as the model should use it: from the workspace if it lies there.
    pub fn show_path(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.workspace.root());
        relative.unwrap_or(path).display().to_string()
    }
}

/// The folder for outputs that are too long for a model, and for those of background commands. It
/// is created when it is first needed.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    path: PathBuf,
}

impl OutputFolder {
    /// The folder at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of a file for one output. The folder exists when this returns.
    pub fn file(&self, name: &str) -> Result<PathBuf, ToolError> {
        let mut builder = fs::DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&self.path);
        created.map_err(|error| {
            let path = self.path.display();
            ToolError::new(format!("cannot create the output folder {path}: {error}"))
        })?;
        Ok(self.path.join(name))
    }

    pub(crate) fn save(&self, label: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let name = format!("{label}-{}.txt", random_id());
        let path = self.file(&name).map_err(io::Error::other)?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        io::Write::write_all(&mut options.open(&path)?, bytes)?;
        Ok(path)
    }
}

/// Eight hex digits.
pub(crate) fn random_id() -> String {
    format!("{:08x}", fastrand::u32(..))
}
