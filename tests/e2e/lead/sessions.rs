//! The lead's sessions: listed, taken up again, and kept whoever is killed when.

use crate::harness::{Terminal, Workspace};
use protocol::{Phase, exit};
use serde_json::Value;
use std::process::Stdio;
use test_support::faults::{self, Outcome};
use test_support::llm_server::ServerReply;
use test_support::{Rng, report_skip};

fn sessions(workspace: &Workspace) -> Vec<Value> {
    let listed = workspace.json(&["sessions"]);
    listed["sessions"].as_array().unwrap().clone()
}

fn words(workspace: &Workspace) -> Vec<String> {
    let all = sessions(workspace).into_iter();
    all.map(|session| session["first_words"].as_str().unwrap().to_owned())
        .collect()
}

fn id(session: &Value) -> &str {
    session["session"].as_str().unwrap()
}

#[test]
fn each_run_is_a_session_and_an_older_one_goes_on() {
    let workspace = Workspace::new();
    assert_eq!(sessions(&workspace), [Value::Null; 0]);
    for (prompt, reply) in [("the first thing", "One."), ("the second\nthing", "Two.")] {
        workspace.reply(ServerReply::text(reply).usage(70, 30, 0, 0));
        workspace.run_lead(&[prompt], "").has_code(exit::DONE);
    }
    let all = sessions(&workspace);
    assert_eq!(words(&workspace), ["the first thing", "the second thing"]);
    assert_eq!(
        (&all[0]["is_current"], &all[1]["is_current"]),
        (&false.into(), &true.into())
    );
    assert_eq!(all[0]["tokens"], 100);
    assert!(all[0]["started"].as_f64() <= all[0]["last"].as_f64());
    let text = workspace.ok(&["sessions"]);
    assert!(text.contains(&format!("* {}", id(&all[1]))), "{text}");
    assert!(text.contains("the first thing"), "{text}");
    // A beginning of the id is enough.
    let named = format!(
        "--resume={}",
        id(&all[0]).chars().take(6).collect::<String>()
    );
    workspace
        .run_lead(&[&named, "go on"], "")
        .has_code(exit::DONE);
    let last = workspace.lead_requests().pop().unwrap();
    assert!(
        last.contains("the first thing") && last.contains("One."),
        "{last}"
    );
    assert!(!last.contains("the second"), "{last}");
    let now = sessions(&workspace);
    assert_eq!(words(&workspace), ["the second thing", "the first thing"]);
    assert_eq!((id(&now[0]), id(&now[1])), (id(&all[1]), id(&all[0])));
    // And back.
    let named = format!("--resume={}", id(&all[1]));
    workspace
        .run_lead(&[&named, "more"], "")
        .has_code(exit::DONE);
    let last = workspace.lead_requests().pop().unwrap();
    assert!(last.contains("Two.") && !last.contains("go on"), "{last}");
    assert_eq!(sessions(&workspace).len(), 2);
}

#[test]
fn a_session_that_does_not_exist_is_an_error_and_creates_nothing() {
    let workspace = Workspace::empty();
    let run = workspace.run(&["run", "--resume=12345678", "hello"]);
    run.complains(
        exit::NOT_FOUND,
        "there is no session 12345678",
        "team-lead sessions",
    );
    assert!(!workspace.path().join(".team").exists());
    let workspace = Workspace::new();
    workspace.run_lead(&["hello"], "").has_code(exit::DONE);
    let all = sessions(&workspace);
    let asked = workspace.lead_requests().len();
    // Whoever forgets the = does not send the id to the model.
    let run = workspace.run_lead(&["--resume", id(&all[0])], "");
    run.complains(exit::USAGE, "is a session", "team-lead run --resume=");
    assert_eq!(workspace.lead_requests().len(), asked);
}

#[test]
fn clear_begins_a_session_and_the_old_one_can_be_taken_up() {
    for (rows, columns) in super::screen::SIZES {
        let workspace = Workspace::new();
        let mut terminal = Terminal::start(workspace.lead_command(&[]), rows, columns);
        terminal.wait_for_last_line("team >>");
        terminal.type_keys("a word\r");
        terminal.wait_for_line_above("Standing by.", "team >>");
        workspace.wait_alive("lead", Phase::Idle);
        terminal.type_keys("/clear\ranother\r");
        workspace.wait_for_lead_request("another");
        terminal.wait_for_line_above("Standing by.", "team >>");
        super::screen::leave(&mut terminal);
        assert_eq!(words(&workspace), ["a word", "another"]);
        let old = format!("--resume={}", id(&sessions(&workspace)[0]));
        let mut terminal = Terminal::start(workspace.lead_command(&[&old]), rows, columns);
        terminal.wait_for(&["You said: a word", "Standing by."]);
        super::screen::leave(&mut terminal);
    }
}

/// How many of the changes the lead is killed at.
const STRIKES: u64 = 8;

/// A team whose lead has two sessions, and the id of the older one.
fn with_two() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.run_lead(&["the first"], "").has_code(exit::DONE);
    workspace.run_lead(&["the second"], "").has_code(exit::DONE);
    let first = id(&sessions(&workspace)[0]).to_owned();
    (workspace, first)
}

/// Takes the older session up again, and is killed at a change.
fn resume(workspace: &Workspace, first: &str, index: Option<usize>) -> (Outcome, faults::Trace) {
    let named = format!("--resume={first}");
    let mut command = workspace.lead_command(&[&named, "go on"]);
    command.env("TEAM_DUMPABLE", "on");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    faults::kill_at_change(&mut command, index).unwrap()
}

/// Whenever the lead is killed while it leaves one session for another, both can be taken up again.
#[test]
fn a_kill_between_two_sessions_loses_none() {
    if let Err(reason) = faults::available() {
        return report_skip("a lead killed between two sessions", reason);
    }
    let (workspace, first) = with_two();
    let (_, trace) = resume(&workspace, &first, None);
    assert!(trace.status.success(), "{:?}", trace.status);
    let changes = u64::try_from(trace.calls.len()).unwrap();
    let mut random = Rng::new(17);
    for strike in 0..STRIKES {
        let (from, until) = (strike * changes / STRIKES, (strike + 1) * changes / STRIKES);
        let index = usize::try_from(from + random.below(until - from) + 1).unwrap();
        let (workspace, first) = with_two();
        let (outcome, trace) = resume(&workspace, &first, Some(index));
        let name = trace.calls.last().map_or("none", |call| call.name);
        let what = format!("change {index} of {changes}, {name}: {outcome:?}");
        let mut kept = words(&workspace);
        kept.sort();
        assert_eq!(kept, ["the first", "the second"], "{what}");
        for session in sessions(&workspace) {
            let named = format!("--resume={}", id(&session));
            workspace
                .run_lead(&[&named, "then"], "")
                .has_code(exit::DONE);
            let last = workspace.lead_requests().pop().unwrap();
            let said = session["first_words"].as_str().unwrap();
            assert!(last.contains(said), "{what}: {last}");
        }
    }
}
