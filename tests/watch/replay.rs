//! The event log, replayed after a run with kills, tells what the files show.

use crate::picture::assert_same;
use crate::support::{LIMIT, Office};
use test_support::wait_until;

/// A command that takes long the first time and no time after that.
const SLOW: &str = "[ -e \"$1\" ] && exit; : > \"$1\"; sleep 600\n";

/// Waits until a member is in the middle of its slow command.
fn wait_for_command(office: &Office, mark: &str) {
    let path = office.path().join(mark);
    wait_until("a member in a command", LIMIT, || path.exists());
}

#[test]
fn replaying_the_history_gives_the_roster_the_board_and_the_mail() {
    let office = Office::new();
    std::fs::write(office.path().join("slow.sh"), SLOW).unwrap();
    office.verb(&[
        "task",
        "create",
        "Say hello",
        "--description",
        "Run `echo hello`.",
    ]);
    office.verb(&["task", "create", "Wait long", "--blocked-by", "1"]);
    office.verb(&[
        "spawn",
        "alice",
        "coder",
        "--prompt",
        "Run `sh slow.sh mark-a`.",
    ]);
    wait_for_command(&office, "mark-a");
    office.verb(&["send", "alice", "This waits for you."]);
    office.verb(&["spawn", "bob", "tester"]);
    office.verb(&["send", "bob", "Run `sh slow.sh mark-b`."]);
    wait_for_command(&office, "mark-b");
    // Killed in the middle of a command, with mail that waits.
    office.kill("alice");
    office.kill("bob");
    office.verb(&["send", "alice", "And this."]);
    office.verb(&["status"]);
    let picture = assert_same(&office.team);
    assert!(
        picture.contains("alice (coder) dead in life 1"),
        "{picture:#?}"
    );
    office.verb(&["restart", "bob"]);
    office.verb(&["spawn", "carol", "writer"]);
    office.verb(&["shutdown", "carol", "--force"]);
    office.verb(&["broadcast", "Hello to all who live."]);
    office.verb(&["restart", "alice"]);
    // At rest: between a change and its event a killed process would leave the event out.
    office.verb(&["wait", "--idle", "--timeout", "120"]);
    office.kill("alice");
    office.verb(&["restart", "alice"]);
    office.verb(&["wait", "--idle", "--timeout", "120"]);
    office.verb(&["inbox", "lead", "--drain"]);
    let picture = assert_same(&office.team);
    assert!(
        picture.contains("carol (writer) shutdown in life 1"),
        "{picture:#?}"
    );
    assert!(
        picture.contains("alice (coder) idle in life 3"),
        "{picture:#?}"
    );
}
