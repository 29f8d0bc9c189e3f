//! The teams of this user on this machine.
//!
//! `teams/<hash of the workspace's path>` in the user's state folder holds the path of a workspace. Every
//! command that opens a team writes the file if it is missing, and listing removes files of teams that are
//! gone, so that a lost, damaged or outdated file mends itself. Nothing is decided by these files.

use crate::workspace::state_folder;
use safe_open::Links;
use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use teamdir::{FOLDER, Layout};
use trust::Hash;

/// The folder of the files in the user's state folder.
const TEAMS: &str = "teams";
/// The longest path that is read.
const MAX_BYTES: u64 = 64 << 10;

/// Notes that this user has a team in a workspace. A failure only means that `teams` does not list it.
pub fn remember_team(workspace: &Path) {
    if let (Some(folder), Ok(workspace)) = (folder(), workspace.canonicalize()) {
        let _ = write(&folder, &workspace);
    }
}

/// The workspaces of this user that have a team, by path.
pub fn known_teams() -> Vec<PathBuf> {
    let entries = folder().map(fs::read_dir);
    let Some(Ok(entries)) = entries else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        match workspace_of(&path) {
            Some(workspace) => found.push(workspace),
            // Outdated or damaged. The next command in the workspace writes it again.
            None => drop(fs::remove_file(&path)),
        }
    }
    found.sort();
    found
}

fn folder() -> Option<PathBuf> {
    Some(state_folder()?.join(TEAMS))
}

fn file_name(workspace: &Path) -> String {
    Hash::of_bytes(workspace.as_os_str().as_bytes()).to_string()
}

fn write(folder: &Path, workspace: &Path) -> std::io::Result<()> {
    let path = folder.join(file_name(workspace));
    if path.exists() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // Whole or not at all: a reader would take half a path for an outdated one.
    let new = folder.join(format!("{}.{}", file_name(workspace), std::process::id()));
    let mut file = fs::File::create(&new)?;
    file.write_all(workspace.as_os_str().as_bytes())?;
    fs::rename(&new, &path)
}

/// The workspace that a file names, if the file is right and the team is there.
fn workspace_of(path: &Path) -> Option<PathBuf> {
    let contents = safe_open::read(path, Links::Refuse, MAX_BYTES).ok()?;
    let workspace = PathBuf::from(std::ffi::OsString::from_vec(contents.bytes));
    let is_named = path.file_name()?.to_str()? == file_name(&workspace);
    let roster = Layout::new(workspace.join(FOLDER)).roster();
    (is_named && roster.exists()).then_some(workspace)
}
