//! A user who is not root, and what root left in his folder.

use crate::stage::{LIMIT, STRANGER, Stage};
use doctor::{Checked, Kind, Surroundings, examine_door, mend, open_door};
use protocol::{Recipient, TaskId};
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use teamdir::{Layout, OpenError, Options, TeamDir};
use test_support::wait_for;

/// Says to the program of the test that it is the other user, and which folder is his.
const FOLDER: &str = "TEAM_TEST_FOLDER";
/// Says that a person has done what the program could not do.
const OBEYED: &str = "TEAM_TEST_OBEYED";

/// Starts itself as another user.
#[test]
fn what_root_left_in_a_folder_of_ours_is_ours_again() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return as_its_owner(Path::new(&folder));
    }
    if !geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let stage = Stage::healthy();
    let workspace = stage.temp.workspace().to_path_buf();
    fs::set_permissions(&workspace, Permissions::from_mode(0o755)).unwrap();
    give(&workspace);
    let layout = stage.team().layout();
    let (task, inbox) = (layout.task(TaskId(1)), layout.inbox(&Recipient::Lead));
    fs::write(&task, r#"{"id":1,"subject":"kept"}"#).unwrap();
    fs::write(&inbox, "").unwrap();
    let program = workspace.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let run = |obeyed: bool| {
        let mut command = Command::new(&program);
        let name = "owners::what_root_left_in_a_folder_of_ours_is_ours_again";
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        command.env(FOLDER, &workspace).uid(STRANGER).gid(STRANGER);
        if obeyed {
            command.env(OBEYED, "1");
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
    // What a person with the right to it is told to type.
    lchown(&inbox, Some(STRANGER), None).unwrap();
    run(true);
}

/// Gives a folder and all that is in it to the other user.
fn give(path: &Path) {
    lchown(path, Some(STRANGER), Some(STRANGER)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten() {
        give(&entry.unwrap().path());
    }
}

/// A roster that keeps its own owner out is opened, one lock after the other.
fn open_the_door(workspace: &Path) {
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
        let finding = examine_door(&error).unwrap();
        assert_eq!(finding.kind, Kind::NoAccess, "{finding:?}");
        assert!(open_door(&finding).unwrap().outcome.is_ok());
    }
}

fn as_its_owner(workspace: &Path) {
    open_the_door(workspace);
    let team = TeamDir::open(workspace, Options::default()).unwrap();
    let look = || Surroundings {
        teammate: Ok(PathBuf::from("/bin/true")),
        inotify: None,
        ..Surroundings::gather(Vec::new())
    };
    let Checked { cured, left } = mend(&team, look);
    if std::env::var_os(OBEYED).is_some() {
        assert_eq!((cured.as_slice(), left.as_slice()), (&[][..], &[][..]));
        return;
    }
    assert_eq!(cured.len(), 1, "{cured:#?}");
    assert!(cured[0].outcome.is_ok(), "{cured:#?}");
    assert_eq!(team.task(TaskId(1)).unwrap().subject, "kept");
    let inbox = team.layout().inbox(&Recipient::Lead);
    assert_eq!(left.len(), 1, "{left:#?}");
    assert_eq!(left[0].kind, Kind::ForeignOwner);
    let fix = format!("sudo chown \"$(id -u)\" {}", inbox.display());
    assert_eq!(left[0].fix, fix);
}
