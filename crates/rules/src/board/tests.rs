//! The rules of the board, one by one.

mod edges;
mod order;

use super::*;
use protocol::{AgentName, Owner, Priority};

/// The number after the highest one in use.
fn next_id(board: &Board) -> TaskId {
    TaskId(board.tasks().map(|task| task.id.0).max().unwrap_or(0) + 1)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn member(name: &str) -> Party {
    Party::Member(AgentName::new(name).unwrap())
}

fn actor(name: &str) -> Actor {
    Actor {
        party: name.parse().unwrap(),
        incarnation: Some(Incarnation(1)),
    }
}

fn claimant(name: &str) -> Claimant {
    Claimant {
        actor: actor(name),
        role: "coder".to_owned(),
        limit: ClaimLimit::One,
        busy_with: None,
        is_elsewhere: false,
    }
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().map(|n| TaskId(*n)).collect()
}

/// A board of tasks numbered from 1, each with the numbers it waits for.
fn board(tasks: &[&[u64]]) -> Board {
    let mut board = Board::default();
    for blocked_by in tasks {
        let id = next_id(&board);
        let new = NewTask {
            subject: format!("Task {id}"),
            blocked_by: ids(blocked_by),
            ..NewTask::default()
        };
        board.create(id, new, &Party::Lead, at(0)).unwrap();
    }
    board
}

fn finish(board: &mut Board, id: u64) {
    board
        .complete(TaskId(id), &actor("lead"), None, at(1))
        .unwrap();
}

#[test]
fn a_claim_has_one_winner_and_the_others_are_refused() {
    let mut board = board(&[&[], &[]]);
    let claimed = board.claim(TaskId(1), &claimant("alice"), at(1)).unwrap();
    assert_eq!(claimed.status, TaskStatus::InProgress);
    assert_eq!(claimed.owner_incarnation, Some(Incarnation(1)));
    assert_eq!(claimed.history.last().unwrap().action, "claimed");
    let refuse = |board: &mut Board, id, name| {
        let refusal = board.claim(TaskId(id), &claimant(name), at(2));
        refusal.unwrap_err().to_string()
    };
    assert_eq!(
        refuse(&mut board, 1, "bob"),
        "task 1 belongs to alice: claim another one"
    );
    assert_eq!(
        refuse(&mut board, 1, "Alice"),
        "task 1 is already yours: go on with it"
    );
    assert_eq!(
        refuse(&mut board, 2, "alice"),
        "task 2 was not claimed: complete or release task 1 first"
    );
    assert_eq!(refuse(&mut board, 9, "alice"), "task 9 not found");
    let many = Claimant {
        limit: ClaimLimit::Many,
        ..claimant("alice")
    };
    board.claim(TaskId(2), &many, at(3)).unwrap();
}

#[test]
fn a_blocked_task_and_one_of_another_role_cannot_be_claimed() {
    let mut task = Task::new(TaskId(2), "x");
    task.blocked_by = ids(&[1, 3, 4]);
    let known = [(TaskId(1), Some(TaskStatus::Completed)), (TaskId(3), None)];
    let refusal = claim(&task, &known, &claimant("alice"), at(1));
    let by = ids(&[3, 4]);
    let id = TaskId(2);
    assert_eq!(refusal, Err(ClaimRefusal::Blocked { id, by }));
    task.blocked_by.clear();
    task.role = Some("Tester".to_owned());
    let refusal = claim(&task, &[], &claimant("alice"), at(1));
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "task 2 is for the role \"Tester\", not \"coder\""
    );
    let tester = Claimant {
        role: "tester".to_owned(),
        ..claimant("alice")
    };
    assert!(claim(&task, &[], &tester, at(1)).is_ok());
    assert!(claim(&task, &[], &claimant("lead"), at(1)).is_ok());
}

#[test]
fn a_reserved_task_is_claimed_only_by_its_owner() {
    let mut task = Task::new(TaskId(2), "x");
    task.owner = Owner(Some(member("alice")));
    let board: Board = [task.clone(), Task::new(TaskId(1), "y")]
        .into_iter()
        .collect();
    let next = |name| board.next_for(&member(name), "coder").map(|t| t.id.0);
    assert_eq!((next("alice"), next("bob")), (Some(2), Some(1)));
    assert_eq!(board.ready().len(), 1);
    assert!(claim(&task, &[], &claimant("bob"), at(1)).is_err());
    assert!(claim(&task, &[], &claimant("alice"), at(1)).is_ok());
}

#[test]
fn only_the_owner_the_lead_and_the_user_complete_and_release() {
    let mut board = board(&[&[], &[1]]);
    let one = TaskId(1);
    let refusal = board.complete(one, &actor("alice"), None, at(1));
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "task 1 is pending: claim it first"
    );
    let refusal = board.complete(TaskId(2), &actor("lead"), None, at(1));
    assert!(matches!(refusal, Err(CompleteRefusal::Blocked { .. })));
    board.claim(one, &claimant("alice"), at(1)).unwrap();
    let second_incarnation = Actor {
        incarnation: Some(Incarnation(2)),
        ..actor("alice")
    };
    for other in [actor("bob"), second_incarnation] {
        let refusal = board.complete(one, &other, None, at(2)).unwrap_err();
        assert!(refusal.to_string().contains("alice (incarnation 1)"));
        assert!(board.release(one, &other, "", at(2)).is_err());
    }
    let back = board.release(one, &actor("lead"), "urgent", at(3)).unwrap();
    assert_eq!((back.owner, back.owner_incarnation), (Owner(None), None));
    board.claim(one, &claimant("alice"), at(4)).unwrap();
    let done = board
        .complete(one, &actor("alice"), Some("see src"), at(5))
        .unwrap();
    assert_eq!(done.result.as_deref(), Some("see src"));
    assert_eq!(done.owner, Owner(Some(member("alice"))));
    let unblocked = board.unblocked_by(one);
    assert_eq!(unblocked.len(), 1);
    // Completing changed one file: the dependent still lists its dependency.
    assert_eq!(board.get(TaskId(2)).unwrap().blocked_by, ids(&[1]));
}

#[test]
fn setting_a_status_by_name_follows_the_same_rules() {
    let mut board = board(&[&[]]);
    let mut set = |word: &str, name: &str| {
        let status = parse_status(word).map_err(|e| e.to_string())?;
        board
            .set_status(TaskId(1), status, &claimant(name), at(1))
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        set("done", "alice").unwrap_err(),
        "unknown status \"done\": use pending, in_progress or completed"
    );
    set("in_progress", "alice").unwrap();
    assert!(set("completed", "bob").is_err());
    set("completed", "alice").unwrap();
    assert_eq!(
        set("pending", "lead").unwrap_err(),
        "task 1 is completed, which is final: create a new task for more work"
    );
}

#[test]
fn set_status_without_a_board_agrees_with_the_boards() {
    let task = Task::new(TaskId(1), "x");
    let free = claimant("alice");
    let busy = Claimant {
        busy_with: Some(TaskId(7)),
        ..free.clone()
    };
    let refusal = set_status(&task, &[], TaskStatus::InProgress, &busy, at(1));
    assert!(matches!(
        refusal,
        Err(StatusRefusal::Claim(ClaimRefusal::Busy { .. }))
    ));
    let claimed = set_status(&task, &[], TaskStatus::InProgress, &free, at(1)).unwrap();
    let done = set_status(&claimed, &[], TaskStatus::Completed, &free, at(2)).unwrap();
    assert_eq!(done.status, TaskStatus::Completed);
    let back = set_status(&claimed, &[], TaskStatus::Pending, &free, at(2)).unwrap();
    assert_eq!(back.status, TaskStatus::Pending);
}

#[test]
fn only_the_owner_edits_and_the_history_records_it() {
    let mut board = board(&[&[]]);
    let one = TaskId(1);
    let note = Edit {
        note: Some("half done".to_owned()),
        ..Edit::default()
    };
    board.claim(one, &claimant("alice"), at(1)).unwrap();
    let noted = board.edit(one, &actor("alice"), &note, at(2)).unwrap();
    let last = noted.history.last().unwrap();
    assert_eq!(
        (last.action.as_str(), last.note.as_deref()),
        ("noted", Some("half done"))
    );
    let refusal = board.edit(one, &actor("bob"), &note, at(2));
    assert!(matches!(refusal, Err(EditRefusal::NotYours { .. })));
    let refusal = board.edit(one, &actor("lead"), &Edit::default(), at(2));
    assert_eq!(refusal, Err(EditRefusal::Nothing { id: one }));
    let urgent = Edit {
        priority: Priority::new(9),
        ..Edit::default()
    };
    let edited = board.edit(one, &actor("lead"), &urgent, at(3)).unwrap();
    assert_eq!(edited.priority.get(), 9);
}

#[test]
fn the_task_of_a_dead_member_is_released_with_its_notes() {
    let mut board = board(&[&[], &[]]);
    let one = TaskId(1);
    let note = Edit {
        note: Some("half done".to_owned()),
        ..Edit::default()
    };
    board.claim(one, &claimant("alice"), at(1)).unwrap();
    board.edit(one, &actor("alice"), &note, at(2)).unwrap();
    let (alice, bob) = (member("alice"), member("bob"));
    assert!(
        board
            .release_all(&bob, Incarnation(9), "died", at(3))
            .is_empty()
    );
    assert!(
        board
            .release_all(&alice, Incarnation(0), "died", at(3))
            .is_empty()
    );
    let back = board.release_all(&alice, Incarnation(3), "died", at(3));
    let task = &back[0];
    assert_eq!(
        (task.status, &task.owner),
        (TaskStatus::Pending, &Owner(None))
    );
    assert_eq!(task.history.len(), 4);
    assert_eq!(task.history[2].note.as_deref(), Some("half done"));
    assert_eq!(task.history[3].by, Party::System);
}

#[test]
fn a_task_lost_by_death_is_offered_first_and_a_released_one_is_not() {
    let mut board = board(&[&[], &[], &[]]);
    let alice = member("alice");
    let next = |board: &Board| board.next_for(&member("alice"), "coder").map(|t| t.id.0);
    assert_eq!(next(&board), Some(1));
    board.claim(TaskId(2), &claimant("alice"), at(1)).unwrap();
    board.release_all(&alice, Incarnation(1), "died", at(2));
    assert_eq!(next(&board), Some(2));
    board.claim(TaskId(2), &claimant("alice"), at(3)).unwrap();
    board
        .release(TaskId(2), &actor("alice"), "cannot", at(4))
        .unwrap();
    assert_eq!(next(&board), Some(1));
    // A task that the lead released has no precedence.
    board.claim(TaskId(3), &claimant("alice"), at(4)).unwrap();
    board.release(TaskId(3), &actor("lead"), "", at(4)).unwrap();
    assert_eq!(next(&board), Some(1));
    finish(&mut board, 1);
    finish(&mut board, 3);
    assert_eq!(next(&board), None);
    let help = Edit {
        description: Some("like so".to_owned()),
        ..Edit::default()
    };
    board.edit(TaskId(2), &actor("lead"), &help, at(5)).unwrap();
    assert_eq!(next(&board), Some(2));
}

#[test]
fn the_most_urgent_ready_task_comes_first_then_the_lowest_number() {
    let task = |id, priority, role: Option<&str>| {
        let mut task = Task::new(TaskId(id), "x");
        task.priority = Priority::new(priority).unwrap();
        task.role = role.map(str::to_owned);
        task
    };
    let board: Board = [
        task(10, 5, None),
        task(2, 5, None),
        task(3, 9, Some("tester")),
    ]
    .into_iter()
    .collect();
    let ready: Vec<u64> = board.ready().iter().map(|task| task.id.0).collect();
    assert_eq!(ready, [3, 2, 10]);
    let next = |role| board.next_for(&member("alice"), role).map(|task| task.id.0);
    assert_eq!((next("coder"), next("tester")), (Some(2), Some(3)));
}

#[test]
fn the_board_as_text() {
    assert_eq!(Board::default().to_string(), "No tasks.");
    let mut setup = Task::new(TaskId(1), "Setup");
    setup.status = TaskStatus::Completed;
    let mut code = Task::new(TaskId(2), "Write\ncode");
    code.blocked_by = ids(&[1, 3, 9]);
    let mut test = Task::new(TaskId(3), "Test");
    test.status = TaskStatus::InProgress;
    test.owner = Owner(Some(member("alice")));
    let board: Board = [test, code, setup].into_iter().collect();
    assert_eq!(
        board.to_string(),
        "[x] #1: Setup\n[ ] #2: Write code (blocked by: [3, 9])\n[>] #3: Test @alice"
    );
}
