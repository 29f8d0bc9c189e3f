//! Files and folders of other users, and teams beyond a border.

use super::{PROOF, clone_team, dead_member, malice};
use crate::harness::{Run, Workspace};
use nix::unistd::geteuid;
use protocol::exit;
use std::os::unix::fs::{PermissionsExt, lchown};
use teamdir::FOLDER;
use test_support::report_skip;

const STRANGER: u32 = 4711;

#[test]
fn a_team_of_another_user_above_is_refused() {
    if !geteuid().is_root() {
        return report_skip("a_team_of_another_user", "only root can give a folder away");
    }
    let workspace = Workspace::empty();
    let mut evil = dead_member("evil");
    evil.spec.exec = Some(malice(&workspace));
    clone_team(workspace.path(), &[evil]);
    lchown(workspace.path().join(FOLDER), Some(STRANGER), None).unwrap();
    let below = workspace.path().join("below");
    std::fs::create_dir(&below).unwrap();
    for args in [
        &["run", "--trust", "hi"][..],
        &["spawn", "evil", "coder"],
        &["status"],
        &["doctor", "--fix"],
    ] {
        let run = Run::of(&mut workspace.command_in(&below, args));
        run.has_code(exit::FAILED);
        let words = format!("belongs to the user with the number {STRANGER}");
        assert!(
            run.err.contains(&words) && run.err.contains("next: "),
            "{run:?}"
        );
    }
    Run::of(&mut workspace.teammate_command("evil", &[])).has_code(exit::FAILED);
    assert!(!workspace.path().join(PROOF).exists());
    // The user can say that the stranger is none.
    let mut command = workspace.command_in(&below, &["status"]);
    Run::of(command.env("TEAM_SAFE_OWNERS", STRANGER.to_string())).has_code(exit::DONE);
}

#[test]
fn settings_of_another_user_are_refused() {
    if !geteuid().is_root() {
        return report_skip("settings_of_another_user", "only root can give a file away");
    }
    for name in [".env", "team.toml"] {
        let workspace = Workspace::empty();
        workspace.write(name, "");
        lchown(workspace.path().join(name), Some(STRANGER), None).unwrap();
        for args in [
            &["run", "--trust", "hi"][..],
            &["spawn", "al", "coder"],
            &["config", "show"],
        ] {
            let run = workspace.run(args);
            run.complains(exit::FAILED, name, "team-lead");
            assert!(run.err.contains("what it says is not obeyed"), "{run:?}");
        }
        assert!(!workspace.path().join(FOLDER).exists());
    }
}

#[test]
fn a_link_of_another_user_to_a_file_of_ones_own_is_refused() {
    if !geteuid().is_root() {
        return report_skip("a_link_of_another_user", "only root can give a link away");
    }
    for name in [".env", "team.toml"] {
        let workspace = Workspace::empty();
        workspace.write("mine", "");
        let link = workspace.path().join(name);
        std::os::unix::fs::symlink("mine", &link).unwrap();
        workspace.ok(&["config", "show"]);
        lchown(&link, Some(STRANGER), None).unwrap();
        let run = workspace.run(&["config", "show"]);
        run.complains(exit::FAILED, name, "team-lead");
        assert!(run.err.contains("what it says is not obeyed"), "{run:?}");
    }
}

#[test]
fn a_team_that_somebody_put_into_a_shared_folder_above_keeps_nobody_from_working() {
    if !geteuid().is_root() {
        return report_skip(
            "a_team_in_a_shared_folder",
            "only root can give a folder away",
        );
    }
    let workspace = Workspace::empty();
    let mut evil = dead_member("evil");
    evil.spec.exec = Some(malice(&workspace));
    clone_team(workspace.path(), &[evil]);
    lchown(workspace.path().join(FOLDER), Some(STRANGER), None).unwrap();
    let shared = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(workspace.path(), shared).unwrap();
    let below = workspace.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let mut spawn = workspace.command_in(&below, &["spawn", "al", "coder", "--model", "offline"]);
    Run::of(&mut spawn).has_code(exit::DONE);
    assert!(below.join(FOLDER).is_dir());
    assert!(!workspace.path().join(PROOF).exists());
    Run::of(&mut workspace.command_in(&below, &["kill", "al"])).has_code(exit::DONE);
    // In the shared folder itself it is refused.
    workspace.run(&["status"]).has_code(exit::FAILED);
}

#[test]
fn a_team_beyond_the_root_of_a_repository_is_not_joined() {
    let workspace = Workspace::new();
    let repository = workspace.path().join("repository");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    std::fs::create_dir(repository.join("src")).unwrap();
    let status = Run::of(&mut workspace.command_in(&repository.join("src"), &["status"]));
    status.complains(
        exit::NOT_FOUND,
        "there is no team folder",
        "team-lead spawn",
    );
    let mut spawn =
        workspace.command_in(&repository, &["spawn", "al", "coder", "--model", "offline"]);
    Run::of(&mut spawn).has_code(exit::DONE);
    assert!(repository.join(FOLDER).is_dir());
    let status = Run::of(&mut workspace.command_in(&repository.join("src"), &["--json", "status"]));
    let folder = repository.join(FOLDER).display().to_string();
    assert_eq!(status.json()["folder"], folder);
    let kill = Run::of(&mut workspace.command_in(&repository, &["kill", "al"]));
    kill.has_code(exit::DONE);
}

#[test]
fn status_and_run_say_which_folder_they_act_on() {
    let workspace = Workspace::new();
    let folder = workspace.path().join(FOLDER).display().to_string();
    assert!(workspace.ok(&["status"]).contains(&folder));
    assert_eq!(workspace.json(&["status"])["folder"], folder);
    let run = workspace.run(&["run", "Say hello."]);
    assert!(run.has_code(exit::DONE).err.contains(&folder), "{run:?}");
    let run = workspace.run(&["-q", "run", "Say hello."]);
    assert!(!run.has_code(exit::DONE).err.contains(&folder), "{run:?}");
}
