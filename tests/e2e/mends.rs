//! Small things that people noticed: what is said, and what is left behind.

use crate::harness::{Run, Workspace};
use protocol::exit;
use test_support::llm_server::refused_url;

#[test]
fn a_run_that_cannot_start_creates_no_team() {
    let workspace = Workspace::empty();
    let run = workspace.run(&["run", "--model", "openai:some-model", "Hello"]);
    run.complains(exit::USAGE, "OPENAI_API_KEY", "team-lead run --help");
    let mut command = workspace.command(&["run", "Hello"]);
    let run = Run::of(command.env("TEAMMATE_BIN", "/nowhere/teammate"));
    run.has_code(exit::FAILED);
    let run = workspace.run(&["run", "--allow", "Bash(", "Hello"]);
    run.has_code(exit::USAGE);
    let hosts = [
        "run",
        "--sandbox",
        "off",
        "--network",
        "example.org",
        "Hello",
    ];
    let run = workspace.run(&hosts);
    run.complains(
        exit::FAILED,
        "only a sandbox of level full",
        "team-lead sandbox check",
    );
    assert!(!workspace.path().join(".team").exists(), "{run:?}");
}

#[test]
fn spawn_says_that_nobody_chose_a_model() {
    let workspace = Workspace::new();
    let spawned = workspace.run(&["spawn", "alice", "coder"]);
    assert!(spawned.err.contains("`offline` is used"), "{spawned:?}");
    let chosen = workspace.run(&["spawn", "bob", "coder", "--model", "offline"]);
    assert!(!chosen.err.contains("offline"), "{chosen:?}");
    let quiet = workspace.run(&["-q", "spawn", "carol", "coder"]);
    assert_eq!(quiet.has_code(exit::DONE).err, "");
}

#[test]
fn a_report_after_a_respawn_is_about_the_new_work_alone() {
    let workspace = Workspace::new();
    let spawn = |prompt: &str| {
        workspace.ok(&["spawn", "alice", "coder", "--prompt", prompt]);
    };
    spawn("Write one to 1.txt");
    workspace.wait_reports("alice", 1);
    workspace.ok(&["shutdown", "alice", "--wait"]);
    spawn("Write two to 2.txt");
    let reports = workspace.wait_reports("alice", 2);
    assert_eq!(
        reports,
        ["Wrote 3 bytes to 1.txt", "Wrote 3 bytes to 2.txt"]
    );
}

#[test]
fn tasks_for_a_role_that_nobody_has_are_named() {
    let workspace = Workspace::with_roles(&[("alice", "coder")]);
    workspace.ok(&["task", "create", "Paint it", "--role", "painter"]);
    workspace.ok(&["task", "create", "Paint more", "--role", "painter"]);
    workspace.ok(&["task", "create", "Code it", "--role", "Coder"]);
    let said = "nobody has the role \"painter\", for which tasks #1, #2 are";
    let list = workspace.run(&["task", "list"]);
    assert!(list.err.contains(said), "{list:?}");
    assert!(
        list.err.contains("team-lead spawn NAME painter"),
        "{list:?}"
    );
    assert!(!list.err.contains("oder"), "{list:?}");
    let wait = workspace.run(&["wait", "--tasks", "--timeout", "0"]);
    assert!(
        wait.has_code(exit::TIMED_OUT).err.contains(said),
        "{wait:?}"
    );
    let (_, found) = workspace.json_and_code(&["doctor"]);
    let mut findings = found["findings"].as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["kind"] == "missing_role");
    let finding = finding.unwrap_or_else(|| panic!("{found:#}"));
    assert!(finding["problem"].as_str().unwrap().contains(said));
    assert_eq!(finding["fix"], "team-lead spawn NAME painter");
}

#[test]
fn every_member_whose_model_cannot_be_used_is_counted() {
    let workspace = Workspace::new();
    for name in ["alice", "bob"] {
        workspace.ok(&["spawn", name, "coder", "--model", "offline"]);
    }
    let changed = workspace.team().update_roster(|roster| {
        for member in &mut roster.members {
            member.spec.model = Some("openai:x".to_owned());
        }
        Ok::<_, teamdir::RosterError>(())
    });
    changed.unwrap();
    let run = workspace.run(&["doctor"]);
    let problems = run
        .out
        .lines()
        .filter(|line| line.contains("OPENAI_API_KEY") && line.contains(". "));
    assert_eq!(problems.count(), 2, "{run:?}");
}

#[test]
fn a_server_on_this_machine_that_does_not_run_is_named_at_once() {
    let workspace = Workspace::empty();
    let url = refused_url().unwrap();
    let mut command = workspace.command(&["run", "--model", "openai:some-model", "Hello"]);
    command
        .env("OPENAI_BASE_URL", &url)
        .env("OPENAI_API_KEY", "none");
    let run = Run::of(&mut command);
    run.has_code(exit::FAILED);
    assert!(run.err.contains(&url), "{url} is not in {run:?}");
    assert!(run.err.contains("after 1 try: cannot connect"), "{run:?}");
    assert!(
        run.err
            .contains("check the address and that the server runs"),
        "{run:?}"
    );
}
