//! What tasks may wait for, and which may be deleted.

use super::*;

#[test]
fn only_valid_dependencies_are_accepted() {
    let mut board = board(&[&[]]);
    let mut create = |subject: &str, blocked_by: &[u64]| {
        let new = NewTask {
            subject: subject.to_owned(),
            blocked_by: ids(blocked_by),
            ..NewTask::default()
        };
        let id = next_id(&board);
        board
            .create(id, new, &Party::Lead, at(0))
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        create("x", &[7]).unwrap_err(),
        "task 7 not found: a task can only wait for tasks that exist"
    );
    assert_eq!(
        create("x", &[2]).unwrap_err(),
        "task 2 cannot wait for itself"
    );
    assert!(create(" ", &[]).unwrap_err().contains("subject is empty"));
    assert_eq!(create("x", &[1, 1]).unwrap().blocked_by, ids(&[1]));
    let again = NewTask {
        subject: "x".to_owned(),
        ..NewTask::default()
    };
    let refusal = board.create(TaskId(1), again, &Party::Lead, at(0));
    assert_eq!(refusal, Err(CreateRefusal::Exists(TaskId(1))));
}

#[test]
fn a_cycle_is_refused_and_shown() {
    let mut board = board(&[&[], &[], &[1]]);
    let refusal = board.add_blocked_by(TaskId(1), &ids(&[2, 3]), &Party::Lead, at(1));
    let text = refusal.unwrap_err().to_string();
    assert_eq!(text, "tasks would wait for each other: 1 -> 3 -> 1");
    assert!(board.get(TaskId(1)).unwrap().blocked_by.is_empty());
    // A number that was named before it existed can close a cycle as well.
    let mut dangling = Task::new(TaskId(1), "x");
    dangling.blocked_by = ids(&[2]);
    let mut board: Board = [dangling].into_iter().collect();
    let new = NewTask {
        subject: "y".to_owned(),
        blocked_by: ids(&[1]),
        ..NewTask::default()
    };
    let refusal = board.create(TaskId(2), new, &Party::Lead, at(1));
    assert_eq!(refusal, Err(CreateRefusal::Cycle(Cycle(ids(&[2, 1, 2])))));
}

#[test]
fn chains_of_ten_thousand_tasks_are_handled() {
    let chain = |id: u64| {
        let mut task = Task::new(TaskId(id), "link");
        task.blocked_by = if id == 1 { Vec::new() } else { ids(&[id - 1]) };
        task
    };
    let mut board: Board = (1..=10_000).map(chain).collect();
    assert_eq!(board.cycle(), None);
    let refusal = board
        .add_blocked_by(TaskId(1), &ids(&[10_000]), &Party::Lead, at(1))
        .unwrap_err();
    let text = refusal.to_string();
    assert!(text.contains("1 -> 10000 -> 9999 -> "), "{text}");
    assert!(
        text.ends_with("-> ... -> 6 -> 5 -> 4 -> 3 -> 2 -> 1"),
        "{text}"
    );
    let mut first = board.get(TaskId(1)).unwrap().clone();
    first.blocked_by = ids(&[10_000]);
    board.put(first);
    assert_eq!(board.cycle().unwrap().len(), 10_001);
}

#[test]
fn dependencies_change_only_while_a_task_is_pending() {
    let mut board = board(&[&[], &[1], &[]]);
    let removed = board.remove_blocked_by(TaskId(2), &ids(&[1]), &Party::Lead, at(1));
    assert!(removed.unwrap().blocked_by.is_empty());
    let refusal = board.remove_blocked_by(TaskId(2), &ids(&[1]), &Party::Lead, at(1));
    assert!(matches!(refusal, Err(EdgeRefusal::NotWaiting { .. })));
    board.claim(TaskId(2), &claimant("alice"), at(2)).unwrap();
    let refusal = board.add_blocked_by(TaskId(2), &ids(&[3]), &Party::Lead, at(3));
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "task 2 is in_progress: what it waits for can only change while it is pending"
    );
}

#[test]
fn a_task_is_deleted_only_if_no_task_depends_on_it() {
    let mut board = board(&[&[], &[1], &[]]);
    let refusal = board.delete(TaskId(1), &Party::Lead, at(1)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "task 1 cannot be deleted: [2] wait for it"
    );
    finish(&mut board, 1);
    let deleted = board.delete(TaskId(1), &Party::Lead, at(1)).unwrap();
    assert_eq!(deleted.task.id, TaskId(1));
    assert!(deleted.changed[0].blocked_by.is_empty());
    assert_eq!(board.ready().len(), 2);
    board.claim(TaskId(3), &claimant("alice"), at(2)).unwrap();
    let refusal = board.delete(TaskId(3), &Party::Lead, at(3));
    assert_eq!(refusal, Err(DeleteRefusal::InProgress { id: TaskId(3) }));
}
