//! What `watch` shows, on real terminals of three sizes.

use crate::harness::{LIMIT, Terminal, Workspace, bash, call, say};
use protocol::{AgentName, LiveState, Member, Phase, Recipient, Request, RequestKind, WaitingFor};
use serde_json::json;
use teamdir::{MemberGuard, RosterError, now};
use test_support::wait_for;

/// The rows and the columns.
const SIZES: [(u16, u16); 3] = [(24, 80), (40, 120), (80, 300)];
/// The colours of what waits and of what runs, as terminals number them.
const YELLOW: u8 = 3;
const GREEN: u8 = 2;
/// A price for the models of the tests, and more money than they need.
const CONFIG: &str = r#"
[budget]
max_cost = 5

[models."test"]
price = { input = 1000, output = 2000 }
"#;
const LONG_NAME: &str = "carol-reviews-the-parser-and-all-of-its-tests";

fn watch(workspace: &Workspace, (rows, columns): (u16, u16)) -> Terminal {
    Terminal::start(workspace.command(&["watch"]), rows, columns)
}

fn leave(mut terminal: Terminal) {
    terminal.type_keys("q");
    assert_eq!(terminal.end().code(), Some(0));
    terminal.assert_restored();
}

/// The first line of the screen with a text.
fn line_with<'a>(screen: &'a str, text: &str) -> Option<&'a str> {
    screen.lines().find(|line| line.contains(text))
}

/// The column of a text in a line.
fn column(line: &str, text: &str) -> Option<usize> {
    let (before, _) = line.split_once(text)?;
    Some(before.chars().count())
}

/// How long the member of this line does what it does, as in `0:12`.
fn clock(screen: &str, text: &str) -> Option<String> {
    let (before, _) = line_with(screen, text)?.split_once(text)?;
    let clock = before.split_whitespace().last()?;
    clock.contains(':').then(|| clock.to_owned())
}

/// A team in which alice works until the file `go` is there, bob waits for permission, and another one is idle.
fn team_at_work() -> (Workspace, Request) {
    let workspace = Workspace::with_config(CONFIG);
    workspace.write("wait.sh", "until [ -e go ]; do sleep 0.05; done\n");
    let write = json!({"path": "notes.md", "content": "hello\n"});
    let code = "I look:\n```rust\nfn main() {}\n```";
    let begun = [call("write_file", write), bash("sh wait.sh"), say(code)];
    workspace.script("alice", begun);
    let network = json!({"command": "cargo fetch", "needs_network": true});
    workspace.script("bob", [call("bash", network), say("Done.")]);
    workspace.script(LONG_NAME, [say("Ready.")]);
    workspace.spawn(LONG_NAME, &["--prompt", "Get ready."]);
    workspace.spawn("alice", &["--prompt", "Write it and wait."]);
    workspace.spawn("bob", &["--prompt", "Fetch it."]);
    let request = workspace.pending(RequestKind::Permission);
    workspace.wait_phase(LONG_NAME, Phase::Idle);
    (workspace, request)
}

#[test]
fn a_team_at_work_is_read_at_each_size() {
    let (workspace, request) = team_at_work();
    for size in SIZES {
        let mut terminal = watch(&workspace, size);
        // The headings, what runs as a command, costs and the budget.
        terminal.wait_for(&[
            "Requests: 1 waits for you",
            "Members: 3",
            "Board",
            "Events",
            "of $5.00",
            "3 of 3 running",
            request.id.as_str(),
            "$ cargo fetch",
            "$ sh wait.sh",
            "COST",
        ]);
        let screen = terminal.text();
        check_rows(&screen, usize::from(size.1));
        // What waits is first and yellow, what works comes next and is green.
        let place = |text: &str| screen.lines().position(|line| line.contains(text)).unwrap();
        assert!(place(request.id.as_str()) < place("NAME"), "{screen}");
        assert!(place("> bob") < place("  alice"), "{screen}");
        assert!(place("  alice") < place("  carol-"), "{screen}");
        assert_eq!(terminal.colour_of("waiting"), Some(YELLOW), "{screen}");
        assert_eq!(terminal.colour_of("1 waits for you"), Some(YELLOW));
        assert_eq!(terminal.colour_of("working"), Some(GREEN), "{screen}");
        // The clocks run although no file changes.
        let before = wait_for("a clock", LIMIT, || clock(&terminal.text(), "$ sh wait.sh"));
        terminal.wait_until("another time", |screen| {
            clock(screen, "$ sh wait.sh").is_some_and(|clock| clock != before)
        });
        // The conversation is text.
        terminal.type_keys("j");
        terminal.wait_for(&[
            "Conversation of alice",
            "prompt: Write it and wait.",
            "write notes.md",
            "  + hello",
            "$ sh wait.sh ...",
        ]);
        assert!(!terminal.text().contains("{\""), "{}", terminal.text());
        leave(terminal);
    }
    workspace.write("go", "");
    workspace.wait_phase("alice", Phase::Idle);
    for size in SIZES {
        let mut terminal = watch(&workspace, size);
        terminal.wait_for(&["> bob"]);
        // The two that are idle are below, in the order in which they came into the team.
        terminal.type_keys("jj");
        terminal.wait_until("alice's code", |screen| {
            // The events have the same words.
            let below = screen.split_once("Conversation of alice");
            below.is_some_and(|(_, text)| text.contains("I look:") && text.contains("fn main() {}"))
        });
        leave(terminal);
    }
}

/// The columns are aligned, use the width, and long names are shortened in the middle if they have to be.
#[track_caller]
fn check_rows(screen: &str, width: usize) {
    let rule = line_with(screen, "━ Members: 3").unwrap();
    assert_eq!(rule.chars().count(), width, "{screen}");
    let headings = line_with(screen, "NAME").unwrap();
    for (heading, row, value) in [
        ("STATE", "> bob", "waiting"),
        ("STATE", "  alice", "working"),
        ("STATE", "  carol-", "idle"),
        ("NOW", "  alice", "$ sh wait.sh"),
        ("ROLE", "  alice", "coder"),
        ("ROLE", "  carol-", "coder"),
    ] {
        let found = line_with(screen, row).and_then(|line| column(line, value));
        assert_eq!(found, column(headings, heading), "{row} {value}\n{screen}");
    }
    let carol = line_with(screen, "  carol-").unwrap();
    let is_whole = carol.contains(LONG_NAME);
    let name = carol.split_whitespace().next().unwrap();
    let (start, end) = name.split_once('…').unwrap_or((name, name));
    assert!(LONG_NAME.starts_with(start), "{screen}");
    assert!(LONG_NAME.ends_with(end), "{screen}");
    let is_wide = width == usize::from(SIZES[2].1);
    assert!(is_whole || (start.len() > 3 && end.len() > 3), "{screen}");
    assert!(is_whole || !is_wide, "there is room for it: {screen}");
}

/// Makes this process a member that waits for its plan.
fn waiting_member(workspace: &Workspace, name: &str) -> MemberGuard {
    let (team, name) = (workspace.team(), AgentName::new(name).unwrap());
    let joined = team.update_roster(|roster| {
        roster.members.push(Member::new(name.clone(), "tester"));
        Ok::<_, RosterError>(())
    });
    joined.unwrap();
    let guard = team.join(&Recipient::Member(name.clone())).unwrap();
    team::submit_plan(team, &name, guard.incarnation(), &long_plan(&name)).unwrap();
    let mut live = LiveState::new(guard.incarnation(), Phase::Waiting, now());
    live.waiting_for = Some(WaitingFor::Plan);
    team.write_live_state(&guard, &live).unwrap();
    guard
}

fn long_plan(name: &AgentName) -> String {
    let steps = (1..=90).map(|step| format!("{step}. Step {step} of {name}."));
    steps.collect::<Vec<_>>().join("\n")
}

/// What the title of a pane says about rows that are not shown, as in `37 more below`.
fn hidden(screen: &str, title: &str) -> Option<String> {
    let line = line_with(screen, title)?;
    let (_, line) = line.split_once(title)?;
    let (before, after) = line.split_once(" more")?;
    let count = before.rsplit([' ', '─', '━']).next()?;
    let _: usize = count.parse().ok()?;
    let words = after.split(['─', '━']).next()?;
    Some(format!("more{}", words.trim_end()))
}

/// A pane in which not everything fits, in the order of the Tab key.
struct Pane {
    title: &'static str,
    /// The keys to its end and to its start: rows are selected one by one, text is scrolled.
    keys: [&'static str; 2],
    /// What is on the screen only if the start of the pane is, and only if its end is.
    start: &'static str,
    end: &'static str,
}

const SELECT: [&str; 2] = ["j", "k"];
const SCROLL: [&str; 2] = ["\u{1b}[F", "\u{1b}[H"];

const PANES: [Pane; 5] = [
    Pane {
        title: "Members: 40",
        keys: SELECT,
        start: "> member-01",
        end: "> member-40",
    },
    Pane {
        title: "Requests: 40 wait for you",
        keys: SELECT,
        start: "Plan of member-01",
        end: "Plan of member-40",
    },
    Pane {
        title: "Board: 0 of 60 done",
        keys: SCROLL,
        start: "[ ] #1 ",
        end: "[ ] #60 ",
    },
    Pane {
        title: "Events",
        keys: SCROLL,
        start: "created task 2",
        end: "member-40 → lead",
    },
    Pane {
        title: "Plan of member-01",
        keys: SCROLL,
        start: "3. Step 3 of member-01.",
        end: "90. Step 90 of member-01.",
    },
];

/// Goes to an end of a pane, where all that is not shown is to one side.
#[track_caller]
fn scroll(terminal: &mut Terminal, pane: &Pane, keys: &str, way: &str) {
    let (shown, not_shown) = match way {
        "more above" => (pane.end, pane.start),
        _ => (pane.start, pane.end),
    };
    terminal.type_keys(keys);
    let title = pane.title;
    terminal.wait_until(&format!("{title}: {shown}, {way}"), |screen| {
        // A narrow title says only how many there are.
        let said = hidden(screen, title);
        let is_said = said.is_some_and(|said| said == way || said == "more");
        is_said && screen.contains(shown) && !screen.contains(not_shown)
    });
}

#[test]
fn what_does_not_fit_is_counted_and_scrolled_in_every_pane_at_each_size() {
    let workspace = Workspace::new();
    for number in 1..=60 {
        let subject = format!("Subject {number}");
        workspace.ok(&["task", "create", &subject, "--role", "writer"]);
    }
    let names = (1..=40).map(|number| format!("member-{number:02}"));
    let guards: Vec<MemberGuard> = names
        .map(|name| waiting_member(&workspace, &name))
        .collect();
    for size in SIZES {
        let mut terminal = watch(&workspace, size);
        terminal.wait_for(&["40 of 40 running", "40 wait for you", "> member-01"]);
        for (at, pane) in PANES.iter().enumerate() {
            if at > 0 {
                terminal.type_keys("\t");
            }
            let [to_end, to_start] = pane.keys.map(|key| key.repeat(40));
            scroll(&mut terminal, pane, &to_end, "more above");
            scroll(&mut terminal, pane, &to_start, "more below");
        }
        leave(terminal);
    }
    drop(guards);
}
