use super::*;
use crate::Options;
use crate::requests::new_request_id;
use protocol::{
    AgentName, Party, Recipient, RequestState, Subject, TaskHistory, TaskId, TaskStatus,
};
use std::io::Write as _;

fn team() -> (tempfile::TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
    (dir, team)
}

/// The events in the log, in short.
fn told(team: &TeamDir) -> Vec<String> {
    let mut told = Vec::new();
    team.read_events(|line| {
        let EventLine::Known(event) = EventLine::decode(line) else {
            panic!("{}", String::from_utf8_lossy(line));
        };
        told.push(match event.kind {
            EventKind::Task { task, action, .. } => format!("{task} {action}"),
            EventKind::Request { .. } => "request".to_owned(),
            EventKind::Resolve { status, .. } => format!("{status:?}"),
            other => format!("{other:?}"),
        });
    })
    .unwrap();
    told
}

fn task(id: TaskId, actions: &[&str]) -> Task {
    let mut task = Task::new(id, "work");
    for action in actions {
        task.history
            .push(TaskHistory::new(now(), Party::Lead, action));
    }
    task
}

#[test]
fn a_task_change_of_a_killed_process_is_logged_by_the_next() {
    let (_dir, team) = &team();
    let board = team.lock_board().unwrap();
    let one = board.create(|id| task(id, &["created"])).unwrap().id;
    drop(board);
    // Killed after the change and before the event.
    let lock = PendingEvents::acquire(team, team.layout.tasks_lock(), |_| Vec::new()).unwrap();
    let changed = task(one, &["created", "claimed"]);
    lock.prepare(task_events(&changed, 1).first().unwrap())
        .unwrap();
    let bytes = serde_json::to_vec(&changed).unwrap();
    std::fs::write(team.layout.task(one), bytes).unwrap();
    drop(lock);
    assert_eq!(told(team), ["1 created"]);
    team.recover_events().unwrap();
    assert_eq!(told(team), ["1 created", "1 claimed"]);
    // It is told once.
    team.recover_events().unwrap();
    drop(team.lock_board().unwrap());
    assert_eq!(told(team).len(), 2);
}

#[test]
fn a_change_that_never_happened_is_not_logged() {
    let (_dir, team) = &team();
    let lock = PendingEvents::acquire(team, team.layout.tasks_lock(), |_| Vec::new()).unwrap();
    let never = task(TaskId(7), &["created"]);
    lock.prepare(task_events(&never, 0).first().unwrap())
        .unwrap();
    // And a note that was cut short.
    drop(lock);
    let mut options = std::fs::File::options();
    let mut file = options.append(true).open(team.layout.tasks_lock()).unwrap();
    file.write_all(b"{\"time\":1,\"ev").unwrap();
    team.recover_events().unwrap();
    assert_eq!(told(team), [""; 0]);
    assert_eq!(team.layout.tasks_lock().metadata().unwrap().len(), 0);
}

#[test]
fn a_removed_task_is_logged_as_removed() {
    let (_dir, team) = &team();
    let lock = PendingEvents::acquire(team, team.layout.tasks_lock(), |_| Vec::new()).unwrap();
    let gone = EventKind::Task {
        task: TaskId(3),
        action: "deleted".to_owned(),
        by: Party::Lead,
        status: None,
        owner: None,
    };
    lock.prepare(&gone).unwrap();
    drop(lock);
    drop(team.lock_board().unwrap());
    assert_eq!(told(team), ["3 deleted"]);
}

#[test]
fn a_note_stays_while_the_log_cannot_be_written() {
    let (_dir, team) = &team();
    std::fs::create_dir(team.layout.events()).unwrap();
    let board = team.lock_board().unwrap();
    let id = board.create(|id| task(id, &["created"])).unwrap().id;
    assert_eq!(team.task(id).unwrap().status, TaskStatus::Pending);
    drop(board);
    std::fs::remove_dir(team.layout.events()).unwrap();
    team.recover_events().unwrap();
    assert_eq!(told(team), ["1 created"]);
}

fn request() -> Request {
    Request {
        id: new_request_id(),
        from: Party::Lead,
        from_incarnation: None,
        to: Recipient::Member(AgentName::new("alice").unwrap()),
        to_incarnation: None,
        created_at: now(),
        deadline: None,
        notified_at: None,
        subject: Subject::Shutdown {
            reason: "done".to_owned(),
            force: false,
            lead_leaves: false,
        },
        state: RequestState::Pending,
        ignored: Vec::new(),
        host: None,
        sent: None,
        refused: None,
        extra: protocol::Extra::new(),
    }
}

fn expired(request: Request) -> Request {
    let state = RequestState::Expired {
        at: now(),
        reason: "late".to_owned(),
    };
    Request { state, ..request }
}

#[test]
fn requests_are_logged_when_they_are_created_and_when_they_end() {
    let (_dir, team) = &team();
    let request = request();
    team.create_request(&request).unwrap();
    assert_eq!(told(team), ["request"]);
    for _ in 0..2 {
        let end = |found| Ok::<_, RequestError>((expired(found), ()));
        team.update_request(&request.id, end).unwrap();
    }
    assert_eq!(told(team), ["request", "Expired"]);
}

#[test]
fn a_request_change_of_a_killed_process_is_logged_by_the_next() {
    let (_dir, team) = &team();
    let lock = team.lock_requests().unwrap();
    let request = expired(request());
    lock.prepare(&request_event(&request)).unwrap();
    let bytes = serde_json::to_vec(&protocol::RequestFile::from(request.clone())).unwrap();
    std::fs::write(team.layout.request(&request.id), bytes).unwrap();
    drop(lock);
    team.recover_events().unwrap();
    team.recover_events().unwrap();
    assert_eq!(told(team), ["request", "Expired"]);
}
