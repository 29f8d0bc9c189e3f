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
        is_own_tree: false,
        confinement: Arc::clone(confinement),
        user: user_folders(),
    }
}

/// The user's folders with instructions and skills.
#[must_use]
pub fn user_folders() -> UserFolders {
    UserFolders {
        own: UserFolder::Config.path(std::env::var_os),
        home: std::env::home_dir().filter(|home| home.is_absolute()),
    }
}
