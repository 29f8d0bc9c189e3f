//! What becomes of submitted work.

use crate::support::{World, agent};
use integration::{IntegrationError, QueueOutcome, Work};
use protocol::SubmissionStatus::{Conflict, Failed, Merged, Submitted};
use protocol::{Priority, TaskId};
use rules::NewTask;
use team::{Actor, Worker};
use test_support::git;

#[test]
fn committed_work_is_merged_and_names_its_author_task_and_team() {
    let world = World::new(&["alice"]);
    world.commit("alice", "a.txt", "hello\n");
    let work = Work {
        task: Some(TaskId(3)),
        ..Work::default()
    };
    world.trees().submit(&agent("alice"), &work).unwrap();
    assert_eq!(world.integrate(), [(1, Merged)]);
    assert_eq!(world.merged("a.txt"), "hello\n");
    let format =
        "--format=%an|%cn|%(trailers:key=Team-Task,valueonly)|%(trailers:key=Team,valueonly)";
    let shown = world.git(["log", "-1", format, "refs/heads/team/main"]);
    let shown = shown.replace('\n', "");
    assert_eq!(shown, "alice|team-lead|3|default");
    // Neither the person's branch nor the person's files have changed.
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(!world.folder().join("a.txt").exists());
    let again = world.trees().submit(&agent("alice"), &Work::default());
    assert!(
        matches!(again, Err(IntegrationError::NothingNew { .. })),
        "{again:?}"
    );
}

#[test]
fn a_conflict_comes_back_with_files_lines_and_the_other_author_and_can_be_resolved() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "shared.txt", "ONE\ntwo\nthree\n");
    world.commit("bob", "shared.txt", "uno\ntwo\nthree\n");
    world.submit("alice");
    world.submit("bob");
    assert_eq!(world.integrate(), [(1, Merged), (2, Conflict)]);
    assert_eq!(world.merged("shared.txt"), "ONE\ntwo\nthree\n");
    let mail = world.mail("bob");
    for part in [
        "shared.txt",
        "changed there by alice",
        "uno",
        "git merge team/main",
    ] {
        assert!(mail.contains(part), "{part} in {mail}");
    }
    assert_eq!(world.mail("alice"), "");
    // The tree knows where the branch is, and what the mail advises works there.
    let tree = world.tree("bob");
    git(
        &tree,
        [
            "merge",
            "--quiet",
            "-X",
            "ours",
            "team/main",
            "-m",
            "Resolve",
        ],
    );
    world.submit("bob");
    assert_eq!(world.integrate(), [(3, Merged)]);
    assert_eq!(world.merged("shared.txt"), "uno\ntwo\nthree\n");
    let count = world.count();
    assert_eq!((count.submitted, count.merged, count.returned), (3, 2, 1));
}

#[test]
fn only_what_passes_the_check_is_merged_and_the_output_comes_back() {
    let world = World::new(&["alice", "bob", "carol"]);
    let check = "[tree]\ncheck = 'cat *.txt; ! grep -q broken *.txt'\n";
    world.write("team.toml", check);
    world.commit("alice", "a.txt", "fine\n");
    world.commit("bob", "b.txt", "broken\n");
    world.commit("carol", "c.txt", "fine too\n");
    for name in ["alice", "bob", "carol"] {
        world.submit(name);
    }
    // The three are checked together, and carol's again without bob's.
    let ended = world.integrate();
    assert_eq!(ended, [(1, Merged), (2, Failed), (3, Merged)]);
    assert!(world.has_merged("a.txt") && world.has_merged("c.txt"));
    assert!(!world.has_merged("b.txt"));
    assert!(
        world.mail("bob").contains("broken"),
        "{}",
        world.mail("bob")
    );
    let check = world.submission(2).check.unwrap();
    assert_eq!(check.end, "ended with exit code 1");
    assert!(world.submission(3).check.unwrap().passed);
    assert_eq!(world.moves(), 2);
    let left = std::fs::read_dir(world.team().layout().trees_dir()).unwrap();
    let left = left
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "no tree of a check is left");
}

#[test]
fn the_events_tell_each_step_of_each_submission() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "shared.txt", "A\n");
    world.commit("bob", "shared.txt", "B\n");
    world.submit("alice");
    world.submit("bob");
    world.integrate();
    let mut told = Vec::new();
    let read = world.team().read_events(|line| {
        let event: serde_json::Value = serde_json::from_slice(line).unwrap();
        if event["event"] == "submission" {
            told.push(format!("{} {}", event["submission"], event["status"]));
        }
    });
    read.unwrap();
    let steps = [
        "1 \"submitted\"",
        "2 \"submitted\"",
        "1 \"checking\"",
        "1 \"merged\"",
        "2 \"conflict\"",
    ];
    assert_eq!(told, steps);
}

#[test]
fn a_check_that_does_not_end_is_ended() {
    let world = World::new(&["alice"]);
    world.write(
        "team.toml",
        "[tree]\ncheck = 'sleep 600'\ncheck_seconds = 1\n",
    );
    world.commit("alice", "a.txt", "slow\n");
    world.submit("alice");
    assert_eq!(world.integrate(), [(1, Failed)]);
    assert!(world.mail("alice").contains("did not end within 1 s"));
}

#[test]
fn merged_work_completes_its_task_and_returned_work_does_not() {
    let world = World::new(&["alice", "bob"]);
    let team = world.team();
    for (name, text) in [("alice", "A\n"), ("bob", "B\n")] {
        let me = Actor::member(agent(name), protocol::Incarnation(1));
        let new = NewTask {
            subject: name.to_owned(),
            description: String::new(),
            priority: Priority::default(),
            role: None,
            blocked_by: Vec::new(),
        };
        let task = team::create(team, &Actor::user(), &new).unwrap();
        let role = String::new();
        let worker = Worker { me, role };
        team::claim(team, &worker, task.id, rules::ClaimLimit::One).unwrap();
        world.commit(name, "shared.txt", text);
        let work = Work {
            incarnation: None,
            task: Some(task.id),
            completes: Some(format!("{name} is done")),
        };
        world.trees().submit(&agent(name), &work).unwrap();
    }
    assert_eq!(world.integrate(), [(1, Merged), (2, Conflict)]);
    let task = |n| team.task(TaskId(n)).unwrap();
    assert_eq!(task(1).status, protocol::TaskStatus::Completed);
    assert_eq!(task(1).result.as_deref(), Some("alice is done"));
    assert_eq!(task(2).status, protocol::TaskStatus::InProgress);
    assert_eq!(task(2).owner.0, Some(protocol::Party::Member(agent("bob"))));
}

#[test]
fn nothing_moves_while_the_team_branch_is_checked_out() {
    let world = World::new(&["alice"]);
    world.commit("alice", "a.txt", "hello\n");
    world.submit("alice");
    world.git(["checkout", "--quiet", "team/main"]);
    let ran = world.trees().run_queue().unwrap();
    assert!(matches!(ran, QueueOutcome::Blocked(_)), "{ran:?}");
    assert_eq!(world.submission(1).status, Submitted);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.git(["checkout", "--quiet", "main"]);
    assert_eq!(world.integrate(), [(1, Merged)]);
}

#[test]
fn the_same_commit_is_in_the_queue_once() {
    let world = World::new(&["alice"]);
    world.commit("alice", "a.txt", "hello\n");
    assert!(!world.submit("alice").was_there);
    assert!(world.submit("alice").was_there);
    assert_eq!(world.count().submitted, 1);
}

#[test]
fn a_new_team_does_not_lose_what_an_earlier_one_submitted() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "shared.txt", "A\n");
    world.commit("bob", "shared.txt", "B\n");
    world.submit("alice");
    let before = world.git(["rev-parse", "refs/team/submissions/1"]);
    std::fs::remove_dir_all(world.team().layout().submissions_dir()).unwrap();
    world.submit("bob");
    let kept = world.git([
        "for-each-ref",
        "--format=%(objectname)",
        "refs/team/rescue/submissions",
    ]);
    assert_eq!(kept, before);
}

#[test]
fn both_members_hear_of_a_conflict_before_they_submit_and_once() {
    let world = World::new(&["alice", "bob", "carol"]);
    world.commit("alice", "shared.txt", "A\n");
    world.commit("bob", "shared.txt", "B\n");
    world.commit("carol", "c.txt", "C\n");
    let trees = world.trees();
    for name in ["alice", "bob", "carol", "alice", "bob"] {
        trees.warn_of_conflicts(&agent(name)).unwrap();
    }
    for (name, other) in [("alice", "bob"), ("bob", "alice")] {
        let mail = world.mail(name);
        assert!(
            mail.contains("shared.txt") && mail.contains(other),
            "{mail}"
        );
        // A repeated notice has the id of the first, by which its reader knows it.
        let ids: std::collections::BTreeSet<&str> = mail
            .lines()
            .filter_map(|line| line.split("\"id\":\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(ids.len(), 1, "{mail}");
    }
    assert_eq!(world.mail("carol"), "");
}

#[test]
fn a_submission_that_git_cannot_read_comes_back_and_stops_nobody() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "a.txt", "a\n");
    world.commit("bob", "b.txt", "b\n");
    world.submit("alice");
    world.submit("bob");
    let path = world.team().layout().submission(protocol::SubmissionId(1));
    let text = std::fs::read_to_string(&path).unwrap();
    let commit = world.submission(1).commit;
    std::fs::write(&path, text.replace(commit.as_str(), &"0".repeat(40))).unwrap();
    assert_eq!(world.integrate(), [(1, Failed), (2, Merged)]);
    assert!(world.mail("alice").contains("cannot be used"));
}
