//! A host that asks for more changes of the board than its home decides.

use crate::{cross, hand_over, host, open, team, two_hosts};
use bridge::Core;
use protocol::{
    BoardAsk, BoardChange, BoardFrame, BoardOutcome, Party, Payload, Priority, RequestId, TaskId,
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
