//! The context of a tool call.

use std::path::Path;
use std::sync::Arc;

use command::Surroundings;
use sandbox::Level;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, CommandAccess};
use crate::confinement::Confinement;
use crate::output_folder::OutputFolder;
use crate::seen::SeenFiles;
use crate::tool::ToolError;
use crate::truncate::{LIMIT, Pieces, truncate};
use crate::workspace::{Forbidden, Workspace};

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
            access: Access::default(),
            seen: SeenFiles::default(),
            owner: owner.to_owned(),
        }
    }

    /// The files that this call works with, and its path there. An allowed path outside is taken as it was
    /// allowed, whatever form the model gave it.
    pub(crate) fn files(&self, path: &str) -> Result<(Arc<Workspace>, String), ToolError> {
        let access = &self.access.files;
        let Some(allowed) = &access.outside else {
            return match access.hidden {
                Some(_) => Ok((self.open_files()?, path.to_owned())),
                None => Ok((Arc::clone(&self.workspace), path.to_owned())),
            };
        };
        let Some(allowed) = allowed.to_str() else {
            return Err(ToolError::new(format!("{path} is not a text")));
        };
        Ok((self.open_files()?, allowed.to_owned()))
    }

    fn open_files(&self) -> Result<Arc<Workspace>, ToolError> {
        let confinement = self.confinement.as_deref();
        let forbidden = || confinement.map_or_else(usual_forbidden, Confinement::forbidden);
        let files = self.workspace.for_call(&self.access.files, forbidden);
        files
            .map(Arc::new)
            .map_err(|error| ToolError::from_error(&error))
    }

    /// What a command of this call runs in.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, ToolError> {
        let confinement = self.confinement.as_ref();
        let can_be_read_only = confinement.is_some_and(|all| all.level() == Level::Full);
        if self.access.commands == CommandAccess::ReadOnly && !can_be_read_only {
            return Err(ToolError::new(
                "the command was not run: it cannot be kept from changing the workspace here",
            ));
        }
        Ok(match confinement {
            Some(confinement) => confinement.surroundings(self.access.commands),
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

/// What is forbidden to a process whose commands are not confined.
fn usual_forbidden() -> Forbidden {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    Forbidden {
        secrets: sandbox::workspace::secret_paths(home.as_deref()).collect(),
        control: Vec::new(),
    }
}

/// Eight hex digits.
pub(crate) fn random_id() -> String {
    format!("{:08x}", fastrand::u32(..))
}
