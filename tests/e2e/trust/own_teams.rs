//! Teams that the user's own programs made ask nothing, wherever a stranger's would.

use super::{PROOF, assert_stopped, dead_member, malice};
use crate::harness::{LIMIT, Run, Workspace};
use protocol::{Roster, exit};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use teamdir::{FOLDER, Layout};
use test_support::wait_until;

/// A team whose member is a program that its user has typed.
fn with_program() -> Workspace {
    let workspace = Workspace::empty();
    let program = format!("{}; sleep 600", malice(&workspace));
    workspace.spawn("carol", &["--exec", &program]);
    workspace.ok(&["kill", "carol"]);
    wait_until("the program", LIMIT, || {
        workspace.path().join(PROOF).exists()
    });
    workspace
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

#[test]
fn what_the_user_typed_is_not_asked_again() {
    let workspace = with_program();
    workspace.ok(&["restart", "carol"]);
    workspace.ok(&["spawn", "bob", "tester", "--model", "offline"]);
    workspace.ok(&["restart", "bob"]);
    let shown = workspace.json(&["trust", "--show"]);
    assert_eq!(shown["trusted"], true, "{shown}");
    assert_eq!(shown["settings"][0]["key"], "members.carol.exec", "{shown}");
}

#[test]
fn a_copy_and_a_clone_of_the_same_files_ask() {
    let workspace = with_program();
    let elsewhere = workspace.home().join("elsewhere");
    copy(workspace.path(), &elsewhere);
    let run = Run::of(&mut workspace.command_in(&elsewhere, &["restart", "carol"]));
    assert_stopped(&run, &["members.carol.exec", "made by another user"]);
    // The copy in the place of the original is not the original.
    std::fs::remove_dir_all(workspace.path().join(FOLDER)).unwrap();
    copy(&elsewhere.join(FOLDER), &workspace.path().join(FOLDER));
    assert_stopped(
        &workspace.run(&["restart", "carol"]),
        &["made by another user"],
    );
}

#[test]
fn a_moved_team_asks_once() {
    let workspace = with_program();
    let moved = workspace.home().join("moved");
    std::fs::rename(workspace.path(), &moved).unwrap();
    std::fs::create_dir(workspace.path()).unwrap();
    let run = |args: &[&str]| Run::of(&mut workspace.command_in(&moved, args));
    assert_stopped(&run(&["restart", "carol"]), &["members.carol.exec"]);
    run(&["trust", "--yes"]).has_code(exit::DONE);
    run(&["restart", "carol"]).has_code(exit::DONE);
    run(&["kill", "carol"]).has_code(exit::DONE);
}

/// git overwrites ignored files without a word, and a team folder ignores itself.
#[test]
fn a_roster_that_a_pull_has_replaced_asks_for_what_is_new() {
    let workspace = with_program();
    let layout = Layout::new(workspace.path().join(FOLDER));
    let text = std::fs::read(layout.roster()).unwrap();
    let mut roster = Roster::decode(&text).unwrap();
    let mut evil = dead_member("evil");
    evil.spec.exec = Some("touch other-code-ran".to_owned());
    roster.members.push(evil);
    std::fs::write(layout.roster(), json!(roster).to_string()).unwrap();
    let run = workspace.run(&["run", "hi"]);
    assert_stopped(&run, &["members.evil.exec"]);
    assert!(!run.err.contains("members.carol.exec"), "{run:?}");
    assert!(!workspace.path().join("other-code-ran").exists());
}

#[test]
fn without_a_state_folder_one_run_works_and_the_next_one_says_why_not() {
    let workspace = Workspace::empty();
    let homeless = |args: &[&str]| {
        let mut command = workspace.command(args);
        Run::of(command.env_remove("HOME"))
    };
    let spawn = homeless(&["spawn", "alice", "coder", "--model", "offline"]);
    spawn.has_code(exit::DONE);
    assert!(spawn.err.contains("cannot be recorded"), "{spawn:?}");
    assert!(spawn.err.contains("XDG_STATE_HOME"), "{spawn:?}");
    assert_stopped(&homeless(&["restart", "alice"]), &[]);
    homeless(&["restart", "alice", "--trust"]).has_code(exit::DONE);
    let run = homeless(&["run", "--trust", "Spawn bob (tester)."]);
    run.has_code(exit::DONE);
    let trust = homeless(&["trust", "--yes"]);
    trust.has_code(exit::FAILED);
    assert!(
        trust.err.contains("set HOME or XDG_STATE_HOME"),
        "{trust:?}"
    );
}

#[test]
fn many_first_commands_at_once_ask_nothing() {
    let workspace = Workspace::empty();
    let names = ["ann", "ben", "cid", "dan", "eva", "fay"];
    let sessions: Vec<_> = names
        .iter()
        .map(|name| workspace.start(&["spawn", name, "coder", "--model", "offline"]))
        .collect();
    for session in sessions {
        session.finish("").has_code(exit::DONE);
    }
}

#[test]
fn many_programs_typed_at_once_are_all_trusted() {
    let workspace = Workspace::new();
    let names = ["ann", "ben", "cid", "dan", "eva", "fay"];
    let sessions: Vec<_> = names
        .iter()
        .map(|name| {
            workspace.start(&[
                "spawn",
                name,
                "coder",
                "--exec",
                &format!(": {name}; sleep 600"),
            ])
        })
        .collect();
    for session in sessions {
        session.finish("").has_code(exit::DONE);
    }
}

#[test]
fn a_sandbox_and_a_network_that_were_typed_are_not_asked_again_and_others_are() {
    let workspace = Workspace::empty();
    let args = ["--sandbox", "off", "--network", "on", "--model", "offline"];
    workspace.ok(&[&["spawn", "alice", "coder"], &args[..]].concat());
    workspace.ok(&["restart", "alice"]);
    let typed = ["run", "--sandbox", "off", "--keep", "Spawn bob (tester)."];
    workspace.ok(&typed);
    workspace.ok(&["restart", "bob"]);
    workspace.ok(&["run", "--keep", "Say hello."]);
    let roster = workspace.team().update_roster(|roster| {
        for member in &mut roster.members {
            member.spec.network = Some("example.org".parse().unwrap());
        }
        Ok::<_, teamdir::RosterError>(())
    });
    roster.unwrap();
    let words = [
        "members.alice.network = \"example.org\"",
        "members.bob.network",
    ];
    assert_stopped(&workspace.run(&["restart", "alice"]), &words);
}
