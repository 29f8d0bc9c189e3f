//! The workspace of a team: where it is, whose it is, and what its files say.

use config::{Config, ConfigError, UserFolder};
use llm::Variables;
use nix::unistd::geteuid;
use protocol::TeamName;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::{FOLDER, Layout, OpenError, Options, TeamDir};
use trust::{FolderId, OWNERS_VARIABLE, Owners, Store, StoreError};

/// Everything that is set for a workspace.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSettings {
    /// The variables of the process, completed by the workspace's `.env`.
    pub variables: Variables,
    pub config: Config,
}

/// Why a team was not opened.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(
        "{} belongs to the user with the number {owner}, and not to you: a team of another user is \
         not used; if it is yours, take it with `sudo chown -R \"$(id -u)\"`, or export \
         {OWNERS_VARIABLE}={owner}",
        folder.display()
    )]
    ForeignOwner { folder: PathBuf, owner: u32 },
}

/// A team folder that was created or, if another process was faster, opened.
pub struct CreatedTeam {
    pub team: TeamDir,
    /// Whether this process made it.
    pub is_new: bool,
    /// Why it could not be recorded that this user's program made it.
    pub not_recorded: Option<StoreError>,
}

/// The users whose files are obeyed: this process's own, and those that its environment names.
pub fn owners() -> Owners {
    let others = std::env::var(OWNERS_VARIABLE).ok();
    Owners::new(geteuid().as_raw(), others.as_deref())
}

/// The records of what this user has trusted.
pub fn trust_store() -> Store {
    Store::new(state_folder())
}

/// The folder for the user's state, such as `~/.local/state/team-lead`.
pub fn state_folder() -> Option<PathBuf> {
    UserFolder::State.path(std::env::var_os)
}

/// Reads what is set for a workspace. A variable that is not UTF-8 is left out.
pub fn load_settings(workspace: &Path) -> Result<WorkspaceSettings, ConfigError> {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let owners = owners();
    let variables = config::with_dotenv(environment.collect(), workspace, &owners)?;
    let config = config::load(workspace, &variables, &owners)?;
    Ok(WorkspaceSettings { variables, config })
}

/// Opens the team that a command in `start` means. One of another user is refused before anything in it
/// is read.
pub fn find_team(start: &Path, options: Options) -> Result<TeamDir, FindError> {
    match teamdir::locate(start) {
        Some(workspace) => open_team(workspace, options),
        None => Err(OpenError::NotFound(start.to_path_buf()).into()),
    }
}

/// Opens the team of this workspace, unless it is another user's.
pub fn open_team(workspace: &Path, options: Options) -> Result<TeamDir, FindError> {
    let folder = workspace.join(FOLDER);
    // Both the link and the folder it points to must belong to the user.
    for metadata in [folder.symlink_metadata(), folder.metadata()] {
        if let Ok(owner) = metadata.map(|metadata| metadata.uid())
            && !owners().accept(owner)
        {
            return Err(FindError::ForeignOwner { folder, owner });
        }
    }
    Ok(TeamDir::open(workspace, options)?)
}

/// Creates the team folder of a workspace, and records that this user's program made it. If there is
/// one already, it is opened.
pub fn create_team(workspace: &Path, options: Options) -> Result<CreatedTeam, FindError> {
    create_named_team(workspace, &TeamName::default().0, options)
}

/// The same with a name for the team, if it is created.
pub fn create_named_team(
    workspace: &Path,
    name: &str,
    options: Options,
) -> Result<CreatedTeam, FindError> {
    let locked = trust_store().lock(workspace);
    let layout = Layout::new(workspace.join(FOLDER));
    if layout.root().is_dir() {
        return Ok(CreatedTeam {
            team: open_team(workspace, options)?,
            is_new: false,
            not_recorded: None,
        });
    }
    let team = TeamDir::create(workspace, name, options)?;
    let recorded = locked.and_then(|locked| {
        let id = FolderId::of(layout.root()).map_err(|cause| StoreError::Workspace {
            path: layout.root().to_path_buf(),
            cause,
        })?;
        locked.made(id)
    });
    Ok(CreatedTeam {
        team,
        is_new: true,
        not_recorded: recorded.err(),
    })
}
