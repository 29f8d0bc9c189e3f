//! The order of the board against its definition, on boards that nobody sane has written.

use proptest::prelude::*;
use protocol::{Party, Priority, Task, TaskId, TaskStatus};
use rules::Board;
use std::cmp::Reverse;
use std::collections::BTreeSet;

fn task() -> impl Strategy<Value = (Vec<u64>, u8, bool)> {
    let waits_for = prop::collection::vec(0..14_u64, 0..4);
    (waits_for, 4..6_u8, prop::bool::weighted(0.2))
}

fn board(tasks: Vec<(Vec<u64>, u8, bool)>, is_sound: bool) -> Board {
    let numbered = (1..).zip(tasks);
    let task = |(id, (waits_for, priority, is_done)): (u64, (Vec<u64>, u8, bool))| {
        let mut task = Task::new(TaskId(id), "x");
        // On a sound board tasks wait only for those before them.
        let before = |other: &u64| !is_sound || *other < id && *other > 0;
        task.blocked_by = waits_for.into_iter().filter(before).map(TaskId).collect();
        task.priority = Priority::new(priority).expect("a priority");
        if is_done {
            task.status = TaskStatus::Completed;
        }
        task
    };
    numbered.map(task).collect()
}

/// The longest chain of open tasks behind a task of a board without cycles, by its definition.
fn behind(board: &Board, id: TaskId) -> usize {
    let waits =
        |task: &&Task| task.status != TaskStatus::Completed && task.blocked_by.contains(&id);
    let waiting = board.tasks().filter(waits);
    let chains = waiting.map(|task| 1 + behind(board, task.id));
    chains.max().unwrap_or(0)
}

proptest! {
    #[test]
    fn tasks_are_taken_by_priority_then_by_the_chain_behind_them_then_by_number(
        tasks in prop::collection::vec(task(), 0..14),
    ) {
        let board = board(tasks, true);
        let ready: Vec<TaskId> = board.ready().iter().map(|task| task.id).collect();
        let mut expected = ready.clone();
        expected.sort_by_key(|id| {
            let priority = board.get(*id).map(|task| task.priority).ok();
            (Reverse(priority), Reverse(behind(&board, *id)), *id)
        });
        prop_assert_eq!(&ready, &expected);
        let next = board.next_for(&Party::Lead, "").map(|task| task.id);
        prop_assert_eq!(next, ready.first().copied());
    }

    #[test]
    fn any_board_has_an_order_of_all_that_can_be_claimed(
        tasks in prop::collection::vec(task(), 0..14),
    ) {
        let board = board(tasks, false);
        let ready = board.ready();
        let ids: BTreeSet<TaskId> = ready.iter().map(|task| task.id).collect();
        prop_assert_eq!(ids.len(), ready.len());
        for task in board.tasks() {
            let can = task.status == TaskStatus::Pending && board.open_blockers(task).is_empty();
            prop_assert_eq!(can, ids.contains(&task.id), "{:?}", task);
        }
        prop_assert!(ready.is_sorted_by_key(|task| Reverse(task.priority)));
        let next = board.next_for(&Party::Lead, "").map(|task| task.id);
        prop_assert_eq!(next, ready.first().map(|task| task.id));
    }
}
