//! Reads the files of the configuration: regular files of a bounded size only, so that nothing that a
//! stranger puts in their place can hang or fill this process.

use crate::error::ConfigError;
use crate::file::FileConfig;
use crate::user_folder::UserFolder;
use llm::{Variables, parse_dotenv};
use safe_open::{Contents, Kind, Links, OpenError, Refusal};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trust::Owners;

/// The file with variables, in the workspace.
pub const DOTENV_FILE: &str = ".env";
/// The user's file, in the user's configuration folder of this program.
const USER_FILE: &str = "config.toml";
/// The largest file that is read.
const LIMIT: u64 = 1 << 20;

/// The variables of the process, completed by the workspace's `.env`. A folder of that name, as some
/// tools make it, is none.
pub fn with_dotenv(
    environment: Variables,
    workspace: &Path,
    owners: &Owners,
) -> Result<Variables, ConfigError> {
    let path = workspace.join(DOTENV_FILE);
    Ok(match read_workspace_file(&path, owners)? {
        Some(text) => environment.with_file(&path, parse_dotenv(&text)),
        None => environment,
    })
}

/// `~/.config/team-lead/config.toml`, or the same below `XDG_CONFIG_HOME`. Only the environment says
/// where, and only with an absolute path: a workspace must not choose which file is the user's.
pub(crate) fn user_file(variables: &Variables) -> Option<PathBuf> {
    let folder = UserFolder::Config.path(|name| Some(variables.environment(name)?.into()))?;
    Some(folder.join(USER_FILE))
}

/// The user's file, which may belong to the administrator of the machine. Without a file it is `None`.
pub(crate) fn read_user_file(path: &Path) -> Result<Option<FileConfig>, ConfigError> {
    match read(path)? {
        Some(contents) => FileConfig::parse(path, &text(&contents)).map(Some),
        None => Ok(None),
    }
}

/// The text of a file of the workspace, which has to belong to the user. Without a file it is `None`.
pub(crate) fn read_workspace_file(
    path: &Path,
    owners: &Owners,
) -> Result<Option<String>, ConfigError> {
    let foreign = |owner| ConfigError::ForeignOwner {
        path: path.to_path_buf(),
        owner,
    };
    // A link of another user could choose one of the user's own files. Where others may create names,
    // they cannot replace the user's.
    match path.symlink_metadata().map(|found| found.uid()) {
        Ok(owner) if !owners.accept(owner) => return Err(foreign(owner)),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // Reading it says why.
        Err(_) => {}
    }
    match read(path)? {
        Some(contents) if !owners.accept(contents.owner()) => Err(foreign(contents.owner())),
        Some(contents) => Ok(Some(text(&contents))),
        None => Ok(None),
    }
}

fn read(path: &Path) -> Result<Option<Contents>, ConfigError> {
    let is_folder =
        |error: &OpenError| matches!(error.refusal(), Some(Refusal::NotRegular(Kind::Folder)));
    match safe_open::read(path, Links::Follow, LIMIT) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if error.is_not_found() || is_folder(&error) => Ok(None),
        Err(error) => Err(ConfigError::Unreadable {
            path: path.to_path_buf(),
            cause: error.cause().to_string(),
        }),
    }
}

/// What is not UTF-8 is replaced; a value with such a character is not what was meant, and says so
/// itself.
fn text(contents: &Contents) -> String {
    String::from_utf8_lossy(&contents.bytes).into_owned()
}

#[cfg(test)]
mod tests;
