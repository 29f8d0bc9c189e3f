//! Git repositories of tests.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const INIT: [&str; 3] = ["init", "--quiet", "--initial-branch=main"];

/// Git in a folder, as a person or a member runs it, without the settings of this machine.
pub fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

/// Runs git, which has to succeed, and returns what it said.
#[track_caller]
pub fn git<I: IntoIterator<Item: AsRef<OsStr>>>(folder: &Path, words: I) -> String {
    let mut command = git_command(folder);
    let output = command.args(words).output().expect("git can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a folder a repository of a person, without a commit.
#[track_caller]
pub fn init_repository(folder: &Path) {
    git(folder, INIT);
    name_person(folder);
}

/// Gives the person who commits in a repository a name.
#[track_caller]
pub fn name_person(folder: &Path) {
    git(folder, ["config", "user.name", "Person"]);
    git(folder, ["config", "user.email", "person@example.org"]);
}

/// Commits everything in a folder.
#[track_caller]
pub fn commit_all(folder: &Path, message: &str) {
    git(folder, ["add", "--all"]);
    git(
        folder,
        ["commit", "--quiet", "--allow-empty", "--message", message],
    );
}
