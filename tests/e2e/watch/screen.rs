//! `watch` at a terminal.

use crate::harness::Terminal;
use crate::harness::{LIMIT, Workspace};
use crate::trees::repository;
use nix::sys::signal::Signal;
use protocol::{AgentName, LiveState, Member, Phase, Recipient, RequestStatus, exit};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use teamdir::{MemberGuard, RosterError, now};
use test_support::{wait_for, wait_until};
use tui::{FullScreen, Screen};

/// A watch that shows the team.
fn watch(workspace: &Workspace) -> Terminal {
    let terminal = Terminal::start(workspace.command(&["watch"]), 24, 80);
    terminal.wait_for(&["Team default", "Members", "Board", "q quit"]);
    terminal
}

/// Makes this process the member bob.
fn be_bob(workspace: &Workspace) -> (MemberGuard, AgentName) {
    let name = AgentName::new("bob").unwrap();
    let joined = workspace.team().update_roster(|roster| {
        roster.members.push(Member::new(name.clone(), "tester"));
        Ok::<_, RosterError>(())
    });
    joined.unwrap();
    let guard = workspace
        .team()
        .join(&Recipient::Member(name.clone()))
        .unwrap();
    let idle = LiveState::new(guard.incarnation(), Phase::Idle, now());
    workspace.team().write_live_state(&guard, &idle).unwrap();
    (guard, name)
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let workspace = Workspace::new();
    let run = workspace.run(&["watch"]);
    let next = "team-lead events -f";
    run.complains(exit::USAGE, "watch needs a terminal", next);
}

#[test]
fn the_team_is_seen_as_it_changes_and_the_terminal_is_given_back() {
    let workspace = Workspace::new();
    let mut terminal = watch(&workspace);
    terminal.wait_for(&["0 of 0 running"]);
    workspace.ok(&["spawn", "alice", "coder"]);
    terminal.wait_for(&[
        "> alice  coder  idle",
        "+ alice (coder) started",
        "1 of 1 running",
    ]);
    terminal.type_keys("?");
    terminal.wait_for(&["Any key closes this."]);
    terminal.type_keys("z");
    terminal.wait_until("no keys", |screen| !screen.contains("Any key closes this."));
    workspace.ok(&["task", "create", "Mend the \u{1b}[31mparser"]);
    terminal.wait_for(&["created task 1"]);
    workspace.ok(&["send", "alice", "good\nmorning"]);
    terminal.wait_for(&["user → alice: good morning", "Conversation of alice"]);
    // Larger, and smaller than anything fits on.
    terminal.resize(40, 120);
    let is_wide = |line: &str| line.chars().count() == 120;
    terminal.wait_until("a wide screen", |screen| screen.lines().any(is_wide));
    terminal.wait_for(&["> alice  coder", "q quit"]);
    terminal.resize(80, 300);
    let is_wide = |line: &str| line.chars().count() == 300;
    terminal.wait_until("a wider screen", |screen| screen.lines().any(is_wide));
    terminal.resize(10, 40);
    terminal.wait_for(&["> alice", "Conversation of alice", "q quit"]);
    terminal.resize(8, 30);
    terminal.wait_for(&["too small"]);
    terminal.resize(24, 80);
    terminal.wait_for(&["> alice  coder", "q quit"]);
    terminal.type_keys("q");
    assert_eq!(terminal.end().code(), Some(0));
    terminal.assert_restored();
}

#[test]
fn a_key_that_comes_with_a_new_size_is_read() {
    const HELP: &str = "Any key closes this.";
    let workspace = Workspace::new();
    let mut terminal = watch(&workspace);
    for round in 0..30 {
        terminal.resize(30 + round % 2, 90);
        terminal.type_keys("?");
        terminal.wait_for(&[HELP]);
        terminal.resize(40 + round % 2, 100);
        terminal.type_keys("z");
        terminal.wait_until("no keys", |screen| !screen.contains(HELP));
    }
    terminal.type_keys("q");
    assert_eq!(terminal.end().code(), Some(0));
}

/// The lines of the lower pane.
fn lower_pane(screen: &str, title: &str) -> Option<Vec<String>> {
    let mut lines = screen.lines().skip_while(|line| !line.contains(title));
    lines.next()?;
    Some(lines.map(|line| line.trim_end().to_owned()).collect())
}

#[test]
fn a_conversation_is_followed_and_the_log_is_a_key_away() {
    let workspace = Workspace::new();
    // The command waits until it may end, which shows a call that runs.
    fs::write(workspace.path().join("wait.sh"), WAIT).unwrap();
    let prompt = "Write hello to a.txt. Run `sh wait.sh`. Run `cat nowhere`.";
    workspace.ok(&["spawn", "alice", "coder", "--prompt", prompt]);
    let mut terminal = watch(&workspace);
    let shows = |expected: &[&str]| {
        terminal.wait_until(&format!("{expected:?}"), |screen| {
            let lines = lower_pane(screen, "Conversation of alice").unwrap_or_default();
            let mut lines = lines.iter().filter(|line| !line.is_empty());
            expected
                .iter()
                .all(|text| lines.next().is_some_and(|line| line == text))
        });
    };
    let begun = [
        "! started",
        "prompt: Write hello to a.txt. Run `sh wait.sh`. Run `cat nowhere`.",
        "write a.txt",
        "  + hello",
        "$ sh wait.sh ...",
    ];
    shows(&begun);
    // The member's line has the command, and a clock that runs while no file changes.
    let before = wait_for("the command", LIMIT, || clock_of(&terminal.text()));
    terminal.wait_until("another time", |screen| {
        clock_of(screen).is_some_and(|clock| clock != before)
    });
    fs::write(workspace.path().join("go"), "").unwrap();
    terminal.resize(50, 100);
    let done = [
        begun[0],
        begun[1],
        begun[2],
        begun[3],
        "$ sh wait.sh",
        "  ?[2Jwaited ?[31mlong",
        "$ cat nowhere",
        "  failed: cat: nowhere: No such file or directory",
        "  [exit status 1]",
    ];
    shows(&done);
    workspace.ok(&["send", "alice", "Run `echo second`"]);
    terminal.wait_for(&[
        "mail from user: Run `echo second`",
        "$ echo second",
        "  second",
    ]);
    terminal.type_keys("l");
    terminal.wait_for(&["Log of alice", "> bash {\"command\":\"echo second\"}"]);
    terminal.type_keys("l");
    terminal.wait_for(&["Conversation of alice", "$ echo second", "  second"]);
    // Another incarnation goes on in the same conversation.
    workspace.kill9("alice");
    workspace.ok(&["restart", "alice"]);
    terminal.wait_for(&["! restarted 1x"]);
}

/// How long the selected member runs `sh wait.sh`, as the screen says.
fn clock_of(screen: &str) -> Option<String> {
    let mut lines = screen.lines();
    let line = lines.find(|line| line.starts_with("> alice"))?;
    let (before, _) = line.split_once("$ sh wait.sh")?;
    before.split_whitespace().last().map(str::to_owned)
}

/// Waits for a file, and says something that a terminal would obey.
const WAIT: &str =
    "until [ -e go ]; do sleep 0.05; done; printf '\\033[2Jwaited \\033[31mlong\\n'\n";

#[test]
fn a_killed_member_is_seen_dead_and_comes_back_by_a_key() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    let mut terminal = watch(&workspace);
    terminal.wait_for(&["> alice  coder  idle"]);
    workspace.kill9("alice");
    terminal.wait_for(&["dead", "! alice died"]);
    terminal.type_keys("r");
    terminal.wait_for(&["Restart alice? y/n"]);
    terminal.type_keys("y");
    terminal.wait_for(&["idle", "! restarted 1x", "+ alice was restarted"]);
    terminal.type_keys("m");
    terminal.wait_for(&["To alice: _"]);
    terminal.type_keys("are you there?\r");
    terminal.wait_for(&["user → alice: are you there?"]);
    // Ctrl-C leaves, with the exit code for it.
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.end().code(), Some(130));
    terminal.assert_restored();
}

#[test]
fn a_plan_is_read_and_approved_with_keys() {
    let workspace = Workspace::new();
    let (guard, bob) = be_bob(&workspace);
    let mut terminal = watch(&workspace);
    let plan = "1. Read the parser.\n2. Mend\u{1b}[2J it.";
    let request = team::submit_plan(workspace.team(), &bob, guard.incarnation(), plan).unwrap();
    let id = request.id.as_str();
    terminal.wait_for(&[
        "Requests: 1 waits for you",
        &format!("{id}  plan  bob"),
        "1. Read the parser.",
    ]);
    terminal.type_keys("\t");
    terminal.wait_for(&["Plan of bob", "2. Mend", "y yes"]);
    terminal.type_keys("a");
    wait_until("the approval", LIMIT, || {
        let request = workspace.team().request(&request.id).unwrap();
        request.status() == RequestStatus::Approved
    });
    terminal.wait_until("no request", |screen| !screen.contains("  plan  bob"));

    let request = team::submit_plan(workspace.team(), &bob, guard.incarnation(), "3. Rest.");
    let request = request.unwrap();
    terminal.wait_for(&[&format!("{}  plan  bob", request.id)]);
    // The first press shows the plan, the second asks for the reason.
    terminal.type_keys("x");
    terminal.wait_for(&["3. Rest.", "n no, with a reason"]);
    terminal.type_keys("x");
    terminal.wait_for(&["Reason for rejecting"]);
    terminal.type_keys("not yet\r");
    wait_until("the rejection", LIMIT, || {
        let request = workspace.team().request(&request.id).unwrap();
        request.status() == RequestStatus::Rejected
    });
}

/// Whether a colour was asked for, in any of the ways that terminals know.
fn has_color(output: &str) -> bool {
    let mut sequences = output.split("\u{1b}[").skip(1);
    sequences.any(|sequence| {
        let (codes, _) = sequence.split_once('m').unwrap_or_default();
        codes
            .split(';')
            .any(|code| matches!(code, "38" | "31" | "32" | "33" | "36"))
    })
}

#[test]
fn there_are_colors_unless_they_are_not_wanted() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder", "--prompt", "Run `cat nowhere`."]);
    for value in ["", "1"] {
        let mut command = workspace.command(&["watch"]);
        command.env("NO_COLOR", value);
        let mut terminal = Terminal::start(command, 24, 80);
        terminal.wait_for(&["failed: cat: nowhere"]);
        assert_eq!(has_color(&terminal.output()), value.is_empty());
        terminal.type_keys("q");
        terminal.end();
    }
}

#[test]
fn the_mouse_selects_and_scrolls_if_it_is_wanted() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.ok(&["spawn", "bob", "tester"]);
    let mut terminal = watch(&workspace);
    terminal.wait_for(&["> alice", "  bob"]);
    assert!(!terminal.output().contains("\u{1b}[?1000h"));
    terminal.type_keys("M");
    terminal.wait_for(&["The mouse selects and scrolls"]);
    assert!(terminal.output().contains("\u{1b}[?1000h"));
    let screen = terminal.text();
    let row = screen.lines().position(|line| line.starts_with("  bob"));
    let row = row.unwrap() + 1;
    terminal.type_keys(&format!("\u{1b}[<0;5;{row}M\u{1b}[<0;5;{row}m"));
    terminal.wait_for(&["> bob", "Conversation of bob"]);
    // One step of the wheel in the list selects the member above.
    terminal.type_keys(&format!("\u{1b}[<64;5;{row}M"));
    terminal.wait_for(&["> alice", "Conversation of alice"]);
    terminal.type_keys("q");
    assert_eq!(terminal.end().code(), Some(0));
    assert!(terminal.output().contains("\u{1b}[?1000l"));
    terminal.assert_restored();
    let mut terminal = Terminal::start(workspace.command(&["watch", "--mouse"]), 24, 80);
    terminal.wait_for(&["> alice"]);
    assert!(terminal.output().contains("\u{1b}[?1000h"));
    terminal.type_keys("q");
    terminal.end();
}

#[test]
fn spending_and_trees_are_seen() {
    let workspace = repository();
    workspace.ok(&["budget", "raise", "--max-tokens", "2M"]);
    workspace.ok(&["spawn", "alice", "coder", "--tree", "own"]);
    let terminal = Terminal::start(workspace.command(&["watch"]), 40, 160);
    terminal.wait_for(&["of 2.0M tokens", "BRANCH", "team/alice"]);
}

#[test]
fn sigterm_gives_the_terminal_back() {
    let workspace = Workspace::new();
    let mut terminal = watch(&workspace);
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.end().signal(), Some(Signal::SIGTERM as i32));
    terminal.assert_restored();
}

/// Tells the test program to panic in the middle of a full screen.
const PANIC: &str = "TEAM_TEST_PANIC";

/// Starts itself at a terminal, where it panics.
#[test]
fn a_panic_gives_the_terminal_back_and_can_be_read() {
    if std::env::var_os(PANIC).is_some() {
        let mut terminal = FullScreen::enter().unwrap();
        terminal.draw(&Screen::new(true)).unwrap();
        panic!("something broke");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = "watch::screen::a_panic_gives_the_terminal_back_and_can_be_read";
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PANIC, "1").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command, 24, 80);
    terminal.end();
    terminal.wait_for(&["something broke"]);
    terminal.assert_restored();
}
