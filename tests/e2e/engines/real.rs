//! The agents of others as members. Each goes through one run, since each start of one takes seconds: it answers, finishes
//! a task with its own tools and with the team's, asks, is refused, is cancelled while it asks, is killed while a
//! command of its runs, and ends in the middle of an answer.

use super::agents::Agent;
use super::player::{Order, Player};
use crate::harness::{LIMIT, Run, Workspace, with_variable};
use nix::sys::signal::Signal;
use protocol::{Phase, RequestKind};
use std::fs;
use test_support::wait_until;

/// Calls of these ask a person.
const CONFIG: &str = "[permissions]\nask = ['Bash(touch *)']\n\
    [[hooks.TaskCompleted]]\ncommand = 'cat >> told.jsonl'\n";

fn run(agent: Agent, workspace: &Workspace, args: &[&str]) {
    let run = Run::of(&mut agent.set_up(workspace, workspace.command(args)));
    assert_eq!(run.code, 0, "{agent:?}: {run:?}");
}

fn send(workspace: &Workspace, order: Order) {
    workspace.ok(&["send", "carol", order.word()]);
}

fn lives(agent: Agent) {
    if !agent.is_installed() {
        return;
    }
    let workspace = Workspace::with_config(CONFIG);
    agent.configure(&workspace);
    let player = Player::start(&workspace);
    answers_and_works(agent, &workspace);
    asks_and_is_refused(agent, &workspace);
    is_cancelled_and_goes_on(agent, &workspace, &player);
    is_killed_with_its_commands(agent, &workspace);
    ends_while_it_answers(agent, &workspace, &player);
    if agent == Agent::Claude {
        pays_for_no_call_twice(&workspace, &player);
    }
    workspace.end();
}

/// Starts it as its documentation says, and lets it answer mail and finish a task of the board.
fn answers_and_works(agent: Agent, workspace: &Workspace) {
    let (mut args, prompt) = agent.example(workspace);
    let greet = format!("{prompt} Remember the word heron. {}", Order::Greet.word());
    args.push(greet);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    run(agent, workspace, &args);
    let report = workspace.wait_reports("carol", 1).remove(0);
    let is_answer = report.contains("Hello from the model.");
    assert!(is_answer, "{agent:?}: {report} {}", workspace.log("carol"));

    workspace.ok(&[
        "task",
        "create",
        "Paint",
        "--description",
        Order::Paint.word(),
    ]);
    let asked = workspace.pending(RequestKind::Permission);
    assert!(!workspace.path().join("painted").exists(), "{agent:?}");
    workspace.ok(&["approve", asked.id.as_str()]);
    workspace.wait_reports("carol", 2);
    assert!(workspace.path().join("painted").exists(), "{agent:?}");
    let shown = workspace.ok(&["task", "show", "1"]);
    let is_done = shown.contains("completed") && shown.contains("Painted.");
    assert!(is_done, "{agent:?}: {shown} {}", workspace.log("carol"));
    let told = fs::read_to_string(workspace.path().join("told.jsonl")).unwrap_or_default();
    let is_told = told.contains("TaskCompleted") && told.contains("\"member\":\"carol\"");
    assert!(is_told, "{agent:?}: {told:?}");
    assert!(
        workspace.journal("carol").contains("touch painted"),
        "{agent:?}"
    );
}

fn asks_and_is_refused(agent: Agent, workspace: &Workspace) {
    send(workspace, Order::Refuse);
    let asked = workspace.pending(RequestKind::Permission);
    workspace.ok(&["reject", asked.id.as_str(), "--feedback", "no"]);
    workspace.wait_reports("carol", 3);
    assert!(!workspace.path().join("refused").exists(), "{agent:?}");
}

/// Ends the member while the agent waits for an answer. The next process goes on with the session, and with the
/// question.
fn is_cancelled_and_goes_on(agent: Agent, workspace: &Workspace, player: &Player) {
    send(workspace, Order::Ask);
    let asked = workspace.pending(RequestKind::Permission);
    workspace.wait_phase("carol", Phase::Waiting);
    workspace.signal("carol", Signal::SIGTERM);
    workspace.wait_until_gone("carol");
    workspace.wait_until_commands_ended();
    let log = workspace.log("carol");
    assert!(
        log.contains("has ended its cancelled prompt"),
        "{agent:?}: {log}"
    );
    let before = player.requests().len();
    run(agent, workspace, &["restart", "carol"]);
    wait_until("the question", LIMIT, || {
        let log = workspace.log("carol");
        log.matches("asks to run bash: touch asked").count() == 2
    });
    let again = workspace.pending(RequestKind::Permission);
    let log = workspace.log("carol");
    let is_restored = log.contains("restored: true");
    // Gemini finds a session only when the clock shows another minute than at its beginning.
    assert!(is_restored || agent == Agent::Gemini, "{agent:?}: {log}");
    assert_eq!(again.id == asked.id, is_restored, "{agent:?}: {log}");
    let later = player.requests().split_off(before);
    let knows = |text: &String| text.contains(Order::Ask.word()) && text.contains("heron");
    assert!(later.iter().any(knows), "{agent:?} has its session");
    workspace.ok(&["approve", again.id.as_str()]);
    workspace.wait_reports("carol", 4);
    assert!(workspace.path().join("asked").exists(), "{agent:?}");
}

fn is_killed_with_its_commands(agent: Agent, workspace: &Workspace) {
    send(workspace, Order::Nap);
    wait_until("the command", LIMIT, || {
        workspace.path().join("napping").exists()
    });
    let mark = format!("TEAM_TEST_WORKSPACE={}", workspace.path().display());
    workspace.kill9("carol");
    wait_until("the agent's processes to end", LIMIT, || {
        let marked = with_variable(&mark);
        let is_its = |line: &String| line.contains(agent.name()) || line.contains("4321");
        !marked.iter().any(is_its)
    });
    run(agent, workspace, &["restart", "carol"]);
    workspace.wait_reports("carol", 5);
    workspace.wait_phase("carol", Phase::Idle);
    assert_eq!(workspace.reports("carol").len(), 5, "{agent:?}");
}

/// Asks it to end while its model answers. Its process agrees in its place.
fn ends_while_it_answers(agent: Agent, workspace: &Workspace, player: &Player) {
    send(workspace, Order::Hang);
    player.hanging.wait_until_reached(LIMIT);
    workspace
        .run(&["shutdown", "carol", "--wait", "--timeout", "6"])
        .has_code(0);
    workspace.wait_until_gone("carol");
    workspace.wait_until_commands_ended();
    let log = workspace.log("carol");
    let ends = log.matches("has ended its cancelled prompt").count();
    // goose hears of it only with the next piece of an answer, and is killed.
    let expected = if agent == Agent::Goose { 1 } else { 2 };
    assert_eq!(ends, expected, "{agent:?}: {log}");
}

/// Claude reports what its session has cost. After a kill it goes on from an older count, since it stores its count
/// only when it ends in order.
fn pays_for_no_call_twice(workspace: &Workspace, player: &Player) {
    /// What this release of Claude Code takes for one answer of the server, in millionths of a dollar.
    const PRICE: u64 = 140;
    let budget = workspace.team().budget().unwrap();
    let nanos: u64 = budget.booked.iter().map(|row| row.cost.as_nanos()).sum();
    let (paid, most) = (nanos / 1_000 / PRICE, player.requests().len() as u64);
    // No lower bound: what a cancelled prompt has cost, Claude reports only if it comes to store its count before
    // its processes are killed.
    assert!(paid > 0 && paid <= most, "{paid} of {most}");
}

#[test]
fn claude_lives() {
    lives(Agent::Claude);
}

#[test]
fn codex_lives() {
    lives(Agent::Codex);
}

#[test]
fn gemini_lives() {
    lives(Agent::Gemini);
}

#[test]
fn goose_lives() {
    lives(Agent::Goose);
}

#[test]
fn opencode_lives() {
    lives(Agent::Opencode);
}

#[test]
fn qwen_lives() {
    lives(Agent::Qwen);
}
