//! What neither a kill, nor a broken file, nor another host may do to the board and to the link.

use crate::board::{World, alice};
use crate::{host, pending};
use protocol::{
    AskEnd, BoardAsk, BoardChange, BoardFrame, BoardOutcome, Frame, Incarnation, MAX_FRAME_BYTES,
    MAX_LINE_BYTES, Party, Payload, Priority, RequestId, TaskChange, TaskId, TaskStatus,
};
use rules::{ClaimLimit, Edit, NewTask};
use std::path::PathBuf;
use std::time::Duration;
use team::{Actor, BoardError, Update, Worker};
use teamdir::{Options, RosterError, TeamDir};

/// The home is killed after it has made a change: neither the mark, nor the note of the decision, nor the answer
/// is there.
struct Kill {
    files: [(PathBuf, Vec<u8>); 2],
    decided: PathBuf,
}

impl Kill {
    fn prepare(world: &World) -> Self {
        let layout = world.laptop.layout();
        let mark = layout.bridge_peer_dir(&host("gpu1")).join("in.json");
        let decided = mark.with_file_name("decided.json");
        let files = [mark, layout.outbox(&host("gpu1"))].map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            (path, bytes)
        });
        Self { files, decided }
    }

    fn happen(&self, world: &mut World) {
        let World { a, laptop, .. } = world;
        // The lock of the bridge has to be free.
        let place = tempfile::tempdir().unwrap();
        let other = crate::team(place.path(), &[]);
        drop(std::mem::replace(a, crate::open(&other, "laptop", "gpu1")));
        for (path, bytes) in &self.files {
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::remove_file(&self.decided).unwrap();
        *a = crate::open(laptop, "laptop", "gpu1");
    }
}

fn ask(id: &str, by: Party, change: BoardChange) -> BoardAsk {
    BoardAsk {
        id: RequestId::new(id).unwrap(),
        by,
        incarnation: None,
        lease: None,
        change,
    }
}

/// Has the other host ask this, and hands it over.
fn asked(world: &mut World, ask: BoardAsk) -> Vec<Frame> {
    let ask = Payload::Board(BoardFrame::Ask(ask));
    let outbox = world.b.outbox(&host("laptop"));
    outbox.unwrap().append(vec![ask]).unwrap();
    let frames = pending(&world.b, "laptop");
    world.a.apply(&frames).unwrap();
    frames
}

fn task_file(team: &TeamDir, id: u32) -> PathBuf {
    team.layout().tasks_dir().join(format!("task_{id}.json"))
}

fn remove_alice(team: &TeamDir) {
    team.update_roster(|roster| {
        roster.members.clear();
        Ok::<_, RosterError>(())
    })
    .unwrap();
}

fn held(world: &World) -> Vec<TaskId> {
    let held = team::unfinished(&world.gpu, &alice().me).unwrap();
    held.iter().map(|task| task.id).collect()
}

fn bob() -> Worker {
    Worker {
        me: crate::member("bob"),
        role: "coder".to_owned(),
    }
}

#[test]
fn an_outcome_for_a_member_that_has_left_does_not_stop_the_link() {
    let mut world = World::new();
    let id = world.create("One");
    world.link(false);
    let note = Update {
        edit: Edit {
            subject: Some("First".to_owned()),
            ..Edit::default()
        },
        ..Update::default()
    };
    let queued = team::update(&world.gpu, &alice(), id, &note).unwrap_err();
    assert!(matches!(queued, BoardError::Queued { .. }), "{queued}");
    world.b.collect().unwrap();
    remove_alice(&world.gpu);
    world.cross();
    world.cross();
    assert_eq!(world.at_home(id).subject, "First");
    assert_eq!(world.laptop.frames_waiting(&host("gpu1")).unwrap(), 0);
}

#[test]
fn a_broken_task_file_refuses_what_is_asked_about_it() {
    let mut world = World::new();
    let id = world.create("One");
    std::fs::write(task_file(&world.laptop, 1), "no task").unwrap();
    let refused = world.asking(|gpu| team::complete(gpu, &Actor::user(), id, None));
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, BoardError::RefusedThere { .. }),
        "{refused}"
    );
}

#[test]
fn what_is_too_long_for_the_news_is_not_stored_and_other_news_goes_on() {
    let mut world = World::new();
    let create = BoardChange::Create {
        subject: "Long".to_owned(),
        description: String::new(),
        priority: Priority::default(),
        role: Some("r".repeat(MAX_FRAME_BYTES - 600)),
        blocked_by: Vec::new(),
    };
    asked(&mut world, ask("11112222", Party::User, create));
    assert_eq!(world.laptop.tasks().unwrap().len(), 0);
    let reply = pending(&world.a, "gpu1").pop().unwrap().payload;
    let Payload::Board(BoardFrame::Answer(answer)) = reply else {
        panic!("{reply:?}");
    };
    assert!(matches!(answer.outcome, BoardOutcome::Refused { .. }));
    // Also what a program of this host has written is told in a form that fits.
    let long = NewTask {
        subject: "Long".to_owned(),
        role: Some("r".repeat(MAX_FRAME_BYTES)),
        ..NewTask::default()
    };
    team::create(&world.laptop, &Actor::user(), &long).unwrap();
    world.cross();
    let shown = team::list(&world.gpu).unwrap().board.to_string();
    assert_eq!(shown, "[ ] #1: Long");
}

#[test]
fn an_answer_about_many_long_tasks_fits_into_a_frame() {
    let mut world = World::new();
    for _ in 0..3 {
        let long = NewTask {
            subject: "Long".to_owned(),
            description: "x".repeat(MAX_LINE_BYTES / 10 * 9),
            ..NewTask::default()
        };
        let task = team::create(&world.laptop, &Actor::user(), &long).unwrap();
        let claimed = world.asking(|gpu| team::claim(gpu, &alice(), task.id, ClaimLimit::Many));
        assert_eq!(claimed.unwrap().id, task.id);
    }
    let Party::Member(name) = alice().me.party else {
        panic!("alice is a member");
    };
    team::release_all(&world.gpu, &name, Incarnation(1), "she died").unwrap();
    world.cross();
    let tasks = world.laptop.tasks().unwrap();
    assert!(
        tasks
            .iter()
            .flatten()
            .all(|task| task.status == TaskStatus::Pending)
    );
    assert_eq!(held(&world), []);
}

#[test]
fn a_change_of_several_files_is_finished_after_a_kill_in_its_middle() {
    let mut world = World::new();
    for subject in ["One", "Two"] {
        let id = world.create(subject);
        world
            .asking(|gpu| team::claim(gpu, &alice(), id, ClaimLimit::Many))
            .unwrap();
    }
    let kill = Kill::prepare(&world);
    let second = std::fs::read(task_file(&world.laptop, 2)).unwrap();
    let ended = BoardChange::ReleaseEnded {
        up_to: Incarnation(1),
        why: "she died".to_owned(),
    };
    let frames = asked(&mut world, ask("11112222", alice().me.party, ended));
    std::fs::write(task_file(&world.laptop, 2), second).unwrap();
    kill.happen(&mut world);
    world.a.apply(&frames).unwrap();
    for id in [TaskId(1), TaskId(2)] {
        assert_eq!(world.at_home(id).status, TaskStatus::Pending);
    }
    world.cross();

    team::complete(&world.laptop, &Actor::user(), TaskId(1), None).unwrap();
    team::add_blocked_by(&world.laptop, &Actor::user(), TaskId(2), &[TaskId(1)]).unwrap();
    let kill = Kill::prepare(&world);
    let first = std::fs::read(task_file(&world.laptop, 1)).unwrap();
    let delete = BoardChange::Delete { task: TaskId(1) };
    let frames = asked(&mut world, ask("33334444", Party::User, delete));
    std::fs::write(task_file(&world.laptop, 1), first).unwrap();
    kill.happen(&mut world);
    world.a.apply(&frames).unwrap();
    assert!(!task_file(&world.laptop, 1).exists());
    assert_eq!(world.at_home(TaskId(2)).blocked_by, []);
}

#[test]
fn an_ask_is_decided_once_although_it_could_not_be_recorded_as_applied_at_first() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, _gpu, mut a, mut b) = crate::two_hosts(place.path(), &[]);
    crate::cross(&mut a, &mut b);
    crate::cross(&mut b, &mut a);
    drop(a);
    // The mark then takes the place of the one before by its name.
    let safe = TeamDir::open(&place.path().join("a"), Options::default()).unwrap();
    let mut a = crate::open(&safe, "laptop", "gpu1");
    for (id, subject) in [("11112222", "One"), ("33334444", "Two")] {
        let change = BoardChange::Create {
            subject: subject.to_owned(),
            description: String::new(),
            priority: Priority::default(),
            role: None,
            blocked_by: Vec::new(),
        };
        let ask = Payload::Board(BoardFrame::Ask(ask(id, Party::User, change)));
        let outbox = b.outbox(&host("laptop"));
        outbox.unwrap().append(vec![ask]).unwrap();
    }
    let frames = pending(&b, "laptop");
    a.applied(&host("gpu1")).unwrap();
    // The disk takes what is decided, and not that it was applied.
    let folder = laptop.layout().bridge_peer_dir(&host("gpu1"));
    let (mark, kept) = (folder.join("in.json"), folder.join("kept.json"));
    std::fs::rename(&mark, &kept).unwrap();
    std::fs::create_dir_all(mark.join("full")).unwrap();
    for _ in 0..3 {
        a.apply(&frames).unwrap_err();
        assert_eq!(laptop.tasks().unwrap().len(), 1);
    }
    std::fs::rename(&mark, folder.join("full")).unwrap();
    std::fs::rename(&kept, &mark).unwrap();
    // It is killed, and all comes again.
    drop(a);
    let mut a = crate::open(&safe, "laptop", "gpu1");
    a.apply(&frames).unwrap();
    let tasks = laptop.tasks().unwrap();
    let tasks = tasks.iter().flatten();
    let subjects: Vec<&str> = tasks.map(|task| task.subject.as_str()).collect();
    assert_eq!(subjects, ["One", "Two"]);
}

#[test]
fn a_claim_that_is_asked_again_is_not_that_of_somebody_else() {
    let mut world = World::new();
    let id = world.create("One");
    let kill = Kill::prepare(&world);
    let gpu = world.gpu.clone();
    let asking =
        std::thread::spawn(move || team::claim(&gpu, &alice(), TaskId(1), ClaimLimit::One));
    let is_ask = |frame: &Frame| matches!(frame.payload, Payload::Board(BoardFrame::Ask(_)));
    let frames = test_support::wait_for("an ask", Duration::from_secs(30), || {
        world.b.collect().unwrap();
        let frames = pending(&world.b, "laptop");
        frames.iter().any(is_ask).then_some(frames)
    });
    world.a.apply(&frames).unwrap();
    kill.happen(&mut world);
    team::release(&world.laptop, &Actor::user(), id, "for bob").unwrap();
    team::claim(&world.laptop, &bob(), id, ClaimLimit::One).unwrap();
    world.a.apply(&frames).unwrap();
    world.cross();
    let refused = asking.join().unwrap().unwrap_err().to_string();
    assert!(refused.contains("bob"), "{refused}");
    assert_eq!(world.at_home(id).owner.0, Some(bob().me.party));
    assert!(world.gpu.board_claims().unwrap().is_empty());
}

#[test]
fn a_claim_that_is_held_is_not_given_back() {
    let mut world = World::new();
    let id = world.create("One");
    world.asking(|gpu| team::claim_next(gpu, &alice())).unwrap();
    let change = TaskChange {
        task: id,
        status: Some(TaskStatus::InProgress),
        note: Some("half done".to_owned()),
        ..TaskChange::default()
    };
    let change = BoardChange::Update(Box::new(change));
    let ask = ask("11112222", alice().me.party, change);
    world.gpu.put_ask(&ask).unwrap();
    world.b.collect().unwrap();
    // Nobody waits any more.
    world.gpu.end_ask(&ask.id, &AskEnd::Withdrawn).unwrap();
    world.cross();
    world.cross();
    let home = world.at_home(id);
    assert_eq!(home.status, TaskStatus::InProgress);
    let last = home.history.last().unwrap();
    assert_eq!(last.note.as_deref(), Some("half done"));
    assert_eq!(held(&world), [id]);
}

#[test]
fn a_queued_end_of_a_claim_that_is_refused_leaves_the_claim() {
    let mut world = World::new();
    let id = world.create("One");
    world.asking(|gpu| team::claim_next(gpu, &alice())).unwrap();
    world.link(false);
    let change = Update {
        status: Some(TaskStatus::Pending),
        add_blocked_by: vec![TaskId(99)],
        ..Update::default()
    };
    let queued = team::update(&world.gpu, &alice(), id, &change).unwrap_err();
    assert!(matches!(queued, BoardError::Queued { .. }), "{queued}");
    assert_eq!(held(&world), []);
    world.link(true);
    world.cross();
    assert_eq!(world.at_home(id).status, TaskStatus::InProgress);
    assert_eq!(held(&world), [id]);
    let done = world.asking(|gpu| team::complete(gpu, &alice().me, id, None));
    assert_eq!(done.unwrap().status, TaskStatus::Completed);
}

#[test]
fn what_a_member_has_asked_counts_although_it_has_left_and_its_other_tasks_come_back() {
    let mut world = World::new();
    for subject in ["One", "Two"] {
        let id = world.create(subject);
        world
            .asking(|gpu| team::claim(gpu, &alice(), id, ClaimLimit::Many))
            .unwrap();
    }
    world.link(false);
    let queued = team::complete(&world.gpu, &alice().me, TaskId(1), Some("42")).unwrap_err();
    assert!(matches!(queued, BoardError::Queued { .. }), "{queued}");
    remove_alice(&world.gpu);
    world.cross();
    assert_eq!(world.at_home(TaskId(1)).result.as_deref(), Some("42"));
    assert_eq!(world.at_home(TaskId(2)).status, TaskStatus::Pending);
}
