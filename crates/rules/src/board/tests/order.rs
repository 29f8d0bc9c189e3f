//! Which task is taken first.

use super::*;

fn ready(board: &Board) -> Vec<u64> {
    board.ready().iter().map(|task| task.id.0).collect()
}

fn next(board: &Board) -> Option<u64> {
    let next = board.next_for(&member("alice"), "coder");
    next.map(|task| task.id.0)
}

/// Tasks as a foreign program may have written them: each with its number and what it waits for.
fn foreign(tasks: &[(u64, &[u64])]) -> Board {
    let task = |(id, blocked_by): &(u64, &[u64])| {
        let mut task = Task::new(TaskId(*id), "x");
        task.blocked_by = ids(blocked_by);
        task
    };
    tasks.iter().map(task).collect()
}

#[test]
fn the_longest_chain_is_begun_first_then_the_lowest_number() {
    // 1 and 2 stand alone, 3 <- 5, and 4 <- 6 <- 7.
    let mut board = board(&[&[], &[], &[], &[], &[3], &[4], &[6, 1]]);
    assert_eq!(ready(&board), [4, 1, 3, 2]);
    assert_eq!(next(&board), Some(4));
    for (done, first) in [(4, 1), (1, 3), (3, 6), (6, 2)] {
        finish_claimed(&mut board, done);
        assert_eq!(next(&board), Some(first), "after {done}");
    }
}

fn finish_claimed(board: &mut Board, id: u64) {
    board.claim(TaskId(id), &claimant("bob"), at(1)).unwrap();
    finish(board, id);
}

#[test]
fn what_a_completed_task_has_unblocked_comes_in_the_same_order() {
    let mut board = board(&[&[], &[1], &[1], &[3]]);
    finish_claimed(&mut board, 1);
    let unblocked: Vec<u64> = board
        .unblocked_by(TaskId(1))
        .iter()
        .map(|task| task.id.0)
        .collect();
    assert_eq!(unblocked, [3, 2]);
}

#[test]
fn a_chain_outweighs_neither_the_priority_nor_what_a_member_has_lost_or_was_reserved() {
    let mut board = board(&[&[], &[], &[2], &[3], &[], &[]]);
    let urgent = Edit {
        priority: Priority::new(6),
        ..Edit::default()
    };
    board
        .edit(TaskId(5), &actor("lead"), &urgent, at(1))
        .unwrap();
    assert_eq!(ready(&board), [5, 2, 1, 6]);
    let mut reserved = board.get(TaskId(6)).unwrap().clone();
    reserved.owner = Owner(Some(member("alice")));
    board.put(reserved);
    assert_eq!(next(&board), Some(6));
    board.claim(TaskId(1), &claimant("alice"), at(2)).unwrap();
    board.release_all(&member("alice"), Incarnation(1), "died", at(3));
    assert_eq!(next(&board), Some(1));
}

#[test]
fn tasks_that_wait_for_each_other_or_for_nothing_change_nothing_but_their_own_chain() {
    // 3 and 4 wait for each other, and 5 for itself; both cycles begin behind 1. 7 waits for what does not exist.
    let cycles: &[(u64, &[u64])] = &[
        (1, &[]),
        (2, &[]),
        (3, &[1, 4]),
        (4, &[3]),
        (5, &[5, 1]),
        (6, &[2]),
        (7, &[99, 99]),
    ];
    assert_eq!(ready(&foreign(cycles)), [2, 1]);
    let all: &[(u64, &[u64])] = &[(1, &[2]), (2, &[1]), (3, &[3])];
    assert_eq!(next(&foreign(all)), None);
    // One that is named twice is one.
    let twice: &[(u64, &[u64])] = &[(1, &[]), (2, &[]), (3, &[2, 2, 2]), (4, &[3, 3])];
    assert_eq!(ready(&foreign(twice)), [2, 1]);
    // The highest number there is.
    let edge: &[(u64, &[u64])] = &[(1, &[]), (u64::MAX, &[]), (7, &[u64::MAX])];
    assert_eq!(ready(&foreign(edge)), [u64::MAX, 1]);
}

#[test]
fn a_chain_of_many_thousand_tasks_is_followed_to_its_end() {
    let last = 50_000;
    let chain = (2..=last).map(|id| {
        let mut task = Task::new(TaskId(id), "x");
        task.blocked_by = (id > 2).then_some(TaskId(id - 1)).into_iter().collect();
        task
    });
    let board: Board = chain.chain([Task::new(TaskId(1), "x")]).collect();
    assert_eq!(ready(&board), [2, 1]);
}
