//! Kills of whoever submits, integrates and checks, at every step and at random.

use crate::support::{World, agent};
use integration::QueueOutcome;
use protocol::SubmissionStatus::{Conflict, Failed, Merged};
use protocol::{Submission, SubmissionStatus};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use test_support::faults::{self, Fault, Outcome};
use test_support::{Gate, Rng, git, report_skip, try_wait_for, wait_until};

/// How many of the system calls are struck in a short run.
const STRIKES: usize = 24;

fn is_long() -> bool {
    std::env::var("TEAM_TEST").is_ok_and(|value| value == "long")
}

fn worker(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command
        .args(["work", "--dir"])
        .arg(folder)
        .arg("integrate")
        .args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(folder: &Path, more: &[&str]) -> Child {
    let mut command = worker(folder, more);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Kills a worker at each of its system calls, and calls `check` on what it left. Returns at how many of
/// how many, for people.
fn strike_each(prepare: impl Fn() -> World, more: &[&str], check: impl Fn(&World, &str)) -> String {
    if let Err(why) = faults::available() {
        report_skip("crash points of the queue", why);
        return "killed nowhere".to_owned();
    }
    let world = prepare();
    let trace = faults::record(&mut worker(world.folder(), more)).unwrap();
    let errors = String::from_utf8_lossy(&trace.stderr);
    assert!(trace.status.success(), "{errors}");
    check(&world, "undisturbed");
    let calls = trace.calls.len();
    assert!(calls > STRIKES, "{calls} calls");
    let step = if is_long() {
        1
    } else {
        calls.div_ceil(STRIKES)
    };
    let struck = (1..=calls).step_by(step);
    let summary = format!(
        "killed at {} of {calls} system calls",
        struck.clone().count()
    );
    for index in struck {
        let world = prepare();
        let name = trace.calls.get(index - 1).map_or("?", |call| call.name);
        let what = format!("killed at call {index} of {calls}, {name}");
        let outcome = faults::inject(&mut worker(world.folder(), more), index, Fault::Kill);
        let outcome = outcome.unwrap();
        assert!(
            matches!(outcome, Outcome::Killed | Outcome::NotReached),
            "{what}: {outcome:?}"
        );
        check(&world, &what);
    }
    summary
}

/// The ids of the mail of a member; a repeated notice has the same.
fn mail_ids(world: &World, name: &str) -> BTreeSet<String> {
    let mail = world.mail(name);
    let ids = mail
        .lines()
        .filter_map(|line| line.split("\"id\":\"").nth(1)?.split('"').next());
    ids.map(str::to_owned).collect()
}

#[test]
fn an_integrator_killed_at_any_call_leaves_a_queue_that_balances() {
    let prepare = || {
        let world = World::new(&["alice", "bob"]);
        world.commit("alice", "shared.txt", "A\n");
        world.commit("bob", "shared.txt", "B\n");
        world.submit("alice");
        world.submit("bob");
        world
    };
    let struck = strike_each(prepare, &[], |world, what| {
        world.integrate();
        let status = |id| world.submission(id).status;
        assert_eq!((status(1), status(2)), (Merged, Conflict), "{what}");
        assert_eq!(world.moves(), 1, "{what}");
        assert_eq!(world.merged("shared.txt"), "A\n", "{what}");
        let told: Vec<String> = mail_ids(world, "bob").into_iter().collect();
        assert_eq!(told, ["submission/2/conflict"], "{what}");
        assert!(world.mail("alice").is_empty(), "{what}");
    });
    eprintln!("{struck}");
}

#[test]
fn an_integrator_killed_around_a_check_moves_the_branch_once() {
    let prepare = || {
        let world = World::new(&["alice"]);
        world.write("team.toml", "[tree]\ncheck = 'test -f a.txt'\n");
        world.commit("alice", "a.txt", "A\n");
        world.submit("alice");
        world
    };
    let struck = strike_each(prepare, &[], |world, what| {
        world.integrate();
        let submission = world.submission(1);
        assert_eq!(submission.status, Merged, "{what}");
        assert!(submission.check.is_some_and(|check| check.passed), "{what}");
        assert_eq!(world.moves(), 1, "{what}");
        let trees = std::fs::read_dir(world.team().layout().trees_dir()).unwrap();
        assert_eq!(trees.count(), 1, "{what}: no checkout is left");
    });
    eprintln!("{struck}");
}

#[test]
fn an_author_killed_at_any_call_has_submitted_once_or_not() {
    let prepare = || {
        let world = World::new(&["alice"]);
        world.commit("alice", "a.txt", "A\n");
        world
    };
    let struck = strike_each(prepare, &["--submit", "alice"], |world, what| {
        let before = world.count().submitted;
        let again = world.submit("alice");
        assert_eq!(again.was_there, before == 1, "{what}");
        world.integrate();
        let count = world.count();
        assert_eq!((count.submitted, count.merged), (1, 1), "{what}");
        assert_eq!(world.moves(), 1, "{what}");
    });
    eprintln!("{struck}");
}

/// The lock of an integrator is not passed on to programs, but a child between fork and exec has a copy of
/// it. Whoever comes meanwhile waits for that, and does not rely on a process that is gone.
#[test]
fn the_copy_of_a_lock_in_a_child_that_outlives_its_integrator_is_waited_for() {
    let world = World::new(&["alice"]);
    world.commit("alice", "a.txt", "A\n");
    world.submit("alice");
    let place = tempfile::tempdir().unwrap();
    let mut gate = Gate::new(place.path());
    let path = gate.path().to_str().unwrap();
    let mut integrator = started(world.folder(), &["--orphan", path]);
    gate.wait_for_visitor(Duration::from_secs(60));
    assert!(world.team().is_integrating());
    assert!(matches!(
        world.trees().run_queue().unwrap(),
        QueueOutcome::Busy
    ));
    integrator.kill().unwrap();
    integrator.wait().unwrap();
    assert!(!world.team().is_integrating());
    let trees = world.trees();
    let next = std::thread::spawn(move || trees.run_queue());
    let early = try_wait_for(Duration::from_millis(300), || {
        next.is_finished().then_some(())
    });
    assert!(early.is_none(), "it does not wait");
    drop(gate);
    let ran = next.join().unwrap().unwrap();
    assert!(
        matches!(&ran, QueueOutcome::Done(ended) if ended.len() == 1),
        "{ran:?}"
    );
    assert_eq!(world.submission(1).status, Merged);
}

#[test]
fn a_check_that_is_killed_has_failed_and_says_so() {
    let world = World::new(&["alice"]);
    world.write("team.toml", "[tree]\ncheck = 'kill -9 $$'\n");
    world.commit("alice", "a.txt", "A\n");
    world.submit("alice");
    assert_eq!(world.integrate(), [(1, Failed)]);
    assert!(world.mail("alice").contains("killed by signal 9"));
}

#[test]
fn a_check_ends_with_its_integrator_and_is_run_again() {
    let world = World::new(&["alice"]);
    let began = world
        .team()
        .layout()
        .check_tree(protocol::SubmissionId(1))
        .join("began");
    world.write(
        "team.toml",
        "[tree]\ncheck = 'echo $$ > began; sleep 87654'\n",
    );
    world.commit("alice", "a.txt", "A\n");
    world.submit("alice");
    let mut integrator = started(world.folder(), &[]);
    wait_until("the check runs", Duration::from_secs(60), || began.exists());
    assert_eq!(world.submission(1).status, SubmissionStatus::Checking);
    integrator.kill().unwrap();
    integrator.wait().unwrap();
    wait_until("the check is gone", Duration::from_secs(20), || {
        !is_running("sleep 87654")
    });
    world.write("team.toml", "[tree]\ncheck = 'test -f a.txt'\n");
    assert_eq!(world.integrate(), [(1, Merged)]);
    assert_eq!(world.moves(), 1);
}

/// Whether a process has this command line.
fn is_running(command: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim() == command)
}

/// Each member commits, and a worker submits and another one integrates, of which some are killed. Returns how
/// many were.
fn round(world: &World, names: &[&str], number: usize, rng: &mut Rng) -> usize {
    let mut workers = Vec::new();
    let mut kills = 0;
    for name in names {
        // Who was told of a conflict resolves it first.
        if world.mail(name).contains("submission/") {
            let merge = "merge --quiet -X ours team/main -m Resolve";
            git(&world.tree(name), merge.split(' '));
        }
        match rng.below(2) {
            0 => world.commit(name, &format!("{name}-{number}.txt"), "own\n"),
            _ => world.commit(name, "shared.txt", &format!("{name} {number}\n")),
        }
        workers.push(started(world.folder(), &["--submit", name]));
        workers.push(started(world.folder(), &[]));
        if rng.below(3) == 0 {
            let victim = rng.below(workers.len() as u64) as usize;
            let limit = Duration::from_millis(rng.below(150));
            let ended = try_wait_for(limit, || workers[victim].try_wait().unwrap());
            kills += usize::from(ended.is_none());
            let _ = workers[victim].kill();
        }
    }
    for mut worker in workers {
        worker.wait().unwrap();
    }
    for name in names {
        // A killed author submits again, or learns that it has.
        let work = integration::Work::default();
        let _ = world.trees().submit(&agent(name), &work);
    }
    world.integrate();
    kills
}

#[test]
fn every_submitted_commit_is_merged_or_returned_whoever_is_killed() {
    let (members, commits) = if is_long() { (12, 20) } else { (3, 4) };
    let names: Vec<String> = (0..members).map(|n| format!("m{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = World::new(&names);
    let mut rng = Rng::new(16);
    let kills: usize = (0..commits)
        .map(|number| round(&world, &names, number, &mut rng))
        .sum();
    let all = world.team().submissions().unwrap();
    let all: Vec<Submission> = all.into_iter().map(Result::unwrap).collect();
    assert!(all.len() >= members * commits, "{}", all.len());
    let count = world.count();
    let ended = count.merged + count.returned;
    eprintln!("{members} members, {commits} rounds, {kills} kills: {count:?}");
    assert_eq!((count.open, count.submitted), (0, ended));
    for submission in &all {
        let (id, commit) = (submission.id, submission.commit.as_str());
        if submission.status == Merged {
            let branch = "refs/heads/team/main";
            world.git(["merge-base", "--is-ancestor", commit, branch]);
        } else {
            let told = format!("submission/{id}/{}", submission.status);
            let mail = world.mail(submission.member.as_str());
            assert!(mail.contains(&told), "{told}");
        }
    }
    let merges = all.iter().filter_map(|found| found.merge.as_ref());
    let merges: BTreeSet<&str> = merges.map(|commit| commit.as_str()).collect();
    assert!(world.moves() <= merges.len(), "{} moves", world.moves());
    world.git(["fsck", "--strict", "--no-dangling"]);
}
