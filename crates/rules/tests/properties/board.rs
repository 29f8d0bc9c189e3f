//! The board keeps its invariants under any sequence of commands.

use proptest::prelude::*;
use protocol::Actor;
use protocol::{Incarnation, Party, Priority, Task, TaskId, TaskStatus, Timestamp};
use rules::{Board, ClaimLimit, Claimant, Edit, NewTask};
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
enum Command {
    Create(Vec<u64>),
    Block(u64, Vec<u64>),
    Unblock(u64, Vec<u64>),
    Claim(u64),
    Release(u64),
    Complete(u64),
    SetStatus(u64, TaskStatus),
    Edit(u64),
    Delete(u64),
    Death(u64),
}

/// The number after the highest one in use.
fn next_id(board: &Board) -> TaskId {
    TaskId(board.tasks().map(|task| task.id.0).max().unwrap_or(0) + 1)
}

fn command() -> impl Strategy<Value = Command> {
    let id = || 1..10_u64;
    let ids = || prop::collection::vec(1..10_u64, 0..3);
    let status = prop::sample::select(vec![
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
    ]);
    prop_oneof![
        4 => ids().prop_map(Command::Create),
        3 => (id(), ids()).prop_map(|(id, ids)| Command::Block(id, ids)),
        1 => (id(), ids()).prop_map(|(id, ids)| Command::Unblock(id, ids)),
        6 => id().prop_map(Command::Claim),
        1 => id().prop_map(Command::Release),
        4 => id().prop_map(Command::Complete),
        2 => (id(), status).prop_map(|(id, status)| Command::SetStatus(id, status)),
        1 => id().prop_map(Command::Edit),
        1 => id().prop_map(Command::Delete),
        1 => (1..4_u64).prop_map(Command::Death),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    let party = prop::sample::select(vec!["alice", "Alice", "bob", "lead"]);
    (party, 1..4_u64).prop_map(|(party, incarnation)| Actor {
        party: party.parse().expect("a valid party"),
        incarnation: Some(Incarnation(incarnation)),
    })
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().map(|number| TaskId(*number)).collect()
}

/// Applies a command and returns the tasks that are to be stored, or `None` if it was refused.
fn apply(board: &mut Board, command: &Command, by: &Actor) -> Option<Vec<Task>> {
    let now = Timestamp::from_secs(1);
    let party = &by.party;
    let claimant = Claimant {
        actor: by.clone(),
        role: String::new(),
        limit: ClaimLimit::One,
        busy_with: None,
        is_elsewhere: false,
    };
    let one = |task: Task| vec![task];
    match command {
        Command::Create(blocked_by) => {
            let new = NewTask {
                subject: "work".to_owned(),
                blocked_by: ids(blocked_by),
                ..NewTask::default()
            };
            board.create(next_id(board), new, party, now).ok().map(one)
        }
        Command::Block(id, more) => {
            let changed = board.add_blocked_by(TaskId(*id), &ids(more), party, now);
            changed.ok().map(one)
        }
        Command::Unblock(id, fewer) => {
            let changed = board.remove_blocked_by(TaskId(*id), &ids(fewer), party, now);
            changed.ok().map(one)
        }
        Command::Claim(id) => board.claim(TaskId(*id), &claimant, now).ok().map(one),
        Command::Release(id) => board.release(TaskId(*id), by, "", now).ok().map(one),
        Command::Complete(id) => board.complete(TaskId(*id), by, None, now).ok().map(one),
        Command::SetStatus(id, status) => {
            let changed = board.set_status(TaskId(*id), *status, &claimant, now);
            changed.ok().map(one)
        }
        Command::Edit(id) => {
            let urgent = Edit {
                priority: Priority::new(9),
                ..Edit::default()
            };
            board.edit(TaskId(*id), by, &urgent, now).ok().map(one)
        }
        Command::Delete(id) => {
            let deleted = board.delete(TaskId(*id), party, now);
            deleted.ok().map(|deleted| deleted.changed)
        }
        Command::Death(incarnation) => {
            Some(board.release_all(party, Incarnation(*incarnation), "died", now))
        }
    }
}

fn check_board(board: &Board) -> Result<(), TestCaseError> {
    prop_assert_eq!(board.cycle(), None);
    let mut busy = BTreeSet::new();
    for task in board.tasks() {
        match task.status {
            TaskStatus::Pending => prop_assert!(task.owner.0.is_none()),
            TaskStatus::InProgress => {
                let owner = task
                    .owner
                    .0
                    .as_ref()
                    .map(Party::as_str)
                    .map(str::to_lowercase);
                prop_assert!(owner.is_some(), "nobody works on {task:?}");
                prop_assert!(busy.insert(owner), "two tasks of one owner: {task:?}");
                prop_assert!(board.open_blockers(task).is_empty());
            }
            TaskStatus::Completed => prop_assert!(board.open_blockers(task).is_empty()),
        }
        for id in &task.blocked_by {
            prop_assert!(board.get(*id).is_ok(), "{task:?} waits for nothing");
        }
    }
    for name in ["alice", "bob", "lead"] {
        let party: Party = name.parse().expect("a valid party");
        let claimant = Claimant {
            actor: Actor {
                party,
                incarnation: None,
            },
            role: String::new(),
            limit: ClaimLimit::Many,
            busy_with: None,
            is_elsewhere: false,
        };
        if let Some(next) = board.next_for(&claimant.actor.party, "") {
            let claimed = board
                .clone()
                .claim(next.id, &claimant, Timestamp::from_secs(2));
            prop_assert!(claimed.is_ok(), "{next:?} was offered and refused");
        }
    }
    Ok(())
}

/// Checks that the returned tasks are exactly what differs, and that completed stays completed.
fn check_change(before: &Board, after: &Board, stored: &[Task]) -> Result<(), TestCaseError> {
    let returned: BTreeSet<TaskId> = stored.iter().map(|task| task.id).collect();
    for task in after.tasks() {
        let old = before.get(task.id).ok();
        prop_assert_eq!(old != Some(task), returned.contains(&task.id));
        if let Some(old) = old {
            let reopened =
                old.status == TaskStatus::Completed && task.status != TaskStatus::Completed;
            prop_assert!(!reopened, "{task:?}");
            prop_assert!(task.history.starts_with(&old.history));
        }
    }
    for task in stored {
        prop_assert_eq!(after.get(task.id).ok(), Some(task));
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_board_keeps_its_invariants(
        commands in prop::collection::vec((command(), actor()), 0..80),
    ) {
        let mut board = Board::default();
        for (command, by) in commands {
            let before = board.clone();
            match apply(&mut board, &command, &by) {
                Some(stored) => check_change(&before, &board, &stored)?,
                None => prop_assert_eq!(&before, &board),
            }
            check_board(&board)?;
        }
    }
}
