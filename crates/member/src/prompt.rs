//! What a member's system prompt is made from.

use config::UserFolder;
use prompts::{PromptSpec, Reader, UserFolders};
use std::path::Path;
use std::sync::Arc;
use tools::Confinement;

/// What the prompt of a member is made from, for the member itself and for whoever wants to see it.
#[must_use]
pub fn prompt_spec(workspace: &Path, reader: Reader, confinement: &Arc<Confinement>) -> PromptSpec {
    PromptSpec {
        reader,
        workspace: workspace.to_path_buf(),
        confinement: Arc::clone(confinement),
        user: UserFolders {
            own: UserFolder::Config.path(std::env::var_os),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
        },
    }
}
