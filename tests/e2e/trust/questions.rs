//! The question, its answers, and the verb `trust`.

use super::{PROOF, assert_stopped, clone_team, dead_member, malice};
use crate::harness::{Terminal, Workspace};
use protocol::exit;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use teamdir::FOLDER;

const TOOLS: &str = "model = 'offline'\n[roles.coder]\ntools = ['read_file']\n";

fn untrusted(config: &str) -> Workspace {
    let workspace = Workspace::empty();
    workspace.write("team.toml", config);
    workspace
}

fn at_terminal(workspace: &Workspace, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(workspace.command(args), 40, 200);
    terminal.wait_for(&["Trust it? [y/N]"]);
    terminal
}

#[test]
fn a_person_is_asked_once_and_again_about_a_change() {
    let workspace = untrusted(TOOLS);
    let spawn = ["spawn", "alice", "coder"];
    for refusal in ["\n", "n\n", "\u{4}"] {
        let mut terminal = at_terminal(&workspace, &spawn);
        terminal.wait_for(&["roles.coder.tools = \"read_file\"", "(team.toml)"]);
        terminal.type_keys(refusal);
        assert_eq!(terminal.end().code(), Some(i32::from(exit::FAILED)));
        assert!(!workspace.path().join(FOLDER).exists());
    }
    let mut terminal = at_terminal(&workspace, &spawn);
    terminal.type_keys("y\n");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::DONE)));
    workspace.ok(&["restart", "alice"]);

    workspace.write("team.toml", &TOOLS.replace("'read_file'", "'bash'"));
    let mut terminal = at_terminal(&workspace, &["restart", "alice"]);
    terminal.wait_for(&["+ tools", "\"bash\"", "- tools", "\"read_file\""]);
    terminal.type_keys("y\n");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::DONE)));
    workspace.ok(&["restart", "alice"]);
}

#[test]
fn what_appears_while_a_person_reads_the_question_is_asked_about_too() {
    let workspace = untrusted(TOOLS);
    let mut evil = dead_member("evil");
    evil.spec.exec = Some(malice(&workspace));
    let mut terminal = at_terminal(&workspace, &["run", "hi"]);
    clone_team(workspace.path(), &[evil]);
    terminal.type_keys("y\n");
    terminal.wait_for(&["+ folder", "+ program", "members.evil.exec"]);
    terminal.type_keys("n\n");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::FAILED)));
    assert!(!workspace.path().join(PROOF).exists());
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let workspace = untrusted(TOOLS);
    let command = workspace.command(&["spawn", "alice", "coder"]);
    // The shell takes the first line, and the second one waits in the terminal.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "read -r line; exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(workspace.path()).env_clear();
    shell.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let mut terminal = Terminal::start(shell, 40, 200);
    terminal.type_keys("begin\ny\n");
    terminal.wait_for(&["Trust it? [y/N]"]);
    terminal.type_keys("n\n");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::FAILED)));
    assert!(!workspace.path().join(FOLDER).exists());
}

#[test]
fn the_interactive_lead_asks_before_it_begins() {
    let workspace = untrusted(TOOLS);
    let mut terminal = at_terminal(&workspace, &["run"]);
    terminal.type_keys("y\n");
    terminal.wait_for(&["> "]);
    terminal.type_keys("q\r");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::DONE)));
}

#[test]
fn trust_is_shown_given_and_taken_back() {
    let workspace = untrusted(TOOLS);
    let shown = workspace.json(&["trust", "--show"]);
    assert_eq!(shown["trusted"], false);
    assert_eq!(shown["settings"][0]["risk"], "tools");
    assert_eq!(shown["settings"][0]["key"], "roles.coder.tools");
    assert_eq!(shown["settings"][0]["trusted"], false);
    let nobody = workspace.run(&["trust"]);
    nobody.complains(exit::FAILED, "roles.coder.tools", "team-lead trust --yes");
    assert!(workspace.ok(&["trust", "--yes"]).starts_with("Trusted "));
    assert_eq!(workspace.json(&["trust", "--show"])["trusted"], true);
    assert!(
        workspace
            .ok(&["trust", "--show"])
            .contains("  trusted    tools ")
    );
    workspace.ok(&["spawn", "alice", "coder"]);
    assert!(workspace.ok(&["trust", "--revoke"]).starts_with("Forgot "));
    assert_stopped(
        &workspace.run(&["restart", "alice"]),
        &["roles.coder.tools"],
    );
    let folder = workspace.home().join(".local/state/team-lead/trust");
    let mode = folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn nothing_to_trust_is_said() {
    let workspace = Workspace::new();
    assert!(workspace.ok(&["trust"]).starts_with("Nothing in "));
    assert!(
        workspace
            .ok(&["trust", "--show"])
            .starts_with("Nothing in ")
    );
    assert!(workspace.ok(&["trust", "--revoke"]).starts_with("Forgot "));
    assert!(
        workspace
            .ok(&["trust", "--revoke"])
            .starts_with("Nothing was trusted")
    );
}

#[test]
fn one_run_can_be_trusted_without_a_record() {
    let workspace = Workspace::empty();
    let config = format!(
        "[[members]]\nname = 'carol'\nrole = 'r'\nexec = \"{}; sleep 600\"\n",
        malice(&workspace)
    );
    workspace.write("team.toml", &config);
    workspace.ok(&["up", "--trust"]);
    assert!(workspace.path().join(PROOF).exists());
    assert_stopped(
        &workspace.run(&["restart", "carol"]),
        &["members.carol.exec"],
    );
    workspace.ok(&["restart", "--trust", "carol"]);
    assert_eq!(workspace.json(&["trust", "--show"])["trusted"], false);
}

#[test]
fn settings_are_shown_with_their_trust() {
    let workspace = untrusted(TOOLS);
    workspace.write(
        ".env",
        "OPENAI_BASE_URL=http://127.0.0.1:1\nOPENAI_API_KEY=sk-hidden\n",
    );
    let find = |key: &str| {
        let shown = workspace.json(&["config", "show"]);
        let settings = shown["settings"].as_array().unwrap().clone();
        let found = settings.into_iter().find(|setting| setting["key"] == key);
        let found = found.unwrap_or_else(|| panic!("{key}: {shown}"));
        assert!(!shown.to_string().contains("sk-hidden"), "{shown}");
        (found["source"].clone(), found["trust"].clone())
    };
    assert_eq!(
        find("OPENAI_BASE_URL"),
        ("workspace".into(), "untrusted".into())
    );
    assert_eq!(
        find("OPENAI_API_KEY"),
        ("workspace".into(), "not needed".into())
    );
    assert_eq!(
        find("roles.coder.tools"),
        ("workspace".into(), "untrusted".into())
    );
    assert_eq!(find("model"), ("workspace".into(), "not needed".into()));
    assert_eq!(
        find("limits.members"),
        ("default".into(), "not needed".into())
    );
    workspace.ok(&["trust", "--yes"]);
    assert_eq!(
        find("OPENAI_BASE_URL"),
        ("workspace".into(), "trusted".into())
    );
    assert!(workspace.ok(&["config", "show"]).contains("(trusted)"));
}
