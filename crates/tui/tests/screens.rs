//! The full-screen view, drawn on an in-memory terminal: what is on the screen, and what keys do.
//!
//! The expected screens are text files. `UPDATE_SCREENS=1 cargo test -p tui` rewrites them; review the
//! difference before committing it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "screens/panes.rs"]
mod panes;

use overview::{MemberRow, RequestRow, Snapshot, Spending, TaskRow};
use processes::{HostLink, HostView};
use protocol::{
    Activity, AgentName, Extra, HostId, Incarnation, Money, RequestKind, SubmissionId,
    SubmissionStatus, TaskId, TaskStatus, Timestamp, WaitingFor,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use rules::MemberState;
use std::path::PathBuf;
use tui::{Conversation, Effect, Input, Key, LineKind, Pane, Screen, TextLine};

const NOW: Timestamp = Timestamp::from_secs(1_763_251_200);

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

/// A time so many seconds ago.
const fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_secs(1_763_251_200 - seconds)
}

fn member(text: &str, state: MemberState) -> MemberRow {
    MemberRow {
        name: name(text),
        role: "coder".to_owned(),
        host: None,
        state,
        reason: None,
        incarnation: Incarnation(1),
        pid: None,
        model: None,
        unread: 0,
        task: None,
        todo: None,
        branch: None,
        submission: None,
        spent: Spending::default(),
    }
}

fn task(id: u64, status: TaskStatus, subject: &str) -> TaskRow {
    TaskRow {
        id: TaskId(id),
        subject: subject.to_owned(),
        status,
        owner: None,
        blocked: false,
        blocked_by: Vec::new(),
        priority: protocol::Priority::default(),
        role: None,
    }
}

fn plan(id: &str, from: &str) -> RequestRow {
    RequestRow {
        id: id.parse().unwrap(),
        kind: RequestKind::Plan,
        from: from.to_owned(),
        to: "lead".to_owned(),
        host: None,
        is_sent: false,
        summary: "1. Read the parser.".to_owned(),
        text: vec!["1. Read the parser.".to_owned(), "2. Fix it.".to_owned()],
        subject: protocol::Subject::Plan {
            plan: "1. Read the parser.\n2. Fix it.".to_owned(),
            plan_hash: String::new(),
        },
        created_at: ago(400),
        deadline: None,
    }
}

fn spent(tokens: u64, dollars: f64) -> Spending {
    Spending {
        tokens,
        cost: Money::from_dollars(dollars).unwrap(),
        ..Spending::default()
    }
}

fn busy_snapshot() -> Snapshot {
    let activity = Some(Activity {
        name: "bash".to_owned(),
        argument: Some("cargo test --workspace parser".into()),
        since: ago(12),
        extra: Extra::new(),
    });
    let mut alice = member(
        "alice",
        MemberState::Working {
            activity,
            since: ago(40),
        },
    );
    alice.unread = 2;
    alice.task = Some(TaskId(3));
    alice.spent = spent(41_234, 0.4217);
    alice.branch = Some("team/alice".to_owned());
    alice.submission = Some((SubmissionId(3), SubmissionStatus::Checking));
    let what = Some(WaitingFor::Plan);
    let bob = member(
        "bob",
        MemberState::Waiting {
            what,
            since: ago(400),
        },
    );
    let incarnation = Incarnation(1);
    let mut carol = member(
        "Carol-with-a-name-that-is-very-long",
        MemberState::Dead { incarnation },
    );
    carol.incarnation = Incarnation(3);
    let mut claimed = task(3, TaskStatus::InProgress, "Fix the parser");
    claimed.owner = Some("alice".to_owned());
    let mut blocked = task(4, TaskStatus::Pending, "Write about it");
    blocked.blocked = true;
    Snapshot {
        team: "default".to_owned(),
        folder: "/home/user/project/.team".to_owned(),
        lead: Some("idle"),
        lead_unread: 1,
        spent: Spending {
            max_cost: Some(Money::from_dollars(5.0).unwrap()),
            ..spent(52_000, 0.61)
        },
        members: vec![carol, alice, bob],
        tasks: vec![
            task(1, TaskStatus::Completed, "Find the bug"),
            claimed,
            blocked,
        ],
        requests: vec![plan("1a2b3c4d", "bob")],
        ..Snapshot::default()
    }
}

fn busy() -> Screen {
    let mut screen = Screen::default();
    resize(&mut screen, 80, 24);
    screen.handle(Input::Tick(NOW));
    let effects = screen.handle(Input::Snapshot(Box::new(busy_snapshot())));
    // Who waits for a person comes first, then who works.
    assert_eq!(effects, [follow("bob", Pane::Conversation)]);
    let effects = press(&mut screen, "j");
    assert_eq!(effects, [follow("alice", Pane::Conversation)]);
    let events = [
        "alice → bob: Check the tests, please. They fail on my machine too.",
        "! Carol died",
    ];
    screen.handle(Input::Events(events.map(str::to_owned).to_vec()));
    let log = (1..=20).map(|line| said(&format!("line {line} of the log")));
    screen.handle(Input::Lines(log.collect()));
    screen
}

#[test]
fn hosts_are_shown_only_where_somebody_is_at_home_on_another_one() {
    let mut screen = Screen::default();
    resize(&mut screen, 160, 24);
    screen.handle(Input::Tick(NOW));
    let mut snapshot = busy_snapshot();
    screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
    let before = shown(&screen, 160, 24);
    assert!(
        !before.contains("HOST") && before.contains("lead idle"),
        "{before}"
    );
    let gpu = HostId::new("gpu1").unwrap();
    snapshot.members[1].host = Some(gpu.clone());
    snapshot.lead_host = HostId::new("laptop").ok();
    snapshot.waiting_hosts = vec![HostView {
        host: gpu,
        link: HostLink::NoBridge,
        queued: 7,
    }];
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    let after = shown(&screen, 160, 24);
    for text in ["HOST", "gpu1", "lead on laptop", "7 queued for gpu1"] {
        assert!(after.contains(text), "{text} is not in\n{after}");
    }
}

fn said(text: &str) -> TextLine {
    TextLine::new(LineKind::Said, text)
}

fn resize(screen: &mut Screen, width: u16, height: u16) {
    screen.handle(Input::Resize { width, height });
}

/// The effect of following a member.
fn follow(member: &str, pane: Pane) -> Effect {
    let member = Some(name(member));
    Effect::Follow { member, pane }
}

/// Presses keys, one after another as the screen changes.
fn press(screen: &mut Screen, keys: &str) -> Vec<Effect> {
    keys.chars()
        .flat_map(|c| {
            screen.handle(Input::Drawn);
            screen.handle(Input::Key(Key::Char(c)))
        })
        .collect()
}

fn run(args: &[&str]) -> Vec<Effect> {
    vec![Effect::Run(
        args.iter().map(|arg| (*arg).to_owned()).collect(),
    )]
}

/// What is on the screen of a terminal of this size.
fn shown(screen: &Screen, width: u16, height: u16) -> String {
    let buffer = drawn(screen, width, height);
    let rows = buffer.content().chunks(usize::from(width));
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}

fn drawn(screen: &Screen, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().buffer().clone()
}

#[track_caller]
fn assert_screen(file: &str, found: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join("screens");
    let path = folder.join(file);
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        return std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{}:\n{found}", path.display());
}

#[test]
fn a_busy_team_on_a_small_terminal() {
    assert_screen("busy-80x24.txt", &shown(&busy(), 80, 24));
}

#[test]
fn a_busy_team_on_a_large_terminal() {
    assert_screen("busy-120x40.txt", &shown(&busy(), 120, 40));
}

#[test]
fn a_busy_team_on_a_very_large_terminal() {
    assert_screen("busy-200x50.txt", &shown(&busy(), 200, 50));
}

#[test]
fn a_busy_team_on_the_smallest_terminal() {
    assert_screen("busy-40x10.txt", &shown(&busy(), 40, 10));
}

#[test]
fn how_far_a_member_is_stands_in_its_line() {
    let mut snapshot = busy_snapshot();
    snapshot.members[1].todo = Some("2/5: run the tests".to_owned());
    let mut screen = Screen::default();
    screen.handle(Input::Tick(NOW));
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    let shown = shown(&screen, 120, 40);
    assert!(shown.contains("2/5: run the tests"), "{shown}");
}

#[test]
fn a_team_without_members() {
    let mut screen = Screen::default();
    let team = "default".to_owned();
    screen.handle(Input::Snapshot(Box::new(Snapshot {
        team,
        ..Snapshot::default()
    })));
    assert_screen("empty-80x24.txt", &shown(&screen, 80, 24));
}

#[test]
fn the_keys_are_listed_and_any_key_closes_the_list() {
    let mut screen = busy();
    press(&mut screen, "?");
    assert_screen("help-80x24.txt", &shown(&screen, 80, 24));
    assert_eq!(press(&mut screen, "q"), []);
    assert_eq!(shown(&screen, 80, 24), shown(&busy(), 80, 24));
}

#[test]
fn every_size_can_be_drawn() {
    let mut screen = busy();
    for _ in 0..2 {
        for width in [1, 39, 40, 69, 70, 140, 300] {
            for height in [1, 9, 10, 13, 20, 80] {
                resize(&mut screen, width, height);
                for key in [Key::Tab, Key::PageUp, Key::Home, Key::End, Key::Up] {
                    screen.handle(Input::Key(key));
                    shown(&screen, width, height);
                }
            }
        }
        press(&mut screen, "?");
    }
    assert!(shown(&busy(), 30, 10).contains("The terminal is too small"));
}

#[test]
fn a_plan_is_shown_before_it_is_approved() {
    let mut screen = busy();
    assert_eq!(press(&mut screen, "a"), []);
    assert_screen("plan-80x24.txt", &shown(&screen, 80, 24));
    assert_eq!(press(&mut screen, "a"), run(&["approve", "--", "1a2b3c4d"]));
}

#[test]
fn a_rejection_has_a_reason() {
    let mut screen = busy();
    screen.handle(Input::Key(Key::Tab));
    assert_eq!(press(&mut screen, "xno, ask!"), []);
    assert!(shown(&screen, 80, 24).contains("Reason for rejecting 1a2b3c4d: no, ask!_"));
    screen.handle(Input::Key(Key::Backspace));
    let effects = screen.handle(Input::Key(Key::Enter));
    assert_eq!(
        effects,
        run(&["reject", "--feedback=no, ask", "--", "1a2b3c4d"])
    );
}

#[test]
fn a_message_goes_to_the_selected_member() {
    let mut screen = busy();
    let effects = press(&mut screen, "k");
    assert_eq!(effects, [follow("bob", Pane::Conversation)]);
    // The log of another member begins empty.
    assert!(!shown(&screen, 80, 24).contains("of the log"));
    press(&mut screen, "m--help me");
    let effects = screen.handle(Input::Key(Key::Enter));
    assert_eq!(effects, run(&["send", "--", "bob", "--help me"]));
    let output = "Sent message to bob".to_owned();
    screen.handle(Input::Done { ok: true, output });
    assert!(shown(&screen, 80, 24).contains("Sent message to bob"));
    // Escape discards the text, and an empty text is not sent.
    press(&mut screen, "mhello");
    assert_eq!(screen.handle(Input::Key(Key::Escape)), []);
    press(&mut screen, "m");
    assert_eq!(screen.handle(Input::Key(Key::Enter)), []);
}

#[test]
fn shutdown_and_restart_ask_for_confirmation() {
    let mut screen = busy();
    assert_eq!(press(&mut screen, "s"), []);
    assert!(shown(&screen, 80, 24).contains("Ask alice to shut down? y/n"));
    assert_eq!(press(&mut screen, "zy"), run(&["shutdown", "--", "alice"]));
    assert_eq!(press(&mut screen, "rn"), []);
    assert_eq!(press(&mut screen, "ry"), run(&["restart", "--", "alice"]));
    assert_eq!(press(&mut screen, "q"), [Effect::Quit]);
}

#[test]
fn the_selection_follows_its_member_when_rows_move() {
    let mut screen = busy();
    press(&mut screen, "k");
    let mut snapshot = busy_snapshot();
    snapshot.members.remove(0);
    assert_eq!(
        screen.handle(Input::Snapshot(Box::new(snapshot.clone()))),
        []
    );
    snapshot.members.clear();
    snapshot.requests.clear();
    let effects = screen.handle(Input::Snapshot(Box::new(snapshot)));
    assert_eq!(
        effects,
        [Effect::Follow {
            member: None,
            pane: Pane::Conversation
        }]
    );
    assert_eq!(press(&mut screen, "msrjkax"), []);
}

#[test]
fn a_scrolled_log_keeps_its_position() {
    let mut screen = busy();
    screen.handle(Input::Key(Key::PageUp));
    let before = shown(&screen, 80, 24);
    assert!(before.contains("line 13 of the log"), "{before}");
    assert!(!before.contains("line 15 of the log"), "{before}");
    assert!(before.contains("more above, "), "{before}");
    let long = format!("line 21 of the log{}", " and more".repeat(30));
    screen.handle(Input::Lines(vec![said(&long)]));
    let after = shown(&screen, 80, 24);
    assert!(after.contains("line 13 of the log"), "{after}");
    assert!(!after.contains("line 15 of the log"), "{after}");
    screen.handle(Input::Key(Key::Home));
    assert!(shown(&screen, 80, 24).contains("line 1 of the log"));
    screen.handle(Input::Key(Key::End));
    assert!(shown(&screen, 80, 24).contains("line 21 of the log"));
}

/// A journal in the middle of a turn.
const JOURNAL: [&str; 7] = [
    r#"{"kind":"user","messages":[{"source":{"mail":1},"text":"<mail from=\"lead\" type=\"message\">\nThe parser loses its last line.\n</mail>"}]}"#,
    r#"{"kind":"assistant","blocks":[{"type":"text","text":"I check the tests first."},{"type":"tool_use","id":"1","name":"read_file","input":{"path":"tests/parser.rs"}}],"stop":"tool_use"}"#,
    r#"{"kind":"result","result":{"tool_use_id":"1","content":"use parser::parse;\n\n#[test]","is_error":false},"millis":1}"#,
    r#"{"kind":"assistant","blocks":[{"type":"tool_use","id":"2","name":"bash","input":{"command":"cargo test"}}],"stop":"tool_use"}"#,
    r#"{"kind":"result","result":{"tool_use_id":"2","content":"1 test failed\u001b[2J","is_error":true},"millis":1}"#,
    r#"{"kind":"assistant","blocks":[{"type":"tool_use","id":"3","name":"edit_file","input":{"path":"src/parser.rs","old_text":"if line {\n    return\n}","new_text":"if line {\n    break\n}"}}],"stop":"tool_use"}"#,
    r#"{"kind":"result","result":{"tool_use_id":"3","content":"Replaced.","is_error":false},"millis":1}"#,
];

#[test]
fn a_conversation_is_followed_and_the_log_is_a_key_away() {
    let mut screen = busy();
    assert_eq!(press(&mut screen, "l"), [follow("alice", Pane::Log)]);
    assert!(shown(&screen, 80, 24).contains("Log of alice"));
    assert!(!shown(&screen, 80, 24).contains("of the log"));
    let effects = press(&mut screen, "l");
    assert_eq!(effects, [follow("alice", Pane::Conversation)]);
    let mut conversation = Conversation::new(true);
    for line in JOURNAL {
        let lines = conversation.read(line.as_bytes());
        screen.handle(Input::Lines(lines));
    }
    let call = r#"{"kind":"assistant","blocks":[{"type":"tool_use","id":"4","name":"bash","input":{"command":"cargo test parser"}}],"stop":"tool_use"}"#;
    conversation.read(call.as_bytes());
    screen.handle(Input::Running(conversation.running()));
    assert_screen("conversation-80x24.txt", &shown(&screen, 80, 24));
    assert_screen("conversation-160x40.txt", &shown(&screen, 160, 40));
    // After a reset the old lines are gone.
    screen.handle(Input::Reset);
    assert!(!shown(&screen, 80, 24).contains("edit src/parser.rs"));
}
