//! The event log, replayed after a run with kills, tells what the files show.

use crate::harness::history::assert_same;
use crate::harness::{LIMIT, Workspace};
use test_support::wait_until;

/// A command that takes long the first time and no time after that.
const SLOW: &str = "[ -e \"$1\" ] && exit; : > \"$1\"; sleep 600\n";

/// Waits until a member is in the middle of its slow command.
fn wait_for_command(workspace: &Workspace, mark: &str) {
    let path = workspace.path().join(mark);
    wait_until("a member in a command", LIMIT, || path.exists());
}

#[test]
fn replaying_the_history_gives_the_roster_the_board_and_the_mail() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("slow.sh"), SLOW).unwrap();
    workspace.ok(&[
        "task",
        "create",
        "Say hello",
        "--description",
        "Run `echo hello`.",
    ]);
    workspace.ok(&["task", "create", "Wait long", "--blocked-by", "1"]);
    workspace.ok(&[
        "spawn",
        "alice",
        "coder",
        "--prompt",
        "Run `sh slow.sh mark-a`.",
    ]);
    wait_for_command(&workspace, "mark-a");
    workspace.ok(&["send", "alice", "This waits for you."]);
    workspace.ok(&["spawn", "bob", "tester"]);
    workspace.ok(&["send", "bob", "Run `sh slow.sh mark-b`."]);
    wait_for_command(&workspace, "mark-b");
    // Killed in the middle of a command, with mail that waits.
    workspace.kill9("alice");
    workspace.kill9("bob");
    workspace.ok(&["send", "alice", "And this."]);
    workspace.ok(&["status"]);
    let picture = assert_same(workspace.team());
    assert!(
        picture.contains("alice (coder) dead in incarnation 1"),
        "{picture:#?}"
    );
    workspace.ok(&["restart", "bob"]);
    workspace.ok(&["spawn", "carol", "writer"]);
    workspace.ok(&["shutdown", "carol", "--force"]);
    workspace.ok(&["broadcast", "Hello to all who live."]);
    workspace.ok(&["restart", "alice"]);
    // At rest: between a change and its event a killed process would leave the event out.
    workspace.ok(&["wait", "--idle", "--timeout", "120"]);
    workspace.kill9("alice");
    workspace.ok(&["restart", "alice"]);
    workspace.ok(&["wait", "--idle", "--timeout", "120"]);
    workspace.ok(&["inbox", "lead", "--drain"]);
    let picture = assert_same(workspace.team());
    assert!(
        picture.contains("carol (writer) shutdown in incarnation 1"),
        "{picture:#?}"
    );
    assert!(
        picture.contains("alice (coder) idle in incarnation 3"),
        "{picture:#?}"
    );
}
