//! What the panes show of a large team: scrolling, colours, clocks, spending, the mouse.

use super::*;
use ratatui::style::Color;
use std::time::Duration;
use tui::MouseInput;

/// A team in which nothing fits.
fn crowd() -> Screen {
    let mut snapshot = busy_snapshot();
    let idle = |number: u64| {
        let name = format!("member-{number}");
        member(&name, MemberState::Idle { since: ago(9) })
    };
    snapshot.members.extend((1..=20).map(idle));
    let tasks = (5..=40).map(|id| task(id, TaskStatus::Pending, &format!("Subject {id}")));
    snapshot.tasks.extend(tasks);
    let plans = (1..=9).map(|number| plan(&format!("0000000{number}"), "bob"));
    snapshot.requests.extend(plans);
    let mut screen = busy();
    let events = (1..=60).map(|number| format!("event {number}"));
    screen.handle(Input::Events(events.collect()));
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    screen
}

/// The line of the screen with this text.
#[track_caller]
fn line(screen: &str, text: &str) -> String {
    let mut lines = screen.lines();
    let found = lines.find(|line| line.contains(text));
    found
        .unwrap_or_else(|| panic!("{text} in\n{screen}"))
        .to_owned()
}

/// The colour of the first cell of a text.
#[track_caller]
fn color_of(screen: &Screen, text: &str) -> Color {
    let buffer = drawn(screen, 120, 40);
    let rows = buffer.content().chunks(120);
    for row in rows {
        let symbols: String = row.iter().map(|cell| cell.symbol()).collect();
        if let Some((before, _)) = symbols.split_once(text) {
            return row[before.chars().count()].fg;
        }
    }
    panic!("no {text}");
}

#[test]
fn every_pane_says_how_much_more_there_is() {
    let screen = crowd();
    let shown = shown(&screen, 80, 24);
    assert_screen("crowd-80x24.txt", &shown);
    assert!(
        line(&shown, "Members: 23").ends_with("18 more below ━"),
        "{shown}"
    );
    assert!(
        line(&shown, "Requests: 10").contains("7 more below"),
        "{shown}"
    );
    assert!(line(&shown, "Board").contains("37 more ─"), "{shown}");
    assert!(line(&shown, "Events").contains("more above"), "{shown}");
    assert!(
        line(&shown, "Conversation").contains("more above"),
        "{shown}"
    );
}

#[test]
fn every_pane_can_be_scrolled() {
    let mut screen = crowd();
    for _ in 0..30 {
        press(&mut screen, "j");
    }
    let text = shown(&screen, 80, 24);
    assert!(text.contains("> member-20"), "{text}");
    screen.handle(Input::Key(Key::Tab));
    for _ in 0..30 {
        press(&mut screen, "j");
    }
    assert!(shown(&screen, 80, 24).contains("> 00000009"));
    screen.handle(Input::Key(Key::Tab));
    screen.handle(Input::Key(Key::End));
    let text = shown(&screen, 80, 24);
    // Completed tasks are the last ones.
    assert!(text.contains("Find the bug"), "{text}");
    assert!(line(&text, "Board").contains("more above"), "{text}");
    screen.handle(Input::Key(Key::Tab));
    screen.handle(Input::Key(Key::Home));
    assert!(shown(&screen, 80, 24).contains("alice → bob: Check"));
    screen.handle(Input::Key(Key::Down));
    screen.handle(Input::Key(Key::BackTab));
    screen.handle(Input::Key(Key::Home));
    assert!(shown(&screen, 80, 24).contains("[>] #3"));
}

#[test]
fn on_a_small_terminal_the_panes_share_a_place() {
    let mut screen = busy();
    resize(&mut screen, 40, 10);
    assert!(shown(&screen, 40, 10).contains("Conversation of alice"));
    screen.handle(Input::Key(Key::Tab));
    assert!(shown(&screen, 40, 10).contains("Plan of bob"));
    screen.handle(Input::Key(Key::Tab));
    assert!(shown(&screen, 40, 10).contains("[>] #3"));
    screen.handle(Input::Key(Key::Tab));
    assert!(shown(&screen, 40, 10).contains("! Carol died"));
}

#[test]
fn columns_stand_under_their_headings_and_use_the_width() {
    for (width, height) in [(80, 24), (120, 40), (200, 50), (300, 80)] {
        let text = shown(&busy(), width, height);
        let headings = line(&text, "NAME");
        let alice = line(&text, "alice  ");
        let start = |line: &str, text: &str| {
            let before = line.split_once(text);
            before.map(|(before, _)| before.chars().count())
        };
        for (heading, value) in [("STATE", "working"), ("NOW", "$ cargo test")] {
            assert_eq!(start(&headings, heading), start(&alice, value), "{text}");
        }
        // Numbers end where their headings end.
        let end = |line: &str, text: &str| Some(start(line, text)? + text.len());
        assert_eq!(end(&headings, "FOR"), end(&alice, "0:12"), "{text}");
        assert_eq!(
            end(&headings, "MAIL"),
            end(&alice, " 2 ").map(|at| at - 1),
            "{text}"
        );
    }
    let wide = shown(&busy(), 300, 80);
    assert!(
        wide.contains("Carol-with-a-name-that-is-very-long"),
        "{wide}"
    );
    let narrow = shown(&busy(), 80, 24);
    assert!(narrow.contains("Carol-…ry-long"), "{narrow}");
    assert!(wide.contains("$ cargo test --workspace parser"), "{wide}");
    assert!(wide.contains("team/alice  3 checking"), "{wide}");
}

#[test]
fn members_at_work_and_waiting_requests_come_first_and_in_color() {
    let mut screen = Screen::new(true);
    screen.handle(Input::Tick(NOW));
    screen.handle(Input::Snapshot(Box::new(busy_snapshot())));
    let text = shown(&screen, 120, 40);
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in\n{text}"))
    };
    assert!(place("1a2b3c4d") < place("bob  "));
    assert!(place("> bob  ") < place("alice  "));
    assert!(place("alice  ") < place("Carol-"));
    assert_eq!(color_of(&screen, "1a2b3c4d"), Color::Yellow);
    assert_eq!(color_of(&screen, "waiting"), Color::Yellow);
    assert_eq!(color_of(&screen, "working"), Color::Green);
    assert_eq!(color_of(&screen, "dead"), Color::Red);
    assert_eq!(color_of(&screen, "1 waits for you"), Color::Yellow);
    // Without colours the same is on the screen.
    let mut plain = Screen::new(false);
    plain.handle(Input::Tick(NOW));
    plain.handle(Input::Snapshot(Box::new(busy_snapshot())));
    assert_eq!(shown(&plain, 120, 40), text);
    let buffer = drawn(&plain, 120, 40);
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset));
}

#[test]
fn clocks_run_while_somebody_works_and_never_in_a_team_at_rest() {
    let mut screen = busy();
    assert!(shown(&screen, 80, 24).contains("0:12"));
    assert_eq!(screen.next_tick(), Some(Duration::from_secs(1)));
    screen.handle(Input::Tick(Timestamp::from_micros(
        NOW.as_micros() + 1_250_000,
    )));
    assert!(shown(&screen, 80, 24).contains("0:13"));
    assert_eq!(screen.next_tick(), Some(Duration::from_millis(750)));
    // After an hour the minutes are enough.
    screen.handle(Input::Tick(Timestamp::from_micros(
        NOW.as_micros() + 7200 * 1_000_000,
    )));
    assert!(shown(&screen, 80, 24).contains("2 h 00"));
    assert_eq!(screen.next_tick(), Some(Duration::from_secs(60)));
    let mut snapshot = busy_snapshot();
    snapshot.requests.clear();
    for row in &mut snapshot.members {
        row.state = MemberState::Idle { since: ago(400) };
    }
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    assert_eq!(screen.next_tick(), None);
}

#[test]
fn spending_is_shown_for_the_team_and_for_each_member() {
    let mut snapshot = busy_snapshot();
    let alice = snapshot.members.iter_mut();
    for row in alice.filter(|row| row.name == name("alice")) {
        row.spent.max_cost = Some(Money::from_dollars(0.5).unwrap());
    }
    let mut screen = Screen::new(true);
    screen.handle(Input::Tick(NOW));
    screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
    let text = shown(&screen, 120, 40);
    assert!(
        line(&text, "Team default").contains("$0.61 of $5.00"),
        "{text}"
    );
    assert!(line(&text, "Team default").contains("52k tokens"), "{text}");
    assert!(line(&text, "alice  ").contains("$0.42 of $0.50"), "{text}");
    // Most of it is spent.
    assert_eq!(color_of(&screen, "$0.42"), Color::Yellow);
    snapshot.spent.max_tokens = Some(50_000);
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    let text = shown(&screen, 120, 40);
    assert!(text.contains("52k of 50k tokens"), "{text}");
    assert_eq!(color_of(&screen, "52k of"), Color::Red);
}

#[test]
fn a_tool_call_that_needs_permission_is_shown_as_a_command() {
    let mut snapshot = busy_snapshot();
    let mut ask = plan("5e6f7a8b", "alice");
    ask.kind = RequestKind::Permission;
    ask.summary = "$ git push".to_owned();
    ask.text = vec!["bash: git push".to_owned()];
    snapshot.requests = vec![ask];
    let mut screen = busy();
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    let text = shown(&screen, 80, 24);
    assert!(
        line(&text, "5e6f7a8b").contains("permission  alice"),
        "{text}"
    );
    assert!(line(&text, "5e6f7a8b").contains("$ git push"), "{text}");
    // The first press shows it, the second answers.
    assert_eq!(press(&mut screen, "t"), []);
    assert!(shown(&screen, 80, 24).contains("alice asks to run (5e6f7a8b)"));
    // In its text the keys mean the same.
    for _ in 0..3 {
        screen.handle(Input::Key(Key::Tab));
    }
    assert!(shown(&screen, 80, 24).contains("y yes, once"));
    let effects = press(&mut screen, "t");
    assert_eq!(effects, run(&["approve", "--team", "--", "5e6f7a8b"]));
}

/// A conversation in which the model shows code.
fn with_code(colors: bool) -> Screen {
    let said = "Look:\n```rust\nfn main() {} // empty\n```\nThat is all.";
    let record = serde_json::json!({
        "kind": "assistant", "blocks": [{"type": "text", "text": said}], "stop": "end_turn",
    });
    let mut conversation = Conversation::new(colors);
    let lines = conversation.read(record.to_string().as_bytes());
    let mut screen = Screen::new(colors);
    screen.handle(Input::Tick(NOW));
    screen.handle(Input::Snapshot(Box::new(busy_snapshot())));
    screen.handle(Input::Lines(lines));
    screen
}

#[test]
fn code_in_a_conversation_has_colours_if_they_are_wanted() {
    let screen = with_code(true);
    assert_eq!(color_of(&screen, "fn main"), Color::Magenta);
    assert_eq!(color_of(&screen, "main() {}"), Color::Blue);
    assert_eq!(color_of(&screen, "// empty"), Color::DarkGray);
    assert_eq!(color_of(&screen, "That is all."), Color::Reset);
    let screen = with_code(false);
    assert_eq!(color_of(&screen, "fn main"), Color::Reset);
    for (width, height) in [(80, 24), (120, 40), (300, 80)] {
        let text = shown(&screen, width, height);
        assert!(text.contains("fn main() {} // empty"), "{text}");
    }
}

#[test]
fn a_key_for_a_request_that_is_gone_answers_no_other() {
    for (width, height) in [(80, 24), (120, 40), (300, 80)] {
        let mut snapshot = busy_snapshot();
        snapshot.requests = vec![plan("11111111", "alice"), plan("22222222", "bob")];
        let mut screen = busy();
        screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
        assert_eq!(press(&mut screen, "y"), []);
        // Somebody else answers it before the second press.
        snapshot.requests.remove(0);
        screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
        assert!(shown(&screen, width, height).contains("Enter goes on with it"));
        assert_eq!(press(&mut screen, "yyn"), []);
        // Who scrolls has not chosen.
        screen.handle(Input::Key(Key::PageDown));
        assert_eq!(press(&mut screen, "y"), []);
        let text = shown(&screen, width, height);
        assert!(text.contains("11111111 is no longer open"), "{text}");
        screen.handle(Input::Key(Key::Enter));
        let text = shown(&screen, width, height);
        assert!(text.contains("y yes  n no, with a reason"), "{text}");
        let effects = press(&mut screen, "y");
        assert_eq!(effects, run(&["approve", "--", "22222222"]));
    }
}

#[test]
fn a_key_for_the_last_request_does_nothing_once_it_is_gone() {
    let question = |id: &str| RequestRow {
        kind: RequestKind::Question,
        ..plan(id, "bob")
    };
    let mut snapshot = busy_snapshot();
    snapshot.requests = vec![question("11111111")];
    let mut screen = busy();
    screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
    assert_eq!(press(&mut screen, "n"), []);
    // Somebody else answers it: to reply must not become a restart that the first letter of a reply confirms.
    snapshot.requests.clear();
    screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
    assert_eq!(press(&mut screen, "r"), []);
    let text = shown(&screen, 80, 24);
    assert!(text.contains("11111111 is no longer open; nothing was done."));
    assert_eq!(press(&mut screen, "y"), []);
    // Who has answered it expects that it goes, and the next key is for the member.
    snapshot.requests = vec![question("22222222")];
    screen.handle(Input::Snapshot(Box::new(snapshot.clone())));
    assert_eq!(
        press(&mut screen, "n1"),
        run(&["answer", "--", "22222222", "1"])
    );
    snapshot.requests.clear();
    screen.handle(Input::Snapshot(Box::new(snapshot)));
    press(&mut screen, "r");
    assert!(shown(&screen, 80, 24).contains("Restart alice? y/n"));
}

#[test]
fn keys_that_come_before_the_request_is_drawn_answer_nothing() {
    let mut screen = busy();
    screen.handle(Input::Drawn);
    for _ in 0..3 {
        assert_eq!(screen.handle(Input::Key(Key::Char('y'))), []);
    }
    assert!(shown(&screen, 80, 24).contains("not on the screen yet"));
    let effects = press(&mut screen, "y");
    assert_eq!(effects, run(&["approve", "--", "1a2b3c4d"]));
}

#[test]
fn a_click_selects_and_the_wheel_scrolls_the_pane_under_it() {
    let mut screen = crowd();
    let text = shown(&screen, 80, 24);
    let row_of = |part: &str| {
        let at = text.lines().position(|line| line.contains(part));
        u16::try_from(at.unwrap_or_else(|| panic!("{part} in\n{text}"))).unwrap()
    };
    let click = |row| Input::Mouse(MouseInput::Click { column: 5, row });
    let effects = screen.handle(click(row_of("member-2 ")));
    assert_eq!(effects, [follow("member-2", Pane::Conversation)]);
    screen.handle(click(row_of("00000002")));
    assert!(shown(&screen, 80, 24).contains("Plan of bob (00000002)"));
    let down = |row| Input::Mouse(MouseInput::WheelDown { column: 5, row });
    screen.handle(down(row_of("Board")));
    assert!(!shown(&screen, 80, 24).contains("[>] #3"));
    let up = |row| Input::Mouse(MouseInput::WheelUp { column: 70, row });
    assert!(text.contains("event 60"));
    screen.handle(up(row_of("Events")));
    assert!(!shown(&screen, 80, 24).contains("event 60"));
    // Outside of the panes, and in a list of keys, nothing is hit.
    assert_eq!(screen.handle(click(0)), []);
    press(&mut screen, "?");
    assert_eq!(screen.handle(click(row_of("member-2 "))), []);
    assert!(!shown(&screen, 80, 24).contains("Any key closes this."));
}

#[test]
fn the_mouse_is_left_to_the_terminal_until_a_key_asks_for_it() {
    let mut screen = busy();
    assert_eq!(press(&mut screen, "M"), [Effect::UseMouse(true)]);
    assert_eq!(press(&mut screen, "M"), [Effect::UseMouse(false)]);
}
