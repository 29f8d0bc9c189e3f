//! `team-lead run` at a terminal.

use crate::harness::Terminal;
use crate::harness::{LIMIT, Workspace, spawn_teammate};
use nix::sys::signal::Signal;
use protocol::Phase;
use std::io::{Read as _, Write as _};
use std::process::Child;
use test_support::llm_server::{Gate, ServerReply};
use test_support::{AtTerminal, wait_for};

const PROMPT: &str = "team >>";

/// A lead at a terminal that shows its prompt.
fn terminal(workspace: &Workspace, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(workspace.lead_command(args), 40, 100);
    terminal.wait_for_last_line(PROMPT);
    terminal
}

#[test]
fn a_person_asks_looks_and_leaves() {
    let workspace = Workspace::new();
    workspace.reply(ServerReply::text(
        "Good\u{1b}]0;evil\u{7} day.\nHow are you?",
    ));
    let mut terminal = terminal(&workspace, &[]);
    terminal.type_keys("hello\r");
    terminal.wait_for_line_above("How are you?", PROMPT);
    assert!(!terminal.output().contains("\u{1b}]0;evil"));
    terminal.type_keys("/help\r");
    terminal.wait_for_line_above("make the lead's conversation shorter now", PROMPT);
    terminal.type_keys("/tema\r");
    terminal.wait_for_line_above("There is no command /tema", PROMPT);
    terminal.type_keys("q\r");
    assert_eq!(terminal.end().code(), Some(0));
    terminal.assert_restored();
    assert_eq!(workspace.lead_requests().len(), 1);
    // The next one finds what was typed.
    let mut next = self::terminal(&workspace, &[]);
    next.type_keys("\u{1b}[A\u{1b}[A\u{1b}[A\u{1b}[A");
    next.wait_for_last_line("team >> hello");
    next.type_keys("\u{15}\u{4}");
    assert_eq!(next.end().code(), Some(0));
    next.assert_restored();
}

#[test]
fn the_leads_text_is_shown_while_it_comes() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let text = "One.\nAnd much more than that follows later on.";
    // The server sends it in two halves; the second one is the chunk with this number.
    workspace.reply(ServerReply::text(text).gate(4, &gate));
    let mut terminal = terminal(&workspace, &[]);
    terminal.type_keys("count\r");
    gate.wait_until_reached(LIMIT);
    terminal.wait_for_line_above("One.", PROMPT);
    assert!(!terminal.output().contains("later on"));
    gate.open();
    terminal.wait_for_line_above("follows later on.", PROMPT);
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn teammates_talk_above_a_line_that_is_half_typed() {
    let workspace = Workspace::new();
    let mut terminal = terminal(&workspace, &[]);
    terminal.type_keys("half a li");
    terminal.wait_for_last_line("team >> half a li");
    workspace.ok(&["send", "lead", "the build is green"]);
    terminal.wait_for_line_above("user: the build is green", "team >> half a li");
    // The mail woke the lead, and its words come above the line too.
    terminal.wait_for_line_above("Standing by.", "team >> half a li");
    terminal.type_keys("ne\r");
    workspace.wait_for_lead_request("half a line");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn what_is_typed_ahead_is_done_in_order() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.reply(ServerReply::text("One.").gate_head(&gate));
    workspace.reply(ServerReply::text("Two and three."));
    let mut terminal = terminal(&workspace, &[]);
    terminal.type_keys("first\r");
    gate.wait_until_reached(LIMIT);
    terminal.type_keys("second\rthird\r/team\r");
    terminal.wait_for_line_above("No teammates.", PROMPT);
    gate.open();
    terminal.wait_for_line_above("Two and three.", PROMPT);
    terminal.type_keys("exit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let asked = workspace.lead_requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let places = ["first", "second", "third"].map(|query| asked[1].find(query));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{}",
        asked[1]
    );
}

#[test]
fn names_have_colours_unless_nobody_wants_them() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder", "--model", "offline"]);
    for (no_color, coloured) in [("", true), ("1", false)] {
        let mut command = workspace.lead_command(&["--keep"]);
        command.env("NO_COLOR", no_color);
        let mut terminal = Terminal::start(command, 40, 100);
        workspace.wait_alive("lead", Phase::Idle);
        workspace.ok(&["send", "alice", "Send lead a message saying 'hi there'"]);
        terminal.wait_for_line_above("alice: hi there", PROMPT);
        let output = terminal.output();
        assert_eq!(output.contains("malice\u{1b}[0m: "), coloured, "{output:?}");
        terminal.type_keys("\u{4}");
        assert_eq!(terminal.end().code(), Some(0));
    }
}

#[test]
fn ctrl_c_leaves_and_takes_the_team_along() {
    let workspace = Workspace::new();
    workspace.reply(spawn_teammate("alice", "", "offline"));
    let mut terminal = terminal(&workspace, &["--leave-timeout", "100"]);
    terminal.type_keys("spawn alice\r");
    workspace.wait_for_lead_request("Spawned 'alice'");
    workspace.wait_alive("alice", Phase::Idle);
    // While a turn runs the key stops that turn.
    terminal.wait_for_line_above("Standing by.", PROMPT);
    workspace.wait_alive("lead", Phase::Idle);
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.end().code(), Some(130));
    terminal.assert_restored();
    assert!(terminal.output().contains("alice has left."));
    assert_eq!(workspace.alive("alice"), None);
}

/// Reads what the program shows until it has shown `text`.
fn read_until(terminal: &mut AtTerminal, text: &str) {
    let mut shown = Vec::new();
    let mut bytes = [0; 1024];
    while !String::from_utf8_lossy(&shown).contains(text) {
        let count = terminal.person.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..count]);
    }
}

/// The last holder of the user's end closes it: the kernel sends SIGHUP.
fn close(terminal: AtTerminal) -> Child {
    let AtTerminal {
        child,
        person,
        line,
        ..
    } = terminal;
    drop((person, line));
    child
}

#[test]
fn a_closed_terminal_leaves_the_team_running() {
    let workspace = Workspace::new();
    workspace.reply(spawn_teammate("alice", "", "offline"));
    workspace.reply(ServerReply::text("Alice is here."));
    let mut terminal = AtTerminal::start(workspace.lead_command(&[]), 40, 100).unwrap();
    read_until(&mut terminal, PROMPT);
    terminal.person.write_all(b"spawn alice\r").unwrap();
    read_until(&mut terminal, "Alice is here.");
    workspace.wait_alive("alice", Phase::Idle);
    workspace.wait_alive("lead", Phase::Idle);
    let alice = workspace.alive("alice");
    let mut lead = close(terminal);
    let status = wait_for("the end of the lead", LIMIT, || lead.try_wait().unwrap());
    // It was not killed by the signal, but has left.
    assert_eq!(status.code(), Some(130), "{status:?}");
    assert_eq!(workspace.alive("lead"), None);
    assert_eq!(workspace.alive("alice"), alice);
    let requests = workspace.requests();
    assert!(
        requests.is_empty(),
        "nobody was asked to shut down: {requests:?}"
    );
    // She works on, and ignores the signal herself.
    workspace.signal("alice", Signal::SIGHUP);
    workspace.ok(&["send", "alice", "hello"]);
    workspace.wait_reports("alice", 1);
    assert_eq!(workspace.alive("alice"), alice);
}

#[test]
fn a_closed_terminal_ends_verbs_that_only_show() {
    let workspace = Workspace::new();
    let mut session = workspace.start_lead(&[]);
    workspace.wait_alive("lead", Phase::Idle);
    for verb in [&["watch"][..], &["logs", "lead", "-f"]] {
        let mut terminal = AtTerminal::start(workspace.command(verb), 40, 100).unwrap();
        let mut byte = [0; 1];
        terminal.person.read_exact(&mut byte).unwrap();
        let mut child = close(terminal);
        wait_for("the end of the verb", LIMIT, || child.try_wait().unwrap());
    }
    assert!(workspace.alive("lead").is_some());
    session.type_text("exit\n");
    assert_eq!(session.end().code, 0);
}
