//! A host that asks for more changes of the board than its home decides.

use crate::{cross, hand_over, host, open, pending, team, two_hosts};
use bridge::{ApplyError, Core};
use protocol::{
    BoardAnswer, BoardAsk, BoardChange, BoardFrame, BoardOutcome, Frame, MAX_LINE_BYTES, Party,
    Payload, Priority, RequestId, SpawnAsk, SpawnFrame, SpawnOptions, TaskId,
};
use teamdir::TeamDir;

const ASKED: usize = 600;

fn create(id: &str) -> Payload {
    Payload::Board(BoardFrame::Ask(BoardAsk {
        id: RequestId::new(id).unwrap(),
        by: Party::User,
        incarnation: None,
        lease: None,
        change: BoardChange::Create {
            subject: "Flood".to_owned(),
            description: String::new(),
            priority: Priority::default(),
            role: None,
            blocked_by: Vec::new(),
        },
    }))
}

/// What the home answers to a host: how many asks were done and how many refused because there were too many.
fn answered(home: &Core, peer: &str) -> (usize, usize) {
    let outbox = home.outbox(&host(peer)).unwrap();
    let (mut done, mut too_many) = (0, 0);
    for frame in outbox.pending() {
        if let Payload::Board(BoardFrame::Answer(answer)) = &frame.payload {
            match &answer.outcome {
                BoardOutcome::Done { .. } => done += 1,
                BoardOutcome::Refused { is_too_many, .. } => too_many += usize::from(*is_too_many),
            }
        }
    }
    (done, too_many)
}

fn tasks(team: &TeamDir) -> usize {
    team.tasks().unwrap().len()
}

#[test]
fn a_host_that_floods_the_board_is_refused_and_others_are_not() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, _gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    let third = team(&place.path().join("c"), &["carol"]);
    let mut c = open(&third, "gpu2", "laptop");
    a.meet(&host("gpu2")).unwrap();
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    cross(&mut c, &mut a);
    let flood = (0..ASKED).map(|number| create(&format!("f{number}")));
    b.outbox(&host("laptop"))
        .unwrap()
        .append(flood.collect())
        .unwrap();
    hand_over(&mut b, &mut a);
    let (done, too_many) = answered(&a, "gpu1");
    assert_eq!(done + too_many, ASKED);
    assert!(
        done >= 256 && too_many > 0,
        "{done} done, {too_many} refused"
    );
    assert_eq!(tasks(&laptop), done);
    let asked = c
        .outbox(&host("laptop"))
        .unwrap()
        .append(vec![create("c1")]);
    asked.unwrap();
    hand_over(&mut c, &mut a);
    assert_eq!(answered(&a, "gpu2"), (1, 0));
    assert_eq!(tasks(&laptop), done + 1);
    // Those that end a claim are still decided, if only to say that there is none.
    let release = Payload::Board(BoardFrame::Ask(BoardAsk {
        id: RequestId::new("r1").unwrap(),
        by: Party::User,
        incarnation: None,
        lease: None,
        change: BoardChange::Release {
            task: TaskId(1),
            why: String::new(),
        },
    }));
    b.outbox(&host("laptop"))
        .unwrap()
        .append(vec![release])
        .unwrap();
    hand_over(&mut b, &mut a);
    let outbox = a.outbox(&host("gpu1")).unwrap();
    let last = outbox.pending().last().unwrap();
    let is_decided = matches!(
        &last.payload,
        Payload::Board(BoardFrame::Answer(answer))
            if matches!(answer.outcome, BoardOutcome::Refused { is_too_many: false, .. })
    );
    assert!(is_decided, "{last:?}");
}

fn spawn(id: &str) -> Payload {
    Payload::Spawn(SpawnFrame::Ask(SpawnAsk {
        id: RequestId::new(id).unwrap(),
        member: SpawnOptions {
            name: "dora".to_owned(),
            role: "coder".to_owned(),
            ..SpawnOptions::default()
        },
    }))
}

fn send(from: &Core, to: &str, payloads: Vec<Payload>) {
    let outbox = from.outbox(&host(to));
    outbox.unwrap().append(payloads).unwrap();
}

/// Hands over everything that a host has sent, and tells that host; it takes nothing itself.
fn ask(from: &mut Core, to: &mut Core) {
    hand_over(from, to);
    to.collect().unwrap();
}

#[test]
fn an_ask_that_comes_again_and_again_is_answered_once_while_the_answer_waits() {
    let place = tempfile::tempdir().unwrap();
    let (_laptop, _gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    // Neither of them accepts spawns.
    send(&b, "laptop", vec![spawn("s1"), create("c1")]);
    ask(&mut b, &mut a);
    let before = pending(&a, "gpu1");
    for _ in 0..100 {
        send(&b, "laptop", vec![spawn("s1"), create("c1")]);
        ask(&mut b, &mut a);
    }
    assert_eq!(pending(&a, "gpu1"), before);
    let is_answer = |frame: &&Frame| {
        matches!(
            frame.payload,
            Payload::Spawn(SpawnFrame::Answer(_)) | Payload::Board(BoardFrame::Answer(_))
        )
    };
    assert_eq!(before.iter().filter(is_answer).count(), 2);
}

#[test]
fn a_host_that_takes_no_answers_is_told_no_more_until_it_takes_some() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, _gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    // What 128 MiB of answers take is put there at once.
    let long = "x".repeat(MAX_LINE_BYTES);
    while a.outbox(&host("gpu1")).unwrap().pending_bytes() <= 128 << 20 {
        let said = BoardFrame::Answer(BoardAnswer {
            id: RequestId::new("old").unwrap(),
            outcome: BoardOutcome::Refused {
                reason: long.clone(),
                missing: None,
                is_lease_over: false,
                is_too_many: false,
            },
        });
        send(&a, "gpu1", vec![Payload::Board(said)]);
    }
    let full = a.outbox(&host("gpu1")).unwrap().last().clone();
    for asked in [create("c1"), spawn("s1")] {
        send(&b, "laptop", vec![asked]);
        let frames = pending(&b, "laptop");
        for _ in 0..3 {
            let refused = a.apply(&frames).unwrap_err();
            let is_it = matches!(&refused, ApplyError::TooMuchWaits(from) if *from == host("gpu1"));
            assert!(is_it, "{refused}");
        }
        assert_eq!(a.outbox(&host("gpu1")).unwrap().last(), &full);
        assert_eq!(tasks(&laptop), 0);
        assert_eq!(laptop.taken_spawns().unwrap(), []);
    }
    // It takes some of what waits, and what it has asked is decided.
    let taken = a
        .outbox(&host("gpu1"))
        .unwrap()
        .pending()
        .nth(2)
        .unwrap()
        .seq;
    a.outbox(&host("gpu1")).unwrap().accept(taken).unwrap();
    hand_over(&mut b, &mut a);
    assert_eq!(tasks(&laptop), 1);
    assert_eq!(laptop.taken_spawns().unwrap().len(), 1);
}
