//! The instructions that users start from, typed to a lead without any model: what they do on disk.

use crate::harness::{Run, Workspace};
use protocol::{
    Body, JournalLine, JournalRecord, Line, Recipient, RequestKind, RequestStatus, TaskStatus,
};
use std::fs;

impl Workspace {
    /// Types an instruction to a lead that follows plain instructions.
    #[track_caller]
    fn instruct(&self, instruction: &str) -> Run {
        let mut command = self.command(&["run", "--model", "offline", instruction]);
        let run = Run::of(&mut command);
        assert_eq!(run.code, 0, "{run:?}");
        run
    }

    /// All messages that a member has taken, with who they are from.
    fn received(&self, name: &str) -> Vec<(String, Body)> {
        let mut found = Vec::new();
        let visit = |_: &[u8], line: JournalLine| {
            if let JournalLine::Known(JournalRecord::Mail(mail)) = line {
                for entry in &mail.mail {
                    if let Line::Message(message) = entry.decode() {
                        let from = message.from.as_ref().map_or("", |from| from.as_str());
                        found.push((from.to_owned(), message.body));
                    }
                }
            }
        };
        let name = name.parse().unwrap();
        self.team().read_journal(&name, visit).unwrap();
        found
    }

    /// The requests of a kind in the order in which they were made: the member, and the status.
    fn outcomes(&self, kind: RequestKind) -> Vec<(String, RequestStatus)> {
        let requests = self.team().requests().unwrap();
        let mut requests: Vec<_> = requests.into_iter().map(Result::unwrap).collect();
        requests.retain(|request| request.kind() == kind);
        requests.sort_by_key(|request| request.created_at);
        let words = requests.iter().map(|request| {
            let who = match kind {
                RequestKind::Plan | RequestKind::Permission | RequestKind::Question => {
                    request.from.to_string()
                }
                RequestKind::Shutdown => request.to.to_string(),
            };
            (who, request.status())
        });
        words.collect()
    }
}

#[test]
fn one_teammate_writes_to_another() {
    let workspace = Workspace::new();
    let run =
        workspace.instruct("Spawn alice (coder) and bob (tester). Have alice send bob a message.");
    let mail = workspace.received("bob");
    let from_alice = mail
        .iter()
        .filter(|(from, body)| from == "alice" && matches!(body, Body::Message { .. }));
    assert_eq!(from_alice.count(), 1, "{mail:?}");
    // The last answer is about bob's report if that comes after this one.
    let said = workspace.ok(&["logs", "lead"]);
    assert!(
        said.contains("alice reports: Sent message to bob"),
        "{said}\n{run:?}"
    );
    let roster = workspace.team().roster().unwrap();
    let roles: Vec<_> = roster
        .members
        .iter()
        .map(|m| m.spec.role.as_str())
        .collect();
    assert_eq!(roles, ["coder", "tester"]);
    assert_eq!(
        (workspace.alive("alice"), workspace.alive("bob")),
        (None, None)
    );
}

#[test]
fn a_broadcast_reaches_all_and_the_inbox_is_read() {
    let workspace = Workspace::new();
    for name in ["alice", "bob"] {
        workspace.ok(&["spawn", name, "coder", "--model", "offline"]);
    }
    let text = "status update: phase 1 complete";
    let run = workspace.instruct(&format!("Broadcast \"{text}\" to all teammates"));
    assert!(run.err.contains("Broadcast to 2 teammates"), "{run:?}");
    for name in ["alice", "bob"] {
        let content = text.to_owned();
        let broadcast = ("lead".to_owned(), Body::Broadcast { content });
        let mail = workspace.received(name);
        assert!(mail.contains(&broadcast), "{name}: {mail:?}");
    }
    workspace.ok(&["send", "lead", "the build is green"]);
    let run = workspace.instruct("Check the lead inbox for any messages");
    assert!(run.out.contains("the build is green"), "{run:?}");
    assert!(!run.out.contains("no messages"), "{run:?}");
}

#[test]
fn two_teammates_write_two_files() {
    let workspace = Workspace::new();
    workspace.instruct(
        "Spawn a frontend teammate and a backend teammate. Ask frontend to create an index.html \
         and backend to create a server config.",
    );
    let page = fs::read_to_string(workspace.path().join("index.html")).unwrap();
    assert!(page.contains("<html"), "{page}");
    let config = fs::read_to_string(workspace.path().join("server_config.json")).unwrap();
    assert!(config.starts_with('{'), "{config}");
}

#[test]
fn a_teammate_is_asked_to_end_and_agrees() {
    let workspace = Workspace::new();
    let run = workspace.instruct("Spawn alice as a coder. Then request her shutdown.");
    assert!(run.out.contains("alice approved the shutdown"), "{run:?}");
    let approved = ("alice".to_owned(), RequestStatus::Approved);
    assert_eq!(workspace.outcomes(RequestKind::Shutdown), [approved]);
    assert_eq!(
        (
            workspace.alive("alice"),
            workspace.roster_status("alice").as_str()
        ),
        (None, "shutdown")
    );
}

#[test]
fn a_plan_is_rejected() {
    let workspace = Workspace::new();
    let run =
        workspace.instruct("Spawn bob with a risky refactoring task. Review and reject his plan.");
    let plans = workspace.outcomes(RequestKind::Plan);
    let rejected = ("bob".to_owned(), RequestStatus::Rejected);
    assert_eq!(plans.first(), Some(&rejected), "{run:?}");
    let mail = workspace.received("bob");
    let told = |(from, body): &(String, Body)| {
        from == "lead" && matches!(body, Body::PlanApprovalResponse { approve: false, .. })
    };
    assert!(mail.iter().any(told), "{mail:?}");
}

#[test]
fn a_plan_is_approved() {
    let workspace = Workspace::new();
    let run = workspace.instruct("Spawn charlie, have him submit a plan, then approve it.");
    let approved = ("charlie".to_owned(), RequestStatus::Approved);
    assert_eq!(workspace.outcomes(RequestKind::Plan), [approved], "{run:?}");
    let mail = workspace.received("charlie");
    let told = |(from, body): &(String, Body)| {
        from == "lead" && matches!(body, Body::PlanApprovalResponse { approve: true, .. })
    };
    assert!(mail.iter().any(told), "{mail:?}");
}

#[test]
fn tasks_are_created_in_order() {
    let workspace = Workspace::new();
    workspace.instruct(
        "Create 3 tasks: \"Setup project\", \"Write code\", \"Write tests\". Make them depend on \
         each other in order.",
    );
    let tasks = workspace.team().tasks().unwrap();
    let tasks: Vec<_> = tasks.into_iter().map(Result::unwrap).collect();
    let subjects: Vec<&str> = tasks.iter().map(|task| task.subject.as_str()).collect();
    assert_eq!(subjects, ["Setup project", "Write code", "Write tests"]);
    let blockers: Vec<Vec<u64>> = tasks
        .iter()
        .map(|task| task.blocked_by.iter().map(|id| id.0).collect())
        .collect();
    assert_eq!(blockers, [vec![], vec![1], vec![2]]);
    assert!(tasks.iter().all(|task| task.status == TaskStatus::Pending));
}

#[test]
fn a_command_runs_in_the_background_while_a_file_is_written() {
    let workspace = Workspace::new();
    let run = workspace.instruct(
        "Run \"sleep 5 && echo done\" in the background, then create a file test.txt containing \
         hello",
    );
    let text = fs::read_to_string(workspace.path().join("test.txt")).unwrap();
    assert_eq!(text.trim(), "hello");
    assert!(run.out.contains("completed: done"), "{run:?}");
}

#[test]
fn many_files_are_read_and_the_conversation_is_kept_short() {
    let workspace = Workspace::new();
    let folder = workspace.path().join("crates/example/src");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..12 {
        let line = format!("pub fn number_{number}() -> u32 {{ {number} }}\n");
        let text = line.repeat(4_000 / line.len());
        fs::write(folder.join(format!("file_{number:02}.rs")), text).unwrap();
    }
    let mut command = workspace.command(&["run", "--model", "offline"]);
    command.args([
        "--window",
        "12000",
        "Read every Rust file in crates/ one by one",
    ]);
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("I read 12 files"), "{run:?}");
    let events = fs::read_to_string(workspace.team().layout().events()).unwrap();
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let sizes = events.filter_map(|event: serde_json::Value| event["input"].as_u64());
    let largest = sizes.max().unwrap();
    assert!((6_000..8_400).contains(&largest), "{largest}");
    let team = workspace.team();
    let journal = fs::read_to_string(team.layout().transcript(&Recipient::Lead)).unwrap();
    assert!(journal.contains(r#""kind":"cleared""#), "{journal}");
}
