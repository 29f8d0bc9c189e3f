//! The verbs of the second day: a team is created, listed, changed, talked to and ended.

use crate::harness::{LIMIT, Terminal, Workspace};
use protocol::exit;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use test_support::wait_until;

#[test]
fn init_creates_a_named_team_in_this_folder_once() {
    let workspace = Workspace::empty();
    let made = workspace.ok(&["init", "--name", "parser"]);
    assert!(made.starts_with("Created the team 'parser' in "), "{made}");
    assert_eq!(workspace.json(&["status"])["team_name"], "parser");
    let again = workspace.run(&["init"]);
    again.complains(exit::FAILED, "there is a team already", "team-lead status");
    workspace
        .run(&["init", "--name", " "])
        .has_code(exit::USAGE);
    // A folder below gets a team of its own.
    fs::create_dir(workspace.path().join("below")).unwrap();
    let below = workspace.json(&["-C", "below", "init"]);
    assert!(below["folder"].as_str().unwrap().ends_with("/below/.team"));
}

/// The workspaces that `teams` lists.
fn listed(workspace: &Workspace) -> Vec<String> {
    let teams = workspace.json(&["teams"])["teams"].clone();
    let teams = teams.as_array().unwrap().iter();
    teams
        .map(|team| team["workspace"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn teams_lists_every_team_of_the_user_and_mends_its_list() {
    let workspace = Workspace::empty();
    assert_eq!(listed(&workspace), [""; 0]);
    for folder in ["one", "two"] {
        fs::create_dir(workspace.path().join(folder)).unwrap();
        workspace.ok(&["-C", folder, "init", "--name", folder]);
    }
    workspace.ok(&["-C", "one", "spawn", "alice", "coder"]);
    let paths = ["one", "two"].map(|name| workspace.path().join(name).display().to_string());
    assert_eq!(listed(&workspace), paths);
    let first = workspace.json(&["teams"])["teams"][0].clone();
    let expected = json!({
        "team_name": "one", "workspace": paths[0], "members": 1, "running": 1, "lead": false,
    });
    assert_eq!(first, expected);
    let text = workspace.ok(&["teams"]);
    assert!(text.contains("1 of 1 running"), "{text}");
    let mut terminal = Terminal::start(workspace.command(&["teams"]), 24, 100);
    terminal.end();
    terminal.wait_for(&["TEAM  FOLDER", "  MEMBERS", "0 of 0 running"]);
    // A team that is gone is forgotten, and garbage in the list is no team.
    fs::remove_dir_all(workspace.path().join("two")).unwrap();
    let state = workspace.home().join(".local/state/team-lead/teams");
    fs::write(state.join("garbage"), "not a path").unwrap();
    assert_eq!(listed(&workspace), [paths[0].clone()]);
    assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    // What was lost comes back with the next command.
    fs::remove_dir_all(&state).unwrap();
    assert_eq!(listed(&workspace), [""; 0]);
    workspace.ok(&["-C", "one", "status"]);
    assert_eq!(listed(&workspace), [paths[0].clone()]);
    workspace.ok(&["-C", "one", "down"]);
}

#[test]
fn down_ends_the_lead_and_all_members() {
    let workspace = Workspace::new();
    let mut lead = workspace.start(&["run", "--keep"]);
    wait_until("a lead", LIMIT, || workspace.alive("lead").is_some());
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.ok(&["spawn", "bob", "tester"]);
    let ended = workspace.ok(&["down"]);
    assert!(
        ended.contains("'alice'") && ended.contains("'bob'"),
        "{ended}"
    );
    lead.wait(LIMIT);
    workspace.check_gone();
    // All of it again: there is nothing to end.
    workspace.ok(&["down"]);
}

#[test]
fn rm_keeps_the_conversation_in_the_trash_and_a_namesake_begins_anew() {
    let workspace = Workspace::new();
    let spawn = |words: &[&str]| {
        let words = [&["spawn", "alice", "coder"], words].concat();
        workspace.ok(&words);
    };
    spawn(&["--prompt", "Write one to 1.txt"]);
    workspace.wait_reports("alice", 1);
    let running = workspace.run(&["rm", "alice"]);
    running.complains(
        exit::FAILED,
        "'alice' is running",
        "team-lead shutdown alice --wait",
    );
    workspace.ok(&["shutdown", "alice", "--wait"]);
    workspace.ok(&["send", "alice", "Too late"]);
    let removed = workspace.json(&["rm", "alice"]);
    assert_eq!(removed["removed"], "alice");
    let kept: Vec<&str> = removed["kept"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let has = |end: &str| {
        kept.iter()
            .any(|path| path.ends_with(end) && path.contains("/trash/"))
    };
    assert!(
        has("/members/alice") && has("/inbox/alice.jsonl"),
        "{kept:?}"
    );
    let journal = kept
        .iter()
        .find(|path| path.ends_with("/members/alice"))
        .unwrap();
    let journal = fs::read_to_string(format!("{journal}/transcript.jsonl")).unwrap();
    assert!(journal.contains("Write one to 1.txt"), "{journal}");
    assert_eq!(workspace.json(&["status"])["members"], json!([]));
    workspace.run(&["rm", "alice"]).has_code(exit::NOT_FOUND);
    let (_, found) = workspace.json_and_code(&["doctor"]);
    assert!(
        !found["findings"].to_string().contains("alice"),
        "{found:#}"
    );
    // A new member of the name knows nothing of the old one, and its report is not taken for a repetition.
    spawn(&["--prompt", "Write two to 2.txt"]);
    workspace.wait_reports("alice", 2);
    assert!(!workspace.journal("alice").contains("1.txt"));
    assert_eq!(
        workspace.incarnation("alice"),
        2,
        "no message for the first acts on it"
    );
}

#[test]
fn rm_refuses_to_lose_work_in_a_tree() {
    let workspace = Workspace::empty();
    for words in [
        &["init", "-q"][..],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "start",
        ],
    ] {
        let mut git = Command::new("git");
        let done = git.args(words).current_dir(workspace.path()).status();
        assert!(done.unwrap().success());
    }
    workspace.ok(&[
        "spawn",
        "alice",
        "coder",
        "--tree",
        "own",
        "--prompt",
        "Write one to 1.txt",
    ]);
    workspace.ok(&["wait", "--timeout", "120"]);
    workspace.ok(&["shutdown", "alice", "--wait"]);
    let refused = workspace.run(&["rm", "alice"]);
    refused.has_code(exit::FAILED);
    assert!(
        refused
            .err
            .contains("team-lead trees --remove alice --rescue"),
        "{refused:?}"
    );
    assert_eq!(workspace.state("alice"), "shutdown");
    workspace.ok(&["trees", "--remove", "alice", "--rescue"]);
    workspace.ok(&["rm", "alice"]);
}

#[test]
fn a_fresh_member_remembers_nothing() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder", "--prompt", "Write one to 1.txt"]);
    workspace.wait_reports("alice", 1);
    let fresh = [
        "spawn",
        "alice",
        "coder",
        "--fresh",
        "--prompt",
        "What do you remember?",
    ];
    let running = workspace.run(&fresh);
    running.complains(
        exit::FAILED,
        "is running",
        "team-lead shutdown alice --wait",
    );
    workspace.ok(&["shutdown", "alice", "--wait"]);
    workspace.ok(&fresh);
    let reports = workspace.wait_reports("alice", 2);
    assert!(reports[1].contains("Nobody has asked me"), "{reports:?}");
    // The old conversation is still in the journal.
    assert!(workspace.journal("alice").contains("Write one to 1.txt"));
}

#[test]
fn logs_without_names_are_shown_together_by_time() {
    let workspace = Workspace::with_members(&["alice", "bo"]);
    workspace.append_log("alice", "10:00:01 one\n         more\n10:00:05 three\n");
    workspace.append_log("bo", "10:00:03 two\n");
    let all = workspace.run(&["logs"]);
    assert_eq!(
        all.has_code(exit::DONE).out,
        "alice | 10:00:01 one\nalice |          more\nbo    | 10:00:03 two\nalice | 10:00:05 three\n"
    );
    assert_eq!(all.err, "", "who has no log is not named");
    let mut follow = workspace.start(&["logs", "-f", "-n", "1"]);
    assert_eq!(follow.line(LIMIT), "alice | 10:00:05 three");
    assert_eq!(follow.line(LIMIT), "bo    | 10:00:03 two");
    workspace.append_log("bo", "10:00:09 four\n");
    assert_eq!(follow.line(LIMIT), "bo    | 10:00:09 four");
}

#[test]
fn events_are_words_on_a_terminal_and_objects_in_a_pipe() {
    let workspace = Workspace::with_members(&["alice"]);
    workspace.ok(&["send", "alice", "hello"]);
    let mut terminal = Terminal::start(workspace.command(&["events"]), 24, 100);
    terminal.end();
    wait_until("words", LIMIT, || terminal.text().contains("alice"));
    assert!(!terminal.text().contains('{'), "{}", terminal.text());
    let mut terminal = Terminal::start(workspace.command(&["events", "--json"]), 24, 100);
    terminal.end();
    wait_until("objects", LIMIT, || terminal.text().contains("\"event\""));
    let piped = workspace.ok(&["events"]);
    assert!(piped.starts_with('{'), "{piped}");
}

#[test]
fn the_persons_mail_is_what_waits_and_what_no_lead_reads() {
    let workspace = Workspace::new();
    assert_eq!(workspace.ok(&["inbox", "user"]), "Nothing waits for you.\n");
    workspace.ok(&["spawn", "alice", "coder", "--prompt", "Write one to 1.txt"]);
    workspace.wait_reports("alice", 1);
    let plan = ["--require-plan", "--prompt", "Write two to 2.txt"];
    workspace.ok(&[&["spawn", "carol", "coder"][..], &plan].concat());
    workspace.ok(&["wait", "--timeout", "120"]);
    let mail = workspace.ok(&["inbox", "user"]);
    assert!(mail.contains("team-lead approve "), "{mail}");
    assert!(mail.contains("Wrote 3 bytes to 1.txt"), "{mail}");
    let mail = workspace.json(&["inbox", "user"]);
    assert_eq!(mail["requests"][0]["from"], "carol");
    assert!(!mail["messages"].as_array().unwrap().is_empty());
    workspace
        .run(&["inbox", "user", "--drain"])
        .has_code(exit::USAGE);
}

#[test]
fn up_makes_the_team_as_it_is_listed() {
    let first =
        "[[members]]\nname = 'alice'\nrole = 'coder'\n[[members]]\nname = 'bob'\nrole = 'tester'\n";
    let workspace = Workspace::with_config(first);
    let up = workspace.ok(&["up"]);
    assert!(
        up.contains("Spawned 'alice'") && up.contains("Spawned 'bob'"),
        "{up}"
    );
    workspace.write(
        "team.toml",
        "[[members]]\nname = 'alice'\nrole = 'coder'\nrequire_plan = true\n",
    );
    workspace.run(&["trust", "--yes"]);
    let result = workspace.json(&["up"]);
    let expected = json!({"members": [
        {"name": "alice", "role": "coder", "result": "updated"},
        {"name": "bob", "role": "tester", "result": "not listed"},
    ]});
    assert_eq!(result, expected);
    assert_eq!(workspace.member("alice").spec.require_plan, Some(true));
    let again = workspace.ok(&["up"]);
    assert!(
        again.contains("'alice' (role: coder): already running"),
        "{again}"
    );
    assert!(again.contains("team-lead rm bob"), "{again}");
    assert_eq!(workspace.state("bob"), "idle", "nobody is ended");
}

#[test]
fn attach_talks_to_a_member_and_leaves_it_running() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder", "--prompt", "Write one to 1.txt"]);
    workspace.wait_reports("alice", 1);
    for (number, (rows, columns)) in [(24, 80), (40, 120), (80, 300)].into_iter().enumerate() {
        let command = workspace.command(&["attach", "alice", "-n", "4"]);
        let mut terminal = Terminal::start(command, rows, columns);
        terminal.wait_for(&["attached to alice", "Wrote 3 bytes to"]);
        let line = format!(
            "Write two to {number}.md. Run `while [ ! -e go{number} ]; do sleep 0.1; done`\r"
        );
        terminal.type_keys(&line);
        // A call is seen while it runs, and in colours.
        terminal.wait_for(&[&format!("write {number}.md"), "  + two", "done ..."]);
        assert!(terminal.output().contains("\u{1b}[32m  + two"));
        workspace.write(&format!("go{number}"), "");
        terminal.wait_for(&[&format!("Wrote 3 bytes to {number}.md")]);
        terminal.type_keys("\x04");
        assert!(terminal.end().success());
        terminal.wait_for(&["left; alice goes on"]);
        workspace.ok(&["wait", "--timeout", "120"]);
        assert_eq!(workspace.state("alice"), "idle");
    }
    // From a pipe it leaves when the work is done.
    let piped = workspace.run_with_input(&["attach", "alice", "-n", "0"], "Write three to 3.txt\n");
    assert!(
        piped
            .has_code(exit::DONE)
            .out
            .contains("Wrote 5 bytes to 3.txt"),
        "{piped:?}"
    );
    workspace.ok(&["shutdown", "alice", "--wait"]);
    let gone = workspace.run(&["attach", "alice"]);
    gone.complains(
        exit::FAILED,
        "'alice' is not running",
        "team-lead restart alice",
    );
}

#[test]
fn version_names_the_program_and_the_format() {
    let workspace = Workspace::empty();
    let version = env!("CARGO_PKG_VERSION");
    let text = workspace.ok(&["version"]);
    assert_eq!(text, format!("team-lead {version} (folder format 1)\n"));
    assert_eq!(
        workspace.json(&["version"]),
        json!({"version": version, "format": 1})
    );
    assert_eq!(
        workspace.ok(&["--version"]),
        format!("team-lead {version}\n")
    );
}

#[test]
fn status_has_columns_and_colours_on_a_terminal_alone() {
    let workspace = Workspace::with_roles(&[("al", "coder"), ("bertha", "senior tester")]);
    workspace.ok(&["send", "al", "hello"]);
    let mut terminal = Terminal::start(workspace.command(&["status"]), 24, 100);
    terminal.end();
    terminal.wait_for(&[
        "NAME    ROLE           STATE",
        "al      coder",
        "bertha  senior tester",
        "Folder: ",
    ]);
    assert!(
        terminal.output().contains("\u{1b}["),
        "{:?}",
        terminal.output()
    );
    let mut plain = workspace.command(&["status"]);
    plain.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(plain, 24, 100);
    terminal.end();
    terminal.wait_for(&["bertha  senior tester"]);
    assert!(
        !terminal.output().contains('\u{1b}'),
        "{:?}",
        terminal.output()
    );
    // Columns without any text are left out.
    assert!(!terminal.text().contains("COST"), "{}", terminal.text());
    let piped = workspace.ok(&["status"]);
    assert!(piped.contains("\n  al (coder): "), "{piped}");
}
