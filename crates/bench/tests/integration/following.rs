//! What other hosts are offered of `team/main` by its home.

use crate::support::World;
use protocol::SubmissionStatus::Merged;
use protocol::{BundleName, CommitId, HaveCommits, HostId, MAX_NAMED_COMMITS, TreeFrame};

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

/// Another host has said that it has these commits.
fn says(world: &World, name: &str, commits: Vec<CommitId>) {
    let team = world.team();
    let note = TreeFrame::Have(HaveCommits { commits });
    let guard = team.lock_bridge().unwrap();
    team.put_heard_note(&guard, &host(name), "have", &note)
        .unwrap();
}

fn commit_of(world: &World, name: &str) -> CommitId {
    CommitId::new(world.git(["rev-parse", name]).trim()).unwrap()
}

fn offered(world: &World, name: &str) -> Option<CommitId> {
    let head = world.team().outgoing_head(&host(name), BundleName::Main);
    head.map(|head| head.commit)
}

#[test]
fn a_host_that_names_any_number_of_commits_does_not_stop_the_queue() {
    let world = World::new(&["alice"]);
    // As arguments of one command these would be too many.
    let begin = commit_of(&world, "HEAD");
    says(&world, "gpu1", vec![begin; 50_000]);
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    assert_eq!(world.integrate(), [(1, Merged)]);
    let tip = commit_of(&world, "refs/heads/team/main");
    assert_eq!(offered(&world, "gpu1"), Some(tip));
    let told = world.team().told_commits(&host("gpu1")).unwrap();
    assert_eq!(told.commits.len(), MAX_NAMED_COMMITS);
}

#[test]
fn a_file_from_before_that_names_many_commits_does_not_stop_the_queue() {
    let world = World::new(&["alice"]);
    let begin = commit_of(&world, "HEAD");
    says(&world, "gpu1", vec![begin.clone()]);
    world.integrate();
    let guard = world.team().try_integrate().unwrap().unwrap();
    let told = HaveCommits {
        commits: vec![begin; 50_000],
    };
    let kept = world.team().put_told_commits(&guard, &host("gpu1"), &told);
    kept.unwrap();
    drop(guard);
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    assert_eq!(world.integrate(), [(1, Merged)]);
    let tip = commit_of(&world, "refs/heads/team/main");
    assert_eq!(offered(&world, "gpu1"), Some(tip));
}

#[test]
fn trouble_with_one_host_stops_neither_the_queue_nor_what_others_are_offered() {
    let world = World::new(&["alice"]);
    let begin = commit_of(&world, "HEAD");
    for name in ["gpu1", "gpu2"] {
        says(&world, name, vec![begin.clone()]);
    }
    world.integrate();
    let broken = world.team().layout().bundles_out(&host("gpu1"));
    std::fs::write(&broken, "no folder").unwrap();
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    assert_eq!(world.integrate(), [(1, Merged)]);
    let tip = commit_of(&world, "refs/heads/team/main");
    assert_eq!(offered(&world, "gpu2"), Some(tip.clone()));
    let problem = world.team().main_problem(&host("gpu1")).unwrap();
    assert!(problem.contains("cannot be offered to gpu1"), "{problem}");
    // It is offered when that is possible again, and nothing is shown any more.
    std::fs::remove_file(&broken).unwrap();
    world.integrate();
    assert_eq!(offered(&world, "gpu1"), Some(tip));
    assert_eq!(world.team().main_problem(&host("gpu1")), None);
}
