//! What another host sends as the work of its members is dangerous, too much, or comes again.

use crate::stranger::Stranger;
use crate::support::{World, agent};
use integration::Integration;
use protocol::{CommitId, HostId, Submission, SubmissionId, SubmissionStatus};
use std::fs;
use teamdir::{RosterError, SubmissionError, now};
use test_support::git;

/// A commit of ten million files in less than a kilobyte.
fn tree_bomb(stranger: &Stranger) -> CommitId {
    let names: Vec<String> = (0..10).map(|digit| digit.to_string()).collect();
    let mut object = stranger.object("blob", b"x");
    let mut mode = "100644";
    for _ in 0..7 {
        let entries: Vec<_> = names
            .iter()
            .map(|name| (mode, name.as_str(), object.as_str()))
            .collect();
        object = stranger.tree(&entries);
        mode = "40000";
    }
    stranger.commit_tree(&object)
}

fn link_to(stranger: &Stranger, target: &[u8]) -> CommitId {
    let target = stranger.object("blob", target);
    let tree = stranger.tree(&[("120000", "link", &target)]);
    stranger.commit_tree(&tree)
}

fn many_links(stranger: &Stranger) -> CommitId {
    let make = "for n in $(seq 500); do ln -s \"../main\" \"link$n\"; done; mkdir d; mv link* d";
    stranger.commit(&format!("{make}; ln -s d/link1/../../x bad"))
}

#[test]
fn what_a_bundle_holds_stops_no_queue() {
    let world = World::new(&["alice"]);
    let mut stranger = Stranger::of(&world);
    type Make = fn(&Stranger) -> CommitId;
    let cases: [(&str, Make); 5] = [
        ("it has more than 2000000 files", tree_bomb),
        ("it leads to a name of 70000000 bytes", |stranger| {
            link_to(stranger, &vec![b'x'; 70_000_000])
        }),
        ("out of the repository", |stranger| {
            link_to(stranger, b"./../b")
        }),
        // `a/b/up` alone is harmless, and through it `x` leads beside the repository.
        ("out of the repository", |stranger| {
            stranger.commit("mkdir -p a/b && ln -s ../.. a/b/up && ln -s a/b/up/../secret x")
        }),
        ("the link bad leads out of the repository", many_links),
    ];
    for (number, (expected, make)) in cases.into_iter().enumerate() {
        let commit = make(&stranger);
        let sent = stranger.bundle(&commit);
        git(
            stranger.folder.path(),
            ["reset", "--quiet", "--hard", stranger.begin.as_str()],
        );
        stranger.deliver(&world, &sent, usize::MAX);
        let file = format!("{number}.txt");
        world.commit("alice", &file, "a\n");
        world.submit("alice");
        world.integrate();
        assert!(world.has_merged(&file), "{expected}");
        assert_eq!(stranger.waiting(&world), [], "{expected}");
        let states = stranger.states(&world);
        let [(id, SubmissionStatus::Failed, reason)] = states.as_slice() else {
            panic!("{expected}: {states:?}");
        };
        assert_eq!(*id, sent.head.submission.unwrap().id.0);
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(reason.len() < 10_000, "{}", reason.len());
        assert!(!Integration::is_queue_due(world.team()), "{expected}");
    }
    assert_eq!(world.count().submitted, 5, "nothing of eve's is there");
}

#[test]
fn a_subject_without_end_is_cut() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let head = git(stranger.folder.path(), ["cat-file", "commit", "HEAD"]);
    let (head, _) = head.split_once("\n\n").unwrap();
    let tree = git(stranger.folder.path(), ["rev-parse", "HEAD^{tree}"]);
    let parent = format!("tree {tree}parent {}\n", stranger.begin);
    let rest = head
        .lines()
        .filter(|line| line.starts_with("author") || line.starts_with("committer"));
    let rest: Vec<&str> = rest.collect();
    let mut commit = format!("{parent}{}\n\n", rest.join("\n")).into_bytes();
    commit.resize(commit.len() + (70 << 20), b'x');
    let commit = CommitId::new(&stranger.object("commit", &commit)).unwrap();
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    assert!(world.submission(1).subject.len() <= 4096);
    assert_eq!(stranger.waiting(&world), []);
}

#[test]
fn a_bundle_that_is_sent_again_does_not_stay() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let commit = stranger.commit("echo e > e.txt");
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    let merged = (1, SubmissionStatus::Merged, String::new());
    assert_eq!(stranger.states(&world), std::slice::from_ref(&merged));
    // Its bridge was killed before it heard of that, and hears of it before it has sent all of it again.
    for most in [10, usize::MAX] {
        stranger.deliver(&world, &sent, most);
        assert!(Integration::is_queue_due(world.team()), "{most}");
        world.integrate();
        assert_eq!(
            stranger.states(&world),
            std::slice::from_ref(&merged),
            "{most}"
        );
        assert_eq!(stranger.waiting(&world), [], "{most}");
    }
    assert_eq!(world.count().submitted, 1);
    // One that is not known is waited for as long as its author may send the rest.
    let next = stranger.commit("echo f > f.txt");
    let next = stranger.bundle(&next);
    stranger.deliver(&world, &next, 10);
    assert!(!Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(stranger.waiting(&world).len(), 1);
    let left = world.team().update_roster(|roster| {
        roster.members.retain(|member| member.host.is_none());
        Ok::<_, RosterError>(())
    });
    left.unwrap();
    assert!(Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(stranger.waiting(&world), []);
    assert!(!Integration::is_queue_due(world.team()));
}

#[test]
fn a_flood_of_submissions_lets_others_through_and_ends() {
    let world = World::new(&["alice"]);
    let mut stranger = Stranger::of(&world);
    for number in 0..6 {
        let commit = stranger.commit(&format!("echo {number} > e{number}.txt"));
        let sent = stranger.bundle(&commit);
        stranger.deliver(&world, &sent, usize::MAX);
    }
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    let ended = world.integrate();
    assert_eq!(ended.len(), 5, "{ended:?}");
    assert!(world.has_merged("a.txt"));
    assert_eq!(stranger.waiting(&world).len(), 2);
    assert!(Integration::is_queue_due(world.team()));
    assert_eq!(world.integrate().len(), 2);
    assert_eq!(stranger.waiting(&world), []);
    // While nothing is merged, the queue has only so many of one host.
    let commit = stranger.commit("echo more > more.txt");
    for number in 0..32 {
        let made = world.team().create_submission(|id| {
            Ok::<_, SubmissionError>(Submission {
                host: Some(stranger.host.clone()),
                origin: Some(SubmissionId(100 + number)),
                ..Submission::new(id, agent("eve"), commit.clone(), now())
            })
        });
        made.unwrap();
    }
    stranger.said(&world);
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    assert!(world.trees().exchange().unwrap());
    let states = stranger.states(&world);
    let [(7, SubmissionStatus::Failed, reason)] = states.as_slice() else {
        panic!("{states:?}");
    };
    assert!(reason.contains("submit it again later"), "{reason}");
    assert_eq!(stranger.waiting(&world), []);
}

#[test]
fn work_for_a_host_that_was_forgotten_waits_until_it_is_met_again() {
    let world = World::new(&["alice"]);
    let stranger = Stranger::of(&world);
    let home = |lead_host: Option<HostId>| {
        let changed = world.team().update_roster(|roster| {
            roster.lead_host.clone_from(&lead_host);
            Ok::<_, RosterError>(())
        });
        changed.unwrap();
    };
    home(Some(stranger.host.clone()));
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    assert!(world.trees().exchange().unwrap());
    let sent = || world.team().outgoing(&stranger.host).unwrap();
    assert_eq!(sent().len(), 1);
    let guard = world.team().lock_bridge().unwrap();
    world.team().forget_peer(&guard, &stranger.host).unwrap();
    home(None);
    assert_eq!(sent(), []);
    assert!(!Integration::is_queue_due(world.team()));
    assert_eq!(world.integrate(), []);
    home(Some(stranger.host.clone()));
    assert!(Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(sent().len(), 1);
    assert!(!Integration::is_queue_due(world.team()));
}

#[test]
fn a_restored_submission_still_knows_whom_to_tell_of_its_end() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let commit = stranger.commit("echo e > e.txt");
    stranger.bundle(&commit);
    // Its number there is another one than here.
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    assert!(world.trees().exchange().unwrap());
    stranger.said(&world);
    let path = world.team().layout().submission(SubmissionId(1));
    fs::write(path, "{").unwrap();
    let restored = world.trees().restore_submission(SubmissionId(1)).unwrap();
    assert!(restored.is_some());
    let merged = SubmissionStatus::Merged;
    assert_eq!(world.integrate(), [(1, merged)]);
    assert_eq!(stranger.states(&world), [(2, merged, String::new())]);
    // It is not taken once more.
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    assert_eq!(world.count().submitted, 1);
}
