//! The context of a tool call.

use std::path::Path;
use std::sync::Arc;

use command::Surroundings;
use sandbox::Level;
use tokio_util::sync::CancellationToken;

use crate::confinement::{Access, Confinement};
use crate::output_folder::OutputFolder;
use crate::seen::SeenFiles;
use crate::tool::ToolError;
use crate::truncate::{LIMIT, Pieces, truncate};
use crate::workspace::Workspace;

/// The context of a call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    /// Cancelled when the call should end.
    pub cancel: CancellationToken,
    /// The folder for long outputs.
    pub output: OutputFolder,
    /// How commands are confined. Without it they run as this process does.
    pub confinement: Option<Arc<Confinement>>,
    /// What this call may do.
    pub access: Access,
    /// What the agent last saw of the files.
    pub seen: SeenFiles,
    /// The prefix of the mark in the environment of commands, by which a later process can find the
    /// remaining processes of this one. It should be unique on the machine.
    pub owner: String,
}

impl ToolContext {
    /// A context whose commands run as this process does.
    pub fn new(workspace: Workspace, output: OutputFolder, owner: &str) -> Self {
        Self {
            workspace: Arc::new(workspace),
            cancel: CancellationToken::new(),
            output,
            confinement: None,
            access: Access::Full,
            seen: SeenFiles::default(),
            owner: owner.to_owned(),
        }
    }

    /// What a command of this call runs in.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, ToolError> {
        let confinement = self.confinement.as_ref();
        let can_be_read_only = confinement.is_some_and(|all| all.level() == Level::Full);
        if self.access == Access::ReadOnly && !can_be_read_only {
            return Err(ToolError::new(
                "the command was not run: it cannot be kept from changing the workspace here",
            ));
        }
        Ok(match confinement {
            Some(confinement) => confinement.surroundings(self.access),
            None => Surroundings::Inherited,
        })
    }

    /// Shortens a text for a model, and saves the complete text if anything is cut.
    pub fn shorten(&self, text: String, label: &str) -> String {
        if text.chars().nth(LIMIT).is_none() {
            return text;
        }
        let saved = self.output.save(label, text.as_bytes());
        let shown = saved.as_ref().map(|path| self.show_path(path));
        truncate(&Pieces::whole(&text), LIMIT, shown.as_deref().ok())
    }

    /// A path as the model should use it: relative to the workspace if it is inside.
    pub fn show_path(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.workspace.root());
        relative.unwrap_or(path).display().to_string()
    }
}

/// Eight hex digits.
pub(crate) fn random_id() -> String {
    format!("{:08x}", fastrand::u32(..))
}
