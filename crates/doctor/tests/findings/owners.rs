//! Files of root in the folder of another user.

use crate::broken_team::{BrokenTeam, LIMIT, STRANGER};
use doctor::{
    Environment, FixReport, Kind, examine_unreadable_roster, fix_all, fix_unreadable_roster,
};
use nix::unistd::geteuid;
use protocol::{Recipient, TaskId};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use teamdir::{Layout, OpenError, Options, TeamDir};
use test_support::wait_for;

/// Tells the test program that it runs as the other user, and names the folder.
const FOLDER: &str = "TEAM_TEST_FOLDER";
/// Tells the test program that a person has run the suggested command.
const COMMAND_RUN: &str = "TEAM_TEST_COMMAND_RUN";

/// Starts itself as another user.
#[test]
fn files_of_root_are_taken_over_by_the_owner_of_the_folder() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return as_its_owner(Path::new(&folder));
    }
    if !geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let broken = BrokenTeam::healthy();
    let workspace = broken.temp.workspace().to_path_buf();
    fs::set_permissions(&workspace, Permissions::from_mode(0o755)).unwrap();
    give(&workspace);
    let layout = broken.team().layout();
    let (task, inbox) = (layout.task(TaskId(1)), layout.inbox(&Recipient::Lead));
    fs::write(&task, r#"{"id":1,"subject":"kept"}"#).unwrap();
    fs::write(&inbox, "").unwrap();
    let program = workspace.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let run = |command_run: bool| {
        let mut command = Command::new(&program);
        let name = "owners::files_of_root_are_taken_over_by_the_owner_of_the_folder";
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        command.env(FOLDER, &workspace).uid(STRANGER).gid(STRANGER);
        if command_run {
            command.env(COMMAND_RUN, "1");
        }
        // A process that another test is starting may have the copy open for a moment.
        let output = wait_for("the program to be free", LIMIT, || match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => None,
            output => Some(output.unwrap()),
        });
        assert!(output.status.success(), "{output:?}");
    };
    run(false);
    assert_eq!(task.metadata().unwrap().uid(), STRANGER);
    assert_eq!(inbox.metadata().unwrap().uid(), 0);
    // The suggested command, run by root.
    lchown(&inbox, Some(STRANGER), None).unwrap();
    run(true);
}

/// Gives a folder and its content to the other user.
fn give(path: &Path) {
    lchown(path, Some(STRANGER), Some(STRANGER)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten() {
        give(&entry.unwrap().path());
    }
}

/// Access to the folder and to the roster is granted, one after the other.
fn open_unreadable_roster(workspace: &Path) {
    let layout = Layout::new(workspace.join(teamdir::FOLDER));
    let close =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    close(&layout.roster(), 0o000);
    close(layout.root(), 0o600);
    for _ in 0..2 {
        let error = match TeamDir::open(workspace, Options::default()) {
            Err(OpenError::Roster(error)) => error,
            other => panic!("{other:?}"),
        };
        let finding = examine_unreadable_roster(&error).unwrap();
        assert_eq!(finding.kind, Kind::NoAccess, "{finding:?}");
        assert!(fix_unreadable_roster(&finding).unwrap().outcome.is_ok());
    }
}

fn as_its_owner(workspace: &Path) {
    open_unreadable_roster(workspace);
    let team = TeamDir::open(workspace, Options::default()).unwrap();
    let look = || Environment {
        teammate: Ok(PathBuf::from("/bin/true")),
        inotify: None,
        ..Environment::gather(Vec::new(), Vec::new(), doctor::Trees::None)
    };
    let FixReport { fixed, left } = fix_all(&team, look);
    if std::env::var_os(COMMAND_RUN).is_some() {
        assert!(fixed.is_empty() && left.is_empty(), "{fixed:#?} {left:#?}");
        return;
    }
    assert_eq!(fixed.len(), 1, "{fixed:#?}");
    assert!(fixed[0].outcome.is_ok(), "{fixed:#?}");
    assert_eq!(team.task(TaskId(1)).unwrap().subject, "kept");
    let inbox = team.layout().inbox(&Recipient::Lead);
    assert_eq!(left.len(), 1, "{left:#?}");
    assert_eq!(left[0].kind, Kind::ForeignOwner);
    let command = format!("sudo chown \"$(id -u)\" {}", inbox.display());
    assert_eq!(left[0].command, command);
}
