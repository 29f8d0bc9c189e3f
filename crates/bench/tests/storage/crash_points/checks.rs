//! What must hold after an operation was struck, and after it was done again.

use super::{Struck, later};
use crate::support::TestTeam;
use protocol::{
    Actor, Body, EventKind, EventLine, Incarnation, Line, Message, MessageId, Party, Recipient,
    RequestId, RequestStatus, Sender, Task, TaskId, TaskStatus,
};
use std::io::Write;
use std::time::Instant;
use teamdir::{MemberSession, RequestError, WatchChoice};

fn message(id: &str) -> Message {
    let mut message = Message::new(Body::Message {
        content: "x".repeat(200),
    });
    message.id = Some(MessageId::new(id).unwrap());
    message.from = Some(Sender::new("bob"));
    message.to = Some("alice".parse().unwrap());
    message
}

/// Reads everything there is as a new process would, and tidies up.
fn drain(team: &TestTeam) {
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
}

pub(super) fn one_unread(team: &TestTeam) {
    team.team.send(message("0")).unwrap();
}

/// The same, with a mark that says that the last leader had others with it.
pub(super) fn one_unread_in_a_crowd(team: &TestTeam) {
    one_unread(team);
    let mut mark = [0; 560];
    mark[4] = 1;
    std::fs::write(team.team.layout().inbox_synced(&team.alice), mark).unwrap();
}

pub(super) fn sent_once(team: &TestTeam, struck: Struck) {
    let unread = team.unread();
    match struck {
        // After a failed sync the line is written a second time under the same identifier.
        Struck::Exited { done: true } => assert!((2..=3).contains(&unread), "not there"),
        // A failed sync leaves a line that may or may not last; it was not acknowledged.
        Struck::Exited { done: false } => assert!((1..=2).contains(&unread)),
        Struck::Killed => {}
    }
    let team = later(team);
    // What the sender does when it comes back, and mail of another sender after it.
    team.team.send(message("1")).unwrap();
    team.team.send(message("2")).unwrap();
    drain(&team);
    assert_eq!(team.journal(), ["0", "1", "2"]);
    assert_eq!(team.unread(), 0);
    if struck != Struck::Killed {
        assert_eq!(team.dead_letters(), 0, "a failed send left a fragment");
    }
}

pub(super) fn mixed_mail(team: &TestTeam) {
    team.team.send(message("0")).unwrap();
    let path = team.team.layout().inbox(&team.alice);
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"words\n{\"broken\n").unwrap();
    team.team.send(message("1")).unwrap();
}

pub(super) fn enough_for_a_checkpoint(team: &TestTeam) {
    for number in 0..1_000 {
        team.team.send(message(&number.to_string())).unwrap();
    }
}

pub(super) fn received_once(team: &TestTeam, _: Struck) {
    let team = later(team);
    drain(&team);
    team.team.send(message("0")).unwrap();
    team.team.send(message("2")).unwrap();
    drain(&team);
    let mut journal = team.journal();
    let words = journal.remove(1);
    assert!(words.starts_with('@'), "{words}");
    assert_eq!(journal, ["0", "1", "2"]);
    assert_eq!((team.dead_letters(), team.unread()), (1, 0));
    let dead_letters = std::fs::read_to_string(team.team.layout().dead_letters()).unwrap();
    let whole = dead_letters.lines().filter(|line| line.ends_with('}'));
    assert_eq!(whole.count(), 1, "buried twice");
    let inbox = std::fs::read(team.team.layout().inbox(&team.alice)).unwrap();
    assert_eq!(inbox, b"", "read mail is still shown as unread");
}

pub(super) fn can_join(team: &TestTeam, _: Struck) {
    let team = later(team);
    let guard = team.team.join(&team.alice).unwrap();
    let roster = team.team.roster().unwrap();
    let name = "alice".parse().unwrap();
    assert_eq!(
        roster.member(&name).unwrap().incarnation,
        guard.incarnation()
    );
}

pub(super) fn roster_whole(team: &TestTeam, struck: Struck) {
    let team = later(team);
    let roster = team.team.roster().unwrap();
    let name = "m1".parse().unwrap();
    let is_there = roster.member(&name).is_some();
    assert_eq!(roster.members.len(), if is_there { 5 } else { 4 });
    if struck == (Struck::Exited { done: true }) {
        assert!(is_there, "changed, but not there");
    }
}

fn request_id() -> RequestId {
    RequestId::new("1").unwrap()
}

pub(super) fn request_whole(team: &TestTeam, struck: Struck) {
    match team.team.request(&request_id()) {
        Ok(request) => {
            assert_eq!(request.status(), RequestStatus::Pending);
            let is_recorded = |kind: &EventKind| matches!(kind, EventKind::Request { .. });
            assert!(
                events(&later(team)).iter().any(is_recorded),
                "created, but no event"
            );
        }
        Err(RequestError::Unknown(_)) => assert_ne!(struck, Struck::Exited { done: true }),
        Err(error) => panic!("{error}"),
    }
    for request in team.team.requests().unwrap() {
        request.unwrap();
    }
}

pub(super) fn pending_request(team: &TestTeam) {
    let output = team.bench(&["op", "request-create"]).output().unwrap();
    assert!(output.status.success());
}

pub(super) fn request_answered_or_not(team: &TestTeam, struck: Struck) {
    let status = team.team.request(&request_id()).unwrap().status();
    if struck == (Struck::Exited { done: true }) {
        assert_eq!(status, RequestStatus::Approved);
    }
    assert!(matches!(
        status,
        RequestStatus::Pending | RequestStatus::Approved
    ));
    // The lock is free again.
    let team = later(team);
    team.team
        .update_request(&request_id(), |request| {
            Ok::<_, RequestError>((request, ()))
        })
        .unwrap();
    let mut last = events(&team).into_iter().filter_map(|kind| match kind {
        EventKind::Request { .. } => Some(RequestStatus::Pending),
        EventKind::Resolve { status, .. } => Some(status),
        _ => None,
    });
    // Whoever repeats the story begins with the question.
    assert_eq!(
        last.next_back(),
        Some(status),
        "the log tells something else"
    );
}

/// The request is pending and can be answered, or answered for good. Mail about the answer is there only if
/// the file says the same, and answering again completes what was begun, once.
pub(super) fn answer_recorded_before_mailed(team: &TestTeam, struck: Struck) {
    request_answered_or_not(team, struck);
    let team = later(team);
    let status = || team.team.request(&request_id()).unwrap().status();
    let mut claims = 0;
    let count = |_: &[u8], line| {
        if let Line::Message(message) = line {
            assert!(matches!(
                message.body,
                Body::ShutdownResponse { approve: true, .. }
            ));
            claims += 1;
        }
    };
    team.team.unread_mail(&Recipient::Lead, count).unwrap();
    if claims > 0 {
        assert_eq!(status(), RequestStatus::Approved, "the mail claims it");
    }
    if struck == (Struck::Exited { done: true }) {
        // A line whose sync failed was written again; the reader takes the two for one.
        assert!(claims > 0, "nothing was mailed");
    }
    let alice = Actor::member("alice".parse().unwrap(), Incarnation(1));
    team::answer_shutdown(&team.team, &alice, &request_id(), true, "fine").unwrap();
    assert_eq!(status(), RequestStatus::Approved);
    let mut lead = MemberSession::open(&team.team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    let mut mail = Vec::new();
    while let Some(delivery) = lead.try_next().unwrap() {
        mail.extend(delivery.mail);
    }
    assert_eq!(mail.len(), 1, "{mail:?}");
}

/// All events, after the recovery of those that a killed process did not write.
fn events(team: &TestTeam) -> Vec<EventKind> {
    team.team.recover_events().unwrap();
    let mut events = Vec::new();
    team.team
        .read_events(|line| {
            if let EventLine::Known(event) = EventLine::decode(line) {
                events.push(event.kind);
            }
        })
        .unwrap();
    events
}

pub(super) fn one_task(team: &TestTeam) {
    let board = team.team.lock_board().unwrap();
    board.create(|id| Task::new(id, "first")).unwrap();
}

pub(super) fn tasks_whole(team: &TestTeam, struck: Struck) {
    let team = later(team);
    let board = team.team.lock_board().unwrap();
    let tasks = board.all().unwrap();
    if struck == (Struck::Exited { done: true }) {
        assert!(tasks.len() >= 2);
    }
    let next = board.create(|id| Task::new(id, "next")).unwrap();
    assert!(
        tasks.iter().all(|task| task.id < next.id),
        "a number was given out twice"
    );
}

/// What the file of the first task says of its status, its owner, and its last change.
fn state(team: &TestTeam) -> (TaskStatus, Option<Party>, String) {
    let team = later(team);
    let board = team.team.lock_board().unwrap();
    let task = board.get(TaskId(1)).unwrap();
    drop(board);
    let last = task.history.last().map(|line| line.action.clone());
    // The last event agrees with the file; a task without an event has no history.
    let mut story = events(&team).into_iter().filter_map(|kind| match kind {
        EventKind::Task {
            task: TaskId(1),
            action,
            status,
            owner,
            ..
        } => Some((action, status, owner)),
        _ => None,
    });
    let file = last
        .clone()
        .map(|last| (last, Some(task.status), task.owner.0.clone()));
    assert_eq!(story.next_back(), file, "the log tells something else");
    (task.status, task.owner.0.clone(), last.unwrap_or_default())
}

pub(super) fn task_claimed_or_not(team: &TestTeam, struck: Struck) {
    let (status, owner, last) = state(team);
    let claimed = status == TaskStatus::InProgress;
    let alice = "alice".parse().unwrap();
    assert_eq!(owner, claimed.then_some(alice), "half a claim");
    assert_eq!(last == "claimed", claimed, "half a claim");
    if struck == (Struck::Exited { done: true }) {
        assert!(claimed);
    }
}

pub(super) fn one_claimed_task(team: &TestTeam) {
    one_task(team);
    let output = team.bench(&["op", "task-claim"]).output().unwrap();
    assert!(output.status.success());
}

pub(super) fn task_completed_or_not(team: &TestTeam, struck: Struck) {
    let (status, owner, last) = state(team);
    let completed = status == TaskStatus::Completed;
    assert_eq!(owner, Some("alice".parse().unwrap()));
    assert_eq!(last == "completed", completed, "half a completion");
    if struck == (Struck::Exited { done: true }) {
        assert!(completed);
    }
}

pub(super) fn task_released_or_not(team: &TestTeam, struck: Struck) {
    let (status, owner, last) = state(team);
    let released = status == TaskStatus::Pending;
    assert_eq!((owner.is_none(), last == "released"), (released, released));
    if struck == (Struck::Exited { done: true }) {
        assert!(released);
    }
    // The next process finishes it.
    let team = later(team);
    let name = "alice".parse().unwrap();
    team::release_all(&team.team, &name, Incarnation(1), "died").unwrap();
    assert_eq!(state(&team).0, TaskStatus::Pending);
}

pub(super) fn buried_once(team: &TestTeam, struck: Struck) {
    let team = later(team);
    let output = team.bench(&["op", "dead-letter"]).output().unwrap();
    assert!(output.status.success());
    let text = std::fs::read_to_string(team.team.layout().dead_letters()).unwrap();
    let whole = text
        .lines()
        .filter(|line| serde_json::from_str::<protocol::DeadLetter>(line).is_ok());
    assert_eq!(whole.count(), 1);
    if struck != Struck::Killed {
        assert!(
            text.lines().filter(|line| !line.is_empty()).count() == 1,
            "{text}"
        );
    }
}

pub(super) fn live_state_whole(team: &TestTeam, struck: Struck) {
    let state = team.team.live_state(&team.alice).unwrap();
    if struck == (Struck::Exited { done: true }) {
        assert!(state.is_some());
    }
    let path = team.team.layout().live_state(&team.alice);
    if path.exists() {
        assert!(state.is_some(), "half a file");
    }
}
