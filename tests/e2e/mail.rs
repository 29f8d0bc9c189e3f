//! `send`, `broadcast` and `inbox`.

use crate::harness::{Behaviour, Run, Workspace, recipient, set_state, wait_for_text};
use protocol::{JournalLine, JournalRecord, MemberStatus, Phase, exit};
use serde_json::{Value, json};
use std::process::Stdio;
use teamdir::{Liveness, MemberSession, WatchChoice};

/// The lines of a member's journal as objects.
fn journal(workspace: &Workspace, owner: &str) -> Vec<Value> {
    let mut records = Vec::new();
    let read = workspace
        .team()
        .read_journal(&recipient(owner), |bytes, _| {
            records.push(serde_json::from_slice(bytes).unwrap());
        });
    read.unwrap();
    records
}

/// The messages that the journal says were shown, by their numbers.
fn shown(workspace: &Workspace, owner: &str) -> Vec<u64> {
    let records = journal(workspace, owner).into_iter();
    let messages = records.filter(|record| record["kind"] == "user");
    let messages = messages.flat_map(|record| record["messages"].as_array().unwrap().clone());
    messages
        .inspect(|message| assert_eq!(message["text"], ""))
        .map(|message| message["source"]["mail"].as_u64().unwrap())
        .collect()
}

#[test]
fn what_is_sent_is_unread_and_noted() {
    let workspace = Workspace::with_members(&["alice"]);
    let run = workspace.run(&["send", "Alice", "hello"]);
    assert_eq!(run.has_code(exit::DONE).out, "Sent message to alice\n");
    assert!(
        run.err.contains("team-lead restart alice"),
        "it says that alice is not running: {run:?}"
    );
    let sent = workspace
        .run(&["--json", "send", "lead", "for the lead"])
        .json();
    assert_eq!(sent["to"], "lead");
    let inbox = workspace.run(&["inbox", "--json"]).json();
    let [message] = inbox["messages"].as_array().unwrap().as_slice() else {
        panic!("{inbox}");
    };
    assert_eq!(message["id"], sent["id"]);
    assert_eq!(message["from"], "user");
    assert_eq!(message["content"], "for the lead");
    // Looking takes nothing.
    for _ in 0..2 {
        let run = workspace.run(&["inbox", "alice"]);
        assert_eq!(run.has_code(exit::DONE).out, "user (message): hello\n");
    }
    let events = std::fs::read_to_string(workspace.team().layout().events()).unwrap();
    assert_eq!(events.matches(r#""event":"send""#).count(), 2, "{events}");
}

#[test]
fn text_can_come_from_standard_input_or_begin_with_a_dash() {
    let workspace = Workspace::with_members(&["alice"]);
    let text = "two\nlines, \"quoted\"\n";
    workspace
        .run_with_input(&["send", "alice", "-"], text)
        .has_code(exit::DONE);
    workspace
        .run(&["send", "alice", "- a list"])
        .has_code(exit::DONE);
    workspace
        .run_with_input(&["send", "alice", "-"], "\n")
        .has_code(exit::USAGE);
    let inbox = workspace.run(&["inbox", "alice", "--json"]).json();
    let contents: Vec<_> = inbox["messages"].as_array().unwrap().iter().collect();
    let contents: Vec<_> = contents.iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [text, "- a list"]);
}

#[test]
fn a_broadcast_reaches_everybody_who_has_not_been_shut_down() {
    let workspace = Workspace::with_members(&["alice", "bob", "carol"]);
    let nobody = workspace.run(&["broadcast", "hello"]);
    assert_eq!(
        nobody.has_code(exit::DONE).out,
        "Broadcast to 0 teammates\n"
    );
    assert!(nobody.err.contains("team-lead status"), "{nobody:?}");
    let posts = ["alice", "bob"].map(|name| {
        let post =
            MemberSession::open(workspace.team(), &recipient(name), WatchChoice::Poll).unwrap();
        set_state(workspace.team(), &post, Phase::Idle, MemberStatus::Idle);
        post
    });
    drop(posts);
    let run = workspace.run(&["broadcast", "hello"]);
    assert_eq!(run.has_code(exit::DONE).out, "Broadcast to 2 teammates\n");
    let object = workspace.run(&["broadcast", "again", "--json"]).json();
    assert_eq!(object, json!({"to": ["alice", "bob"]}));
    let inbox = workspace.run(&["inbox", "bob"]);
    assert_eq!(
        inbox.out,
        "user (broadcast): hello\nuser (broadcast): again\n"
    );
}

#[test]
fn draining_takes_what_is_unread_and_marks_exactly_that() {
    let workspace = Workspace::with_members(&["alice"]);
    // Two messages were taken by an incarnation that never came to show them.
    workspace.run(&["send", "alice", "one"]);
    workspace.run(&["send", "alice", "two"]);
    let mut post =
        MemberSession::open(workspace.team(), &recipient("alice"), WatchChoice::Poll).unwrap();
    assert_eq!(post.try_next().unwrap().unwrap().mail.len(), 2);
    drop(post);
    workspace.run(&["send", "alice", "three"]);
    let inbox = workspace.team().layout().inbox(&recipient("alice"));
    let by_hand = std::fs::File::options().append(true).open(&inbox);
    std::io::Write::write_all(&mut by_hand.unwrap(), b"plain words\n{torn\n").unwrap();

    let before = workspace.run(&["inbox", "alice", "--json"]).json();
    let drained = workspace.run(&["inbox", "alice", "--drain", "--json"]);
    assert!(drained.err.contains("1 damaged"), "{drained:?}");
    let drained = drained.json();
    let messages = drained["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{drained}");
    assert_eq!(messages[0], before["messages"][0], "as its sender wrote it");
    assert_eq!(messages[1], "plain words");

    assert_eq!(shown(&workspace, "alice"), [3, 4]);
    let again = workspace.run(&["inbox", "alice", "--drain"]);
    assert_eq!(
        again.has_code(exit::DONE).out,
        "No unread mail for alice.\n"
    );
    workspace.run(&["send", "alice", "five"]);
    let five = workspace.run(&["inbox", "alice", "--drain"]);
    assert_eq!(five.has_code(exit::DONE).out, "user (message): five\n");
    assert_eq!(shown(&workspace, "alice"), [3, 4, 5]);
    let roster = workspace.team().roster().unwrap();
    assert_eq!(roster.members[0].incarnation.0, 1, "no incarnation began");
}

#[test]
fn nobody_drains_the_inbox_of_a_running_member() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Silent);
    let pid = alice.id().to_string();
    let run = workspace.run(&["inbox", "alice", "--drain"]);
    run.complains(exit::FAILED, &pid, "team-lead inbox alice");
    let refused = workspace.run(&["--json", "inbox", "alice", "--drain"]);
    refused.json_error(exit::FAILED, "refused");
    workspace.run(&["inbox", "alice"]).has_code(exit::DONE);
    alice.kill9();
    workspace
        .run(&["inbox", "alice", "--drain"])
        .has_code(exit::DONE);
}

#[test]
fn of_two_who_drain_at_once_one_gets_each_message() {
    const MESSAGES: usize = 40;
    let workspace = Workspace::with_members(&["alice"]);
    for number in 0..MESSAGES {
        let text = format!("message {number}");
        let me = team::Actor::user();
        team::send(workspace.team(), &me, recipient("alice"), &text).unwrap();
    }
    let start = || {
        let mut command = workspace.command(&["inbox", "alice", "--drain", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let (one, two) = (start(), start());
    let mut printed = Vec::new();
    for child in [one, two] {
        let run = Run::ended(child.wait_with_output().unwrap());
        // Whoever comes second is refused, or finds nothing.
        if run.code == i32::from(exit::FAILED) {
            run.json_error(exit::FAILED, "refused");
            continue;
        }
        let messages = run.json()["messages"].as_array().unwrap().clone();
        printed.extend(messages.iter().map(|m| m["content"].to_string()));
    }
    let expected = (0..MESSAGES).map(|number| format!("\"message {number}\""));
    assert_eq!(printed, expected.collect::<Vec<_>>());
    assert_eq!(shown(&workspace, "alice").len(), MESSAGES);
}

#[test]
fn draining_an_empty_inbox_leaves_no_trace() {
    let workspace = Workspace::with_members(&["alice"]);
    let before = workspace.listing();
    workspace
        .run(&["inbox", "alice", "--drain"])
        .has_code(exit::DONE);
    assert_eq!(workspace.listing(), before);
    let liveness = workspace.team().liveness(&recipient("alice")).unwrap();
    assert_eq!(liveness, Liveness::Gone(None));
}

#[test]
fn what_nobody_could_read_is_not_marked_as_shown() {
    let workspace = Workspace::with_members(&["alice"]);
    workspace.run(&["send", "alice", &"long ".repeat(20_000)]);
    let mut command = workspace.command(&["inbox", "alice", "--drain"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert_eq!(shown(&workspace, "alice"), [0; 0]);
    let mut messages = 0;
    let read = workspace
        .team()
        .read_journal(&recipient("alice"), |_, line| {
            if let JournalLine::Known(JournalRecord::Mail(record)) = line {
                messages += record.mail.len();
            }
        });
    read.unwrap();
    assert_eq!(
        messages, 1,
        "it waits in the journal for the next incarnation of alice"
    );
}

#[test]
fn an_answer_counts_also_if_a_person_takes_it_from_the_leads_inbox() {
    let workspace = Workspace::with_members(&["alice"]);
    let _alice = workspace.play_member("alice", Behaviour::Refuses);
    let asked = workspace.run(&["shutdown", "alice", "--json"]).json();
    let inbox = workspace.team().layout().inbox(&recipient("lead"));
    wait_for_text(&inbox, "shutdown_response");
    let drained = workspace.run(&["inbox", "--drain"]);
    let id = asked["request_id"].as_str().unwrap();
    let line = format!("alice (shutdown response {id}): the parser is half done\n");
    assert_eq!(drained.has_code(exit::DONE).out, line);
    let request = workspace.run(&["requests", id, "--json"]).json();
    assert_eq!(request["requests"][0]["status"], "rejected");
}
