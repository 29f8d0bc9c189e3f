//! The roster and the board changed by several processes at once.

use crate::support::{LIMIT, TestTeam, is_long};
use protocol::{Party, Task, TaskStatus};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use test_support::Worker;

#[test]
fn inv_17_no_roster_update_is_lost_and_no_read_fails() {
    let team = TestTeam::new();
    let count: u64 = if is_long() { 10_000 } else { 1_000 };
    let names = ["alice", "bob", "carol", "dave"];
    let stop = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut reads = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                // As a foreign program would: no lock, one read.
                let bytes = std::fs::read(team.team.layout().roster()).unwrap();
                let roster: protocol::Roster = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(roster.members.len(), 4);
                reads += 1;
            }
            reads
        });
        let mut workers: Vec<Worker> = names
            .iter()
            .map(|name| team.start(&["roster", "--name", name, "--count", &count.to_string()]))
            .collect();
        for worker in &mut workers {
            assert!(worker.wait(2 * LIMIT).success());
        }
        stop.store(true, Ordering::Relaxed);
        reading.join().unwrap()
    });
    assert!(reads > 100);
    let roster = team.team.roster().unwrap();
    assert_eq!(roster.rev, 1 + 4 * count);
    for member in &roster.members {
        assert_eq!(
            member.extra.get("count").and_then(|n| n.as_u64()),
            Some(count)
        );
    }
}

#[test]
fn inv_17_a_persons_edit_between_read_and_rename_survives() {
    let team = TestTeam::new();
    let path = team.team.layout().roster();
    let mut edited = false;
    team.team
        .update_roster(|roster| {
            if !edited {
                edited = true;
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(&path, text.replace("\"default\"", "\"edited\"")).unwrap();
            }
            roster.members[0].spec.role = "changed".to_owned();
            Ok::<_, teamdir::RosterError>(())
        })
        .unwrap();
    let roster = team.team.roster().unwrap();
    assert_eq!(roster.team_name.0, "edited");
    assert_eq!(roster.members[0].spec.role, "changed");
}

#[test]
fn each_of_200_tasks_is_claimed_by_one_of_4_processes() {
    let team = TestTeam::new();
    for _ in 0..200 {
        let board = team.team.lock_board().unwrap();
        board.create(|id| Task::new(id, "work")).unwrap();
    }
    let mut workers: Vec<Worker> = ["alice", "bob", "carol", "dave"]
        .iter()
        .map(|name| team.start(&["claim", "--name", name]))
        .collect();
    let mut claimed = Vec::new();
    for worker in &mut workers {
        assert!(worker.wait(LIMIT).success());
        claimed.extend(worker.lines_so_far().iter().cloned());
    }
    let distinct: BTreeSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (200, 200));
    let tasks = team.team.tasks().unwrap();
    let taken = tasks.iter().filter(|task| {
        let task = task.as_ref().unwrap();
        task.status == TaskStatus::InProgress && task.owner.0.is_some()
    });
    assert_eq!(taken.count(), 200);
}

#[test]
fn four_processes_creating_250_tasks_each_make_1000() {
    let team = TestTeam::new();
    let mut workers: Vec<Worker> = (0..4)
        .map(|_| team.start(&["create", "--count", "250"]))
        .collect();
    let mut created = Vec::new();
    for worker in &mut workers {
        assert!(worker.wait(LIMIT).success());
        created.extend(worker.lines_so_far().iter().cloned());
    }
    let distinct: BTreeSet<&String> = created.iter().collect();
    assert_eq!(distinct.len(), 1_000);
    let tasks = team.team.tasks().unwrap();
    assert_eq!(tasks.len(), 1_000);
    // A number is not given out again, not even that of a deleted task.
    let board = team.team.lock_board().unwrap();
    let last = tasks.last().unwrap().as_ref().unwrap().id;
    board.remove(last, &Party::Lead).unwrap();
    assert!(board.create(|id| Task::new(id, "next")).unwrap().id > last);
}
