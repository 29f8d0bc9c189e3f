//! The board on real folders.

use super::*;
use protocol::{AgentName, Event, EventKind, Incarnation, Owner, Task, TaskId, TaskStatus};
use rules::{Edit, NewTask};
use std::sync::Barrier;
use teamdir::{Durability, Options, TeamDir};
use test_support::TempTeam;

fn team() -> TempTeam {
    let options = Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    };
    TempTeam::new(&["alice", "bob"], options)
}

fn worker(name: &str, incarnation: u64) -> Worker {
    Worker {
        me: Actor::member(AgentName::new(name).unwrap(), Incarnation(incarnation)),
        role: "coder".to_owned(),
    }
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}

/// A task that waits for others.
fn add(team: &TeamDir, after: &[u64]) -> Task {
    let new = NewTask {
        subject: "work".to_owned(),
        blocked_by: ids(after),
        ..NewTask::default()
    };
    create(team, &Actor::user(), &new).unwrap()
}

fn note(text: &str) -> Edit {
    Edit {
        note: Some(text.to_owned()),
        ..Edit::default()
    }
}

/// The task events in the event log.
fn logged(team: &TeamDir) -> Vec<String> {
    let text = std::fs::read_to_string(team.layout().events()).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let logged = events.filter_map(|event: Event| match event.kind {
        EventKind::Task {
            task, action, by, ..
        } => Some(format!("{task} {action} {by}")),
        _ => None,
    });
    logged.collect()
}

#[test]
fn a_task_from_creation_to_its_result() {
    let folder = team();
    let team = folder.team();
    let alice = worker("alice", 1);
    add(team, &[]);
    add(team, &[1]);
    let claimed = claim(team, &alice, TaskId(1), ClaimLimit::One).unwrap();
    assert_eq!(claimed.owner_incarnation, Some(Incarnation(1)));
    assert_eq!(unfinished(team, &alice.me).unwrap(), [claimed]);
    edit(team, &alice.me, TaskId(1), &note("half done")).unwrap();
    assert_eq!(claim_next(team, &alice).unwrap(), None, "alice is busy");
    complete(team, &alice.me, TaskId(1), Some("it works")).unwrap();
    let next = claim_next(team, &alice).unwrap().unwrap();
    assert_eq!(next.id, TaskId(2), "it was unblocked at once");
    release(team, &alice.me, TaskId(2), "cannot").unwrap();
    assert_eq!(claim_next(team, &alice).unwrap(), None, "alice released it");
    let shown = get(team, TaskId(1)).unwrap();
    assert_eq!(shown.result.as_deref(), Some("it works"));
    delete(team, &Actor::user(), TaskId(1)).unwrap();
    assert_eq!(get(team, TaskId(2)).unwrap().blocked_by, []);
    let wanted = [
        "1 created user",
        "2 created user",
        "1 claimed alice",
        "1 noted alice",
        "1 completed alice",
        "2 claimed alice",
        "2 released alice",
        "2 unblocked user",
        "1 deleted user",
    ];
    assert_eq!(logged(team), wanted);
}

#[test]
fn a_lease_ends_with_the_incarnation_that_holds_it() {
    let folder = team();
    let team = folder.team();
    let (alice, bob) = (worker("alice", 1), worker("bob", 1));
    let name = AgentName::new("alice").unwrap();
    add(team, &[]);
    claim_next(team, &alice).unwrap().unwrap();
    edit(team, &alice.me, TaskId(1), &note("half done")).unwrap();
    let back = release_all(team, &name, Incarnation(0), "died").unwrap();
    assert_eq!(back, [], "that incarnation never had it");
    let back = release_all(team, &name, Incarnation(1), "died").unwrap();
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].history[2].note.as_deref(), Some("half done"));
    // A late change by the dead incarnation has no effect.
    let late = complete(team, &alice.me, TaskId(1), None).unwrap_err();
    assert_eq!(late.to_string(), "task 1 is pending: claim it first");
    claim_next(team, &bob).unwrap().unwrap();
    let late = complete(team, &alice.me, TaskId(1), None).unwrap_err();
    assert!(late.to_string().contains("belongs to bob"), "{late}");
    assert_eq!(
        release_all(team, &name, Incarnation(9), "died").unwrap(),
        []
    );
    complete(team, &bob.me, TaskId(1), None).unwrap();
}

#[test]
fn one_task_for_each_owner_unless_asked_otherwise() {
    let folder = team();
    let team = folder.team();
    let alice = worker("alice", 1);
    (0..3).for_each(|_| drop(add(team, &[])));
    claim(team, &alice, TaskId(1), ClaimLimit::One).unwrap();
    let busy = claim(team, &alice, TaskId(2), ClaimLimit::One).unwrap_err();
    assert!(busy.to_string().contains("release task 1 first"), "{busy}");
    let busy = set_status(team, &alice, TaskId(2), TaskStatus::InProgress).unwrap_err();
    assert!(busy.is_refusal());
    claim(team, &alice, TaskId(2), ClaimLimit::Many).unwrap();
    assert_eq!(unfinished(team, &alice.me).unwrap().len(), 2);
}

#[test]
fn several_changes_are_atomic() {
    let folder = team();
    let team = folder.team();
    let alice = worker("alice", 1);
    (0..2).for_each(|_| drop(add(team, &[])));
    let bad = Update {
        edit: note("view at this"),
        add_blocked_by: ids(&[1, 7]),
        ..Update::default()
    };
    let refused = update(team, &alice, TaskId(2), &bad).unwrap_err();
    assert!(
        refused.to_string().contains("task 7 not found"),
        "{refused}"
    );
    assert_eq!(get(team, TaskId(2)).unwrap().history.len(), 1);
    claim(team, &alice, TaskId(2), ClaimLimit::One).unwrap();
    // Released and blocked in one step; a repeated status is accepted.
    let again = Update {
        edit: note("still at it"),
        status: Some(TaskStatus::InProgress),
        ..Update::default()
    };
    update(team, &alice, TaskId(2), &again).unwrap();
    let blocked = Update {
        edit: note("needs the other first"),
        add_blocked_by: ids(&[1]),
        status: Some(TaskStatus::Pending),
        ..Update::default()
    };
    let blocked = update(team, &alice, TaskId(2), &blocked).unwrap();
    let actions: Vec<&str> = blocked.history.iter().map(|l| l.action.as_str()).collect();
    assert_eq!(
        actions,
        ["created", "claimed", "noted", "released", "blocked"]
    );
    assert_eq!(
        blocked.history[3].note.as_deref(),
        Some("needs the other first")
    );
    let early = Update {
        result: Some("x".to_owned()),
        ..Update::default()
    };
    let early = update(team, &alice, TaskId(2), &early).unwrap_err();
    assert!(matches!(early, BoardError::ResultTooEarly(_)));
}

#[test]
fn wrong_dependencies_are_refused_with_the_reason() {
    let folder = team();
    let team = folder.team();
    let me = Actor::user();
    add(team, &[]);
    add(team, &[1]);
    add(team, &[2]);
    let refuse = |id, more: &[u64]| {
        let refused = add_blocked_by(team, &me, TaskId(id), &ids(more));
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        refuse(1, &[3]),
        "tasks would wait for each other: 1 -> 3 -> 2 -> 1"
    );
    assert_eq!(refuse(1, &[1]), "task 1 cannot wait for itself");
    assert!(refuse(1, &[9]).contains("task 9 not found"));
    assert_eq!(refuse(9, &[1]), "Task 9 not found");
    let unknown = NewTask {
        subject: "x".to_owned(),
        blocked_by: ids(&[8]),
        ..NewTask::default()
    };
    assert!(create(team, &me, &unknown).is_err());
    assert_eq!(add(team, &[]).id, TaskId(4), "a refusal uses no number up");
    remove_blocked_by(team, &me, TaskId(3), &ids(&[2])).unwrap();
    add_blocked_by(team, &me, TaskId(1), &ids(&[3])).unwrap();
}

#[test]
fn an_invalid_file_affects_only_what_depends_on_it() {
    let folder = team();
    let team = folder.team();
    let alice = worker("alice", 1);
    add(team, &[]);
    add(team, &[1]);
    add(team, &[]);
    std::fs::write(team.layout().task(TaskId(1)), "{ half a ta").unwrap();
    let view = list(team).unwrap();
    assert_eq!(view.board.tasks().count(), 2);
    assert!(view.broken[0].to_string().contains("task_1.json"));
    assert_eq!(claim_next(team, &alice).unwrap().unwrap().id, TaskId(3));
    complete(team, &alice.me, TaskId(3), None).unwrap();
    let blocked = claim(team, &alice, TaskId(2), ClaimLimit::One).unwrap_err();
    assert!(blocked.to_string().contains("blocked by [1]"), "{blocked}");
    let broken = claim(team, &alice, TaskId(1), ClaimLimit::One).unwrap_err();
    assert!(broken.to_string().contains("task_1.json"), "{broken}");
    let waits = NewTask {
        subject: "x".to_owned(),
        blocked_by: ids(&[1]),
        ..NewTask::default()
    };
    let broken = create(team, &Actor::user(), &waits).unwrap_err();
    assert!(broken.to_string().contains("task_1.json"), "{broken}");
    assert!(delete(team, &Actor::user(), TaskId(3)).is_err());
    assert!(!broken.is_refusal());
}

#[test]
fn many_threads_get_each_task_once() {
    const THREADS: usize = 4;
    const TASKS: usize = 40;
    let folder = team();
    (0..TASKS).for_each(|_| drop(add(folder.team(), &[])));
    let start = Barrier::new(THREADS);
    let work = |number: usize| {
        // Each opens the folder by itself, as processes do.
        let options = *folder.team().options();
        let team = TeamDir::open(folder.workspace(), options).unwrap();
        let me = worker(&format!("w{number}"), 1);
        let mut mine = Vec::new();
        start.wait();
        while let Some(task) = claim_next(&team, &me).unwrap() {
            complete(&team, &me.me, task.id, None).unwrap();
            mine.push(task.id);
        }
        mine
    };
    let mut all: Vec<TaskId> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let done = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        done.collect()
    });
    all.sort_unstable();
    let wanted: Vec<TaskId> = (1..=TASKS as u64).map(TaskId).collect();
    assert_eq!(all, wanted);
    let board = list(folder.team()).unwrap().board;
    assert!(board.tasks().all(|task| task.owner != Owner(None)));
}
