//! The command line itself: help, wrong use, names that nobody bears.

use crate::harness::{LIMIT, Run, Terminal, Workspace};
use nix::sys::signal::Signal;
use protocol::exit;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Verbs that need a team, each with arguments that would be fine in one.
const NEED_A_TEAM: &[&[&str]] = &[
    &["status"],
    &["send", "alice", "hello"],
    &["broadcast", "hello"],
    &["inbox"],
    &["inbox", "alice", "--drain"],
    &["shutdown", "alice"],
    &["shutdown", "--all", "--force"],
    &["requests"],
    &["approve", "1a2b3c4d"],
    &["reject", "1a2b3c4d", "--feedback", "no"],
    &["kill", "alice"],
    &["restart", "alice"],
    &["logs", "alice"],
    &["wait"],
    &["events"],
    &["watch"],
    &["doctor"],
    &["doctor", "--fix"],
    &["clean", "--dry-run"],
    &["task", "list"],
    &["notes"],
    &["notes", "--add", "hello"],
];

#[test]
fn without_a_verb_the_help_is_shown_and_the_exit_code_says_that_nothing_was_done() {
    let workspace = Workspace::new();
    let run = workspace.run(&[]);
    run.has_code(exit::USAGE);
    assert!(run.err.contains("Usage: team-lead"), "{run:?}");
    let help = workspace.run(&["--help"]);
    help.has_code(exit::DONE);
    for (code, meaning) in exit::ALL {
        let line = format!("{code:>3}  {meaning}");
        assert!(help.out.contains(&line), "{line} is not in {}", help.out);
    }
}

/// The verbs that a help text lists.
fn verbs(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // A long description goes on below its beginning.
    let lines = lines.filter(|line| !line.starts_with("   "));
    let words = lines.filter_map(|line| line.split_whitespace().next());
    words.filter(|verb| *verb != "help").collect()
}

#[test]
fn every_verb_has_help_with_an_example() {
    let workspace = Workspace::new();
    let whole = workspace.run(&["--help"]);
    let verbs = verbs(&whole.out);
    for words in NEED_A_TEAM {
        assert!(
            verbs.contains(&words[0]),
            "{} is not in {verbs:?}",
            words[0]
        );
    }
    for verb in verbs {
        let help = workspace.run(&[verb, "--help"]);
        help.has_code(exit::DONE);
        assert!(help.out.contains("Example"), "{verb}: {}", help.out);
        assert!(help.out.contains(&format!("team-lead {verb}")), "{verb}");
    }
}

#[test]
fn help_is_wrapped_to_the_terminal() {
    let workspace = Workspace::empty();
    for columns in [80_u16, 120, 300] {
        let mut terminal = Terminal::start(workspace.command(&["run", "--help"]), 150, columns);
        assert!(terminal.end().success());
        terminal.wait_for(&["With a prompt the lead works until it", "{\"answer\""]);
        let screen = terminal.text();
        // A line that the terminal has to cut is longer than the terminal is wide.
        let widest = screen.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns.min(120).into()), "{screen}");
        let words: Vec<&str> = screen.split_whitespace().collect();
        let sentence = "prints its final answer and ends. On a terminal it reads queries";
        assert!(words.join(" ").contains(sentence), "{screen}");
    }
}

#[test]
fn a_verb_that_needs_a_team_says_so_and_creates_none() {
    let workspace = Workspace::empty();
    for words in NEED_A_TEAM {
        let run = workspace.run(words);
        run.complains(exit::NOT_FOUND, "no team folder", "team-lead spawn");
        let mut words = words.to_vec();
        words.insert(0, "--json");
        let run = workspace.run(&words);
        run.json_error(exit::NOT_FOUND, "no_team");
    }
    let created = std::fs::read_dir(workspace.path()).unwrap().count();
    assert_eq!(created, 0, "a typo created something");
}

#[test]
fn wrong_use_is_told_in_the_form_that_was_asked_for() {
    let workspace = Workspace::with_members(&["alice"]);
    let before = workspace.listing();
    for words in [
        &["sned", "alice", "hello"][..],
        &["send", "alice"],
        &["send", "../alice", "hello"],
        &["send", "alice", " "],
        &["reject", "alice"],
        &["reject", "alice", "--feedback", " "],
        &["shutdown"],
        &["shutdown", "alice", "--all"],
        &["shutdown", "alice", "--timeout", "soon"],
        &["wait", "--idle", "--tasks"],
        &["wait", "--timeout", "-1"],
        &["logs", "alice", "-n", "many"],
        &["events", "--since", "yesterday"],
        &["completions", "cmd"],
        &["requests", "../x"],
        &["-q", "-v", "status"],
        &["-C", "no/such/folder", "status"],
    ] {
        let run = workspace.run(words);
        run.has_code(exit::USAGE);
        assert!(
            run.err.starts_with("error: ") && run.out.is_empty(),
            "{run:?}"
        );
        let mut words = words.to_vec();
        words.insert(0, "--json");
        workspace.run(&words).json_error(exit::USAGE, "usage");
    }
    let mut odd = workspace.command(&["status"]);
    let run = Run::of(odd.env("TEAM_FSYNC", "maybe"));
    run.complains(exit::USAGE, "TEAM_FSYNC", "team-lead --help");
    assert_eq!(workspace.listing(), before, "wrong use changed something");
}

#[test]
fn a_wrong_word_for_a_flag_is_an_error_that_lists_the_right_ones() {
    let workspace = Workspace::with_members(&["alice"]);
    let before = workspace.listing();
    let words: [(&[&str], &[&str]); 11] = [
        (
            &["spawn", "bob", "coder", "--sandbox"],
            &["auto", "required", "off"],
        ),
        (&["run", "--sandbox"], &["auto", "required", "off"]),
        (
            &["spawn", "bob", "coder", "--effort"],
            &["minimal", "medium", "max"],
        ),
        (
            &["spawn", "bob", "coder", "--thinking"],
            &["adaptive", "off"],
        ),
        (&["spawn", "bob", "coder", "--tree"], &["own", "shared"]),
        (
            &["spawn", "bob", "coder", "--restart"],
            &["never", "on-failure"],
        ),
        (&["run", "--on-ask"], &["wait", "deny"]),
        (&["costs", "--by"], &["member", "model", "task"]),
        (&["task", "list", "--status"], &["pending", "completed"]),
        (
            &["task", "update", "1", "--status"],
            &["pending", "completed"],
        ),
        (&["completions"], &["bash", "fish", "zsh"]),
    ];
    for (flag, right) in words {
        let run = workspace.run(&[flag, &["wrongg"]].concat());
        run.has_code(exit::USAGE);
        for word in right {
            assert!(run.err.contains(word), "{flag:?}: {run:?}");
        }
    }
    assert_eq!(
        workspace.listing(),
        before,
        "a wrong word changed something"
    );
}

#[test]
fn a_name_that_nobody_bears_is_an_error_that_lists_the_names_and_creates_nothing() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let before = workspace.listing();
    for words in [
        &["send", "alcie", "hello"][..],
        &["send", "alcie", "-"],
        &["inbox", "alcie"],
        &["inbox", "alcie", "--drain"],
        &["shutdown", "alice", "alcie"],
        &["logs", "alice", "alcie"],
        &["events", "--member", "alcie"],
        &["kill", "alcie"],
        &["restart", "alcie"],
    ] {
        let run = workspace.run(words);
        let names = "the members are alice, bob";
        run.complains(exit::NOT_FOUND, names, "team-lead status");
        assert!(run.err.contains("alcie"), "{run:?}");
        let mut words = words.to_vec();
        words.push("--json");
        let error = workspace.run(&words);
        error.json_error(exit::NOT_FOUND, "unknown_member");
    }
    assert_eq!(workspace.listing(), before, "a typo changed something");
}

#[test]
fn the_folder_is_found_from_below() {
    let workspace = Workspace::with_members(&["alice"]);
    let deep = workspace.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    for run in [
        workspace.run(&["-C", "a/b", "inbox", "ALICE"]),
        Run::of(&mut workspace.command_in(&deep, &["inbox", "ALICE"])),
    ] {
        assert_eq!(run.has_code(exit::DONE).out, "No unread mail for alice.\n");
    }
    let ignore = std::fs::read_to_string(workspace.path().join(".team/.gitignore"));
    assert_eq!(ignore.unwrap(), "*\n", "the folder stays out of commits");
}

#[test]
fn output_for_people_and_machines_has_no_colours_where_they_are_not_wanted() {
    let workspace = Workspace::with_members(&["alice"]);
    let hostile = "red \u{1b}[31malert\u{7}";
    workspace
        .run(&["send", "alice", hostile])
        .has_code(exit::DONE);
    for words in [&["--help"][..], &["sned"], &["inbox", "alice"]] {
        let mut command = workspace.command(words);
        let run = Run::of(command.env("NO_COLOR", "1"));
        let text = run.out + &run.err;
        assert!(!text.is_empty() && !text.contains('\u{1b}'), "{text:?}");
    }
    let inbox = workspace.run(&["inbox", "alice", "--json"]).json();
    assert_eq!(inbox["messages"][0]["content"], hostile);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let workspace = Workspace::with_members(&["alice"]);
    let event = r#"{"time":1763251200.25,"event":"sneeze","member":"alice"}"#;
    // More than a pipe takes, so that the program meets the closed end.
    let many = format!("{event}\n").repeat(20_000);
    std::fs::write(workspace.team().layout().events(), &many).unwrap();
    workspace.append_log("alice", &many);
    for words in [&["events"][..], &["logs", "alice", "-n", "20000"]] {
        let mut command = workspace.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        assert_eq!(first.trim_end(), event);
        drop(out);
        let run = Run::ended(child.wait_with_output().unwrap());
        assert_eq!(run.has_code(exit::DONE).err, "");
    }
    // An error that nobody reads is still told by the exit code.
    let mut command = workspace.command(&["logs", "nobody"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(i32::from(exit::NOT_FOUND)));
}

#[test]
fn shells_and_readers_get_a_description() {
    let workspace = Workspace::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = workspace.run(&["completions", shell]);
        assert!(
            run.has_code(exit::DONE).out.contains("TEAM_LEAD_COMPLETE"),
            "{shell}"
        );
    }
    let page = workspace.run(&["man"]);
    assert!(page.has_code(exit::DONE).out.contains(".TH team-lead"));
    let folder = workspace.path().join("pages");
    let words = ["man", folder.to_str().unwrap()];
    assert_eq!(workspace.run(&words).code, i32::from(exit::FAILED));
    std::fs::create_dir(&folder).unwrap();
    workspace.run(&words).has_code(exit::DONE);
    assert!(folder.join("team-lead-shutdown.1").exists());
    assert!(workspace.run(&["--help"]).out.contains("\n  man "));
}

#[test]
fn a_quiet_command_prints_no_confirmation() {
    let workspace = Workspace::with_members(&["alice"]);
    let run = workspace.run(&["-q", "send", "alice", "hello"]);
    assert_eq!(
        (run.has_code(exit::DONE).out.as_str(), run.err.as_str()),
        ("", "")
    );
    let inbox = workspace.run(&["-q", "inbox", "alice"]);
    assert_eq!(inbox.out, "user (message): hello\n", "data is data");
}

#[test]
fn ctrl_c_ends_a_stream_with_its_own_exit_code() {
    let workspace = Workspace::with_members(&["alice"]);
    workspace.append_log("alice", "hello\n");
    let mut logs = workspace.start(&["logs", "alice", "-f"]);
    assert_eq!(logs.line(LIMIT), "hello");
    logs.signal(Signal::SIGINT);
    assert_eq!(logs.wait(LIMIT).code(), Some(i32::from(exit::INTERRUPTED)));
}
