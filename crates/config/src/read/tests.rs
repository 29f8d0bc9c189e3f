use super::*;
use crate::config::load;
use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use std::fs::File;

fn owners() -> Owners {
    Owners::new(geteuid().as_raw(), None)
}

fn load_both(workspace: &Path, owners: &Owners) -> Result<(), ConfigError> {
    let home = [("HOME", workspace.to_str().unwrap())];
    let variables = with_dotenv(home.into_iter().collect(), workspace, owners)?;
    load(workspace, &variables, owners).map(|_| ())
}

/// Both files of the workspace, and the user's.
fn files(workspace: &Path) -> [PathBuf; 3] {
    let user = UserFolder::Config.below(workspace).join(USER_FILE);
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    [
        workspace.join(DOTENV_FILE),
        workspace.join("team.toml"),
        user,
    ]
}

#[test]
fn a_fifo_is_an_error_and_never_waited_for() {
    for at in 0..3 {
        let workspace = tempfile::tempdir().unwrap();
        let path = &files(workspace.path())[at];
        mkfifo(path, Mode::S_IRWXU).unwrap();
        let error = load_both(workspace.path(), &owners())
            .unwrap_err()
            .to_string();
        let name = path.display().to_string();
        assert!(error.contains(&name) && error.contains("a FIFO"), "{error}");
    }
}

#[test]
fn a_file_of_three_gigabytes_is_an_error_and_not_read() {
    for at in 0..3 {
        let workspace = tempfile::tempdir().unwrap();
        let path = &files(workspace.path())[at];
        File::create(path).unwrap().set_len(3 << 30).unwrap();
        let error = load_both(workspace.path(), &owners())
            .unwrap_err()
            .to_string();
        let name = path.display().to_string();
        assert!(error.contains(&name) && error.contains("bytes"), "{error}");
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_no_file() {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::create_dir(workspace.path().join(DOTENV_FILE)).unwrap();
    load_both(workspace.path(), &owners()).unwrap();
}

#[test]
fn files_of_another_owner_are_refused_unless_the_user_named_the_owner() {
    let me = geteuid().as_raw();
    let stranger = Owners::new(me + 1, None);
    for name in [DOTENV_FILE, "team.toml"] {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::write(workspace.path().join(name), "").unwrap();
        let error = load_both(workspace.path(), &stranger).unwrap_err();
        assert!(
            matches!(error, ConfigError::ForeignOwner { owner, .. } if owner == me),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
        let named = Owners::new(me + 1, Some(&format!("7, {me}")));
        load_both(workspace.path(), &named).unwrap();
    }
}

#[test]
fn a_dotenv_cannot_say_which_file_is_the_users() {
    let workspace = tempfile::tempdir().unwrap();
    let folder = workspace.path().join("fake/team-lead");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "model = \"stranger\"").unwrap();
    let fake = workspace.path().join("fake");
    let text = format!("XDG_CONFIG_HOME={}\n", fake.display());
    std::fs::write(workspace.path().join(DOTENV_FILE), text).unwrap();
    let home = [("HOME", "/nonexistent")];
    let variables = with_dotenv(home.into_iter().collect(), workspace.path(), &owners()).unwrap();
    let config = load(workspace.path(), &variables, &owners()).unwrap();
    assert_eq!(config.model().value, None);
}

#[test]
fn a_relative_folder_of_the_user_is_none() {
    let relative = [("XDG_CONFIG_HOME", "fake"), ("HOME", ".")];
    assert_eq!(user_file(&relative.into_iter().collect()), None);
    let home = [("XDG_CONFIG_HOME", "fake"), ("HOME", "/h")];
    let expected = PathBuf::from("/h/.config/team-lead/config.toml");
    assert_eq!(user_file(&home.into_iter().collect()), Some(expected));
}
