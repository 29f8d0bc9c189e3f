//! The board of the host with the lead, for a member of another host.

use crate::{cross, host, inbox, member, open, pending, two_hosts};
use bridge::Core;
use protocol::{
    BoardFrame, Incarnation, Party, Payload, Peer, Recipient, Task, TaskId, TaskStatus,
};
use rules::NewTask;
use std::time::Duration;
use team::{Actor, BoardError, Update, Worker};
use teamdir::TeamDir;

pub(crate) struct World {
    _place: tempfile::TempDir,
    pub(crate) laptop: TeamDir,
    pub(crate) gpu: TeamDir,
    pub(crate) a: Core,
    pub(crate) b: Core,
}

impl World {
    /// The board is at home on the laptop; alice is at home on the other host.
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let (laptop, gpu, a, b) = two_hosts(place.path(), &["bob"]);
        let mut world = Self {
            _place: place,
            laptop,
            gpu,
            a,
            b,
        };
        world.cross();
        world.link(true);
        world
    }

    /// Everything that waits is handed over.
    pub(crate) fn cross(&mut self) {
        cross(&mut self.b, &mut self.a);
        cross(&mut self.a, &mut self.b);
        cross(&mut self.b, &mut self.a);
    }

    /// Says on the other host whether the home of the board can be reached.
    pub(crate) fn link(&self, reachable: bool) {
        let peer = Peer {
            address: None,
            reachable,
            since: None,
            problem: (!reachable).then(|| "the cable is cut".to_owned()),
            extra: protocol::Extra::new(),
        };
        self.b.show_peer(&host("laptop"), &peer);
    }

    /// Does something on the other host that waits for an answer.
    pub(crate) fn asking<T: Send>(&mut self, ask: impl FnOnce(&TeamDir) -> T + Send) -> T {
        let gpu = self.gpu.clone();
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || ask(&gpu));
            while !asked.is_finished() {
                self.cross();
            }
            asked.join().unwrap()
        })
    }

    pub(crate) fn create(&mut self, subject: &str) -> TaskId {
        let new = NewTask {
            subject: subject.to_owned(),
            ..NewTask::default()
        };
        let task = team::create(&self.laptop, &Actor::user(), &new).unwrap();
        self.cross();
        task.id
    }

    pub(crate) fn at_home(&self, id: TaskId) -> Task {
        team::get(&self.laptop, id).unwrap()
    }
}

pub(crate) fn alice() -> Worker {
    Worker {
        me: member("alice"),
        role: "coder".to_owned(),
    }
}

fn party() -> Party {
    alice().me.party
}

fn count(task: &Task, action: &str) -> usize {
    let entries = task.history.iter();
    entries.filter(|entry| entry.action == action).count()
}

#[test]
fn a_member_elsewhere_claims_and_completes_a_task_by_asking_its_home() {
    let mut world = World::new();
    let id = world.create("One");
    let shown = team::list(&world.gpu).unwrap().board.to_string();
    assert_eq!(shown, "[ ] #1: One");
    let copy = team::describe_copy(&world.gpu).unwrap();
    assert!(copy.contains("laptop"), "{copy}");
    assert_eq!(team::describe_copy(&world.laptop), None);

    let claimed = world.asking(|gpu| team::claim_next(gpu, &alice()));
    assert_eq!(claimed.unwrap().unwrap().lease, Some(1));
    let home = world.at_home(id);
    assert_eq!((home.owner.0.clone(), home.lease), (Some(party()), Some(1)));
    assert_eq!(home.history.last().unwrap().host, Some(host("gpu1")));
    let held = team::unfinished(&world.gpu, &alice().me).unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!(
        team::unfinished(&world.laptop, &alice().me).unwrap().len(),
        1
    );

    let nothing = world.asking(|gpu| team::claim(gpu, &alice(), id, rules::ClaimLimit::One));
    let nothing = nothing.unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "task 1 is already yours: go on with it"
    );
    let done = world.asking(|gpu| team::complete(gpu, &alice().me, id, Some("It works.")));
    assert_eq!(done.unwrap().status, TaskStatus::Completed);
    assert_eq!(world.at_home(id).result.as_deref(), Some("It works."));
    assert!(
        team::unfinished(&world.gpu, &alice().me)
            .unwrap()
            .is_empty()
    );
    let missing = world.asking(|gpu| team::complete(gpu, &alice().me, TaskId(9), None));
    assert!(matches!(missing, Err(BoardError::NotFound(TaskId(9)))));
}

#[test]
fn an_ask_that_comes_again_is_done_once_and_gets_the_same_answer() {
    let mut world = World::new();
    let id = world.create("One");
    let mark = world
        .laptop
        .layout()
        .bridge_peer_dir(&host("gpu1"))
        .join("in.json");
    let before = std::fs::read(&mark).unwrap();
    let decided = mark.with_file_name("decided.json");
    let gpu = world.gpu.clone();
    let asking = std::thread::spawn(move || team::claim_next(&gpu, &alice()));
    let is_ask =
        |frame: &protocol::Frame| matches!(frame.payload, Payload::Board(BoardFrame::Ask(_)));
    let frames = test_support::wait_for("an ask", Duration::from_secs(30), || {
        world.b.collect().unwrap();
        let frames = pending(&world.b, "laptop");
        frames.iter().any(is_ask).then_some(frames)
    });
    // Killed after each step: the change, the note of how it was decided, the answer, and the mark.
    for step in 0..4 {
        world.a.apply(&frames).unwrap();
        std::fs::write(&mark, &before).unwrap();
        if step % 2 == 0 {
            std::fs::remove_file(&decided).unwrap();
        }
        let World { a, laptop, .. } = &mut world;
        // The lock of the bridge has to be free.
        let place = tempfile::tempdir().unwrap();
        let other = crate::team(place.path(), &[]);
        drop(std::mem::replace(a, open(&other, "laptop", "gpu1")));
        *a = open(laptop, "laptop", "gpu1");
    }
    world.a.apply(&frames).unwrap();
    let last = frames.last().unwrap().seq;
    world
        .b
        .outbox(&host("laptop"))
        .unwrap()
        .accept(last)
        .unwrap();
    world.cross();
    let claimed = asking.join().unwrap().unwrap().unwrap();
    assert_eq!((claimed.id, claimed.lease), (id, Some(1)));
    assert_eq!(count(&world.at_home(id), "claimed"), 1);
}

#[test]
fn what_is_done_under_a_lease_that_has_ended_is_refused_by_its_number() {
    let mut world = World::new();
    let id = world.create("One");
    world.asking(|gpu| team::claim_next(gpu, &alice())).unwrap();
    let note = Update {
        edit: rules::Edit {
            note: Some("half done".to_owned()),
            ..rules::Edit::default()
        },
        ..Update::default()
    };
    world
        .asking(|gpu| team::update(gpu, &alice(), id, &note))
        .unwrap();
    // The host is silent: nothing of it comes.
    world.a.set_lease(Duration::ZERO);
    world.a.collect().unwrap();
    let home = world.at_home(id);
    assert_eq!((home.status, home.lease), (TaskStatus::Pending, Some(1)));
    assert_eq!(home.history[2].note.as_deref(), Some("half done"));
    let why = home.history.last().unwrap().note.clone().unwrap();
    assert!(
        why.starts_with("claim 1 ended: the host gpu1 was silent"),
        "{why}"
    );
    let bob = Worker {
        me: member("bob"),
        role: "coder".to_owned(),
    };
    world.a.set_lease(Duration::from_secs(600));
    team::claim_next(&world.laptop, &bob).unwrap().unwrap();

    let late = world.asking(|gpu| team::complete(gpu, &alice().me, id, Some("42")));
    let late = late.unwrap_err().to_string();
    assert!(
        late.starts_with("your claim 1 of task 1 has ended; bob works on it under claim 2"),
        "{late}"
    );
    let mail = inbox(&world.laptop, "lead").join("\n");
    assert!(mail.contains("alice") && mail.ends_with("42"), "{mail}");
    // It no longer holds the task there either.
    assert!(
        team::unfinished(&world.gpu, &alice().me)
            .unwrap()
            .is_empty()
    );
    let again = world.asking(|gpu| team::complete(gpu, &alice().me, id, None));
    assert!(again.unwrap_err().to_string().contains("belongs to bob"));
    assert_eq!(
        team::complete(&world.laptop, &bob.me, id, None)
            .unwrap()
            .lease,
        Some(2)
    );
}

#[test]
fn without_a_link_changes_are_queued_and_claims_are_refused() {
    let mut world = World::new();
    let id = world.create("One");
    world.link(false);
    let refused = team::claim_next(&world.gpu, &alice())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("nothing was claimed"), "{refused}");
    assert!(refused.contains("the cable is cut"), "{refused}");
    let urgent = Update {
        edit: rules::Edit {
            subject: Some("First".to_owned()),
            ..rules::Edit::default()
        },
        ..Update::default()
    };
    let queued = team::update(&world.gpu, &alice(), id, &urgent).unwrap_err();
    assert!(queued.to_string().starts_with("queued: "), "{queued}");
    let shown = team::describe_copy(&world.gpu).unwrap();
    assert!(shown.contains("copy from"), "{shown}");
    assert_eq!(world.gpu.frames_waiting(&host("laptop")).unwrap(), 0);
    world.b.collect().unwrap();
    assert_eq!(world.gpu.frames_waiting(&host("laptop")).unwrap(), 1);
    world.cross();
    assert_eq!(world.at_home(id).subject, "First");
    let told = inbox(&world.gpu, "alice").join("\n");
    assert!(
        told.contains("task #1 was queued, and is done now"),
        "{told}"
    );
    world.cross();
    assert_eq!(inbox(&world.gpu, "alice").len(), 1);
}

#[test]
fn a_claim_that_is_granted_too_late_goes_back_to_the_board() {
    let mut world = World::new();
    let id = world.create("One");
    // Nobody carries it over in time, but the bridge has taken it.
    let gpu = world.gpu.clone();
    let asking = std::thread::spawn(move || team::claim_next(&gpu, &alice()));
    while !asking.is_finished() {
        world.b.collect().unwrap();
    }
    let late = asking.join().unwrap().unwrap_err().to_string();
    assert!(late.contains("has not answered yet"), "{late}");
    world.cross();
    world.cross();
    let home = world.at_home(id);
    assert_eq!(count(&home, "claimed"), 1);
    assert_eq!(home.status, TaskStatus::Pending);
    assert!(
        team::unfinished(&world.gpu, &alice().me)
            .unwrap()
            .is_empty()
    );
    // It is offered again.
    let again = world.asking(|gpu| team::claim_next(gpu, &alice()));
    assert_eq!(again.unwrap().map(|task| task.id), Some(id));
}

#[test]
fn the_end_of_a_member_elsewhere_returns_its_task() {
    let mut world = World::new();
    let id = world.create("One");
    world.asking(|gpu| team::claim_next(gpu, &alice())).unwrap();
    let Party::Member(name) = party() else {
        panic!("alice is a member");
    };
    let released = team::release_all(&world.gpu, &name, Incarnation(1), "alice died").unwrap();
    assert!(released.is_empty());
    assert!(
        team::unfinished(&world.gpu, &alice().me)
            .unwrap()
            .is_empty()
    );
    world.cross();
    let home = world.at_home(id);
    assert_eq!(home.status, TaskStatus::Pending);
    assert_eq!(
        home.history.last().unwrap().note.as_deref(),
        Some("alice died")
    );
    assert!(inbox(&world.gpu, "alice").is_empty());
    let again = world.asking(|gpu| team::resume_claim(gpu, &alice()));
    assert_eq!(again.unwrap().unwrap().lease, Some(2));
}

#[test]
fn merged_work_completes_its_task_under_the_claim_of_its_author() {
    let mut world = World::new();
    let id = world.create("One");
    world.asking(|gpu| team::claim_next(gpu, &alice())).unwrap();
    let Party::Member(name) = party() else {
        panic!("alice is a member");
    };
    team::complete_merged(&world.gpu, &name, id, Some("merged")).unwrap();
    assert!(
        team::unfinished(&world.gpu, &alice().me)
            .unwrap()
            .is_empty()
    );
    world.cross();
    let home = world.at_home(id);
    assert_eq!(home.result.as_deref(), Some("merged"));
    // Without the claim it is refused.
    let other = world.create("Two");
    team::complete_merged(&world.gpu, &name, other, None).unwrap();
    world.cross();
    assert_eq!(world.at_home(other).status, TaskStatus::Pending);
}

#[test]
fn a_host_asks_only_for_those_at_home_there() {
    let mut world = World::new();
    let id = world.create("One");
    let bob = Worker {
        me: member("bob"),
        role: "coder".to_owned(),
    };
    let refused = world.asking(|gpu| team::claim(gpu, &bob, id, rules::ClaimLimit::One));
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "'bob' is not at home on the host 'gpu1'");
    let lead = Actor::lead(Incarnation(1));
    let refused = world.asking(|gpu| team::complete(gpu, &lead, id, None));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("does not speak for lead")
    );
    let person = world.asking(|gpu| team::complete(gpu, &Actor::user(), id, None));
    assert_eq!(person.unwrap().status, TaskStatus::Completed);
    assert_eq!(inbox(&world.laptop, "lead"), Vec::<String>::new());
    assert_eq!(Recipient::Lead.to_string(), "lead");
}

#[test]
fn the_copy_follows_its_home_also_after_either_bridge_was_killed() {
    let mut world = World::new();
    world.create("One");
    world.create("Two");
    let board = |team: &TeamDir| team::list(team).unwrap().board.to_string();
    team::delete(&world.laptop, &Actor::user(), TaskId(1)).unwrap();
    world.cross();
    assert_eq!(board(&world.gpu), "[ ] #2: Two");
    // A power cut may empty what was not synced; a bridge that begins asks for all.
    let file = world.gpu.layout().board_copy_tasks().join("task_2.json");
    std::fs::write(file, "").unwrap();
    assert_eq!(board(&world.gpu), "No tasks.");
    let place = tempfile::tempdir().unwrap();
    let other = crate::team(place.path(), &[]);
    drop(std::mem::replace(&mut world.b, open(&other, "x", "y")));
    world.b = open(&world.gpu, "gpu1", "laptop");
    world.cross();
    assert_eq!(board(&world.gpu), "[ ] #2: Two");
}
