//! Members that are asked for here and started there, under kills at each step. Nothing is started: the process that
//! would do it is played by the test.

use crate::{cross, host, open, two_hosts};
use bridge::Core;
use protocol::{
    AgentName, EventKind, Extra, Frame, HostSpawn, Incarnation, Member, Payload, RequestId,
    SpawnAnswer, SpawnAsk, SpawnFrame, SpawnOptions, SpawnOutcome, SpawnRefusal,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use teamdir::{RosterError, TeamDir, TeamFileError, now};
use test_support::{try_wait_for, wait_until};

/// The asks for which a process was begun.
type Begun = Rc<RefCell<Vec<String>>>;

struct World {
    laptop: TeamDir,
    gpu: TeamDir,
    a: Option<Core>,
    b: Option<Core>,
    begun: Begun,
    _place: tempfile::TempDir,
}

impl World {
    /// Two hosts that know each other, and of which the second one starts members.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let (laptop, gpu, a, b) = two_hosts(place.path(), &["bob"]);
        let mut world = Self {
            laptop,
            gpu,
            a: Some(a),
            b: Some(b),
            begun: Begun::default(),
            _place: place,
        };
        world.accept();
        world.cross();
        world
    }

    fn accept(&mut self) {
        let begun = Rc::clone(&self.begun);
        self.b().accept_spawns(Box::new(move |id| {
            begun.borrow_mut().push(id.to_string());
            Ok(())
        }));
    }

    fn a(&mut self) -> &mut Core {
        self.a.as_mut().unwrap()
    }

    fn b(&mut self) -> &mut Core {
        self.b.as_mut().unwrap()
    }

    fn cross(&mut self) {
        for _ in 0..2 {
            let (a, b) = (self.a.as_mut().unwrap(), self.b.as_mut().unwrap());
            cross(a, b);
            cross(b, a);
        }
    }

    fn ask(&self, id: &str, name: &str) -> RequestId {
        let spawn = sent(id, name);
        let no_check = |_: &[HostSpawn]| Ok::<_, TeamFileError>(());
        self.laptop.put_sent_spawn(&spawn, no_check).unwrap();
        spawn.ask.id
    }

    /// What the process for an ask does, up to its end.
    fn start(&self, id: &RequestId, name: &str) {
        let guard = self.gpu.lock_taken_spawn(id).unwrap();
        let mut member = Member::new(AgentName::new(name).unwrap(), "coder");
        member.asked = Some(id.clone());
        self.gpu
            .update_roster(|roster| {
                roster.members.push(member.clone());
                Ok::<_, RosterError>(())
            })
            .unwrap();
        self.gpu.end_taken_spawn(&guard, started()).unwrap();
    }

    fn outcome(&self, id: &RequestId) -> Option<SpawnOutcome> {
        self.laptop.sent_spawn(id).unwrap().unwrap().outcome
    }

    fn why(&self, id: &RequestId) -> SpawnRefusal {
        match self.outcome(id) {
            Some(SpawnOutcome::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }
}

fn sent(id: &str, name: &str) -> HostSpawn {
    HostSpawn {
        host: host("gpu1"),
        ask: SpawnAsk {
            id: RequestId::new(id).unwrap(),
            member: SpawnOptions {
                name: name.to_owned(),
                role: "coder".to_owned(),
                ..SpawnOptions::default()
            },
        },
        at: now(),
        told: false,
        outcome: None,
        ended_at: None,
        extra: Extra::new(),
    }
}

const fn started() -> SpawnOutcome {
    let incarnation = Incarnation(1);
    SpawnOutcome::Started { incarnation }
}

/// Has a host send this, whatever its files say.
fn send(core: &Core, to: &str, said: SpawnFrame) {
    let outbox = core.outbox(&host(to));
    outbox.unwrap().append(vec![Payload::Spawn(said)]).unwrap();
}

fn ask_frames(core: &Core, to: &str) -> Vec<Frame> {
    let outbox = core.outbox(&host(to)).unwrap();
    let is_ask = |frame: &&Frame| matches!(frame.payload, Payload::Spawn(SpawnFrame::Ask(_)));
    outbox.pending().filter(is_ask).cloned().collect()
}

#[test]
fn an_ask_is_carried_out_once_and_its_outcome_comes_back() {
    let mut world = World::new();
    let id = world.ask("a1", "dora");
    world.cross();
    assert_eq!(*world.begun.borrow(), ["a1"]);
    assert_eq!(world.outcome(&id), None);
    // Its process is at work.
    world.cross();
    assert_eq!(*world.begun.borrow(), ["a1"]);
    world.start(&id, "dora");
    world.cross();
    assert_eq!(world.outcome(&id), Some(started()));
    let roster = world.laptop.roster().unwrap();
    let dora = roster.member(&AgentName::new("dora").unwrap()).unwrap();
    assert_eq!(dora.host, Some(host("gpu1")));
    world.cross();
    assert_eq!(*world.begun.borrow(), ["a1"]);
}

#[test]
fn whichever_bridge_is_killed_an_ask_is_kept_once_and_answered() {
    let mut world = World::new();
    let id = world.ask("a1", "dora");
    world.a().collect().unwrap();
    // It is in the outbox, and its file does not say so yet.
    let path = world.laptop.layout().sent_spawns_dir().join("a1.json");
    let mut file: HostSpawn = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    file.told = false;
    world.a = None;
    std::fs::write(&path, serde_json::to_vec(&file).unwrap()).unwrap();
    world.a = Some(open(&world.laptop, "laptop", "gpu1"));
    world.a().collect().unwrap();
    assert_eq!(ask_frames(world.a(), "gpu1").len(), 2);
    // The other host is killed when it has stored the ask, and before it counts as applied.
    let mark = world
        .gpu
        .layout()
        .bridge_peer_dir(&host("laptop"))
        .join("in.json");
    let before = std::fs::read(&mark).unwrap();
    let frames = crate::pending(world.a(), "gpu1");
    world.b().apply(&frames).unwrap();
    world.b = None;
    std::fs::write(&mark, before).unwrap();
    world.b = Some(open(&world.gpu, "gpu1", "laptop"));
    world.accept();
    world.cross();
    assert_eq!(world.gpu.taken_spawns().unwrap().len(), 1);
    assert_eq!(*world.begun.borrow(), ["a1"]);
    world.start(&id, "dora");
    // It is killed when the outcome is in the outbox, and its file does not say so yet.
    world.b().collect().unwrap();
    let path = world.gpu.layout().taken_spawns_dir().join("a1.json");
    let mut file: HostSpawn = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(file.told);
    file.told = false;
    world.b = None;
    std::fs::write(&path, serde_json::to_vec(&file).unwrap()).unwrap();
    world.b = Some(open(&world.gpu, "gpu1", "laptop"));
    world.accept();
    world.cross();
    assert_eq!(world.outcome(&id), Some(started()));
    assert_eq!(events(&world.laptop), ["started"]);
    assert_eq!(*world.begun.borrow(), ["a1"]);
}

/// What the event log says of asks.
fn events(team: &TeamDir) -> Vec<String> {
    let text = std::fs::read_to_string(team.layout().events()).unwrap_or_default();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter_map(|event: protocol::Event| match event.kind {
            EventKind::HostSpawn { action, .. } => Some(action),
            _ => None,
        })
        .collect()
}

#[test]
fn a_process_that_was_killed_is_begun_again_and_one_at_work_is_not() {
    let mut world = World::new();
    let id = world.ask("a1", "dora");
    world.cross();
    let guard = world.gpu.lock_taken_spawn(&id).unwrap();
    // Longer than the pause after which it would be begun again.
    let again = try_wait_for(Duration::from_millis(2500), || {
        world.cross();
        (world.begun.borrow().len() > 1).then_some(())
    });
    assert_eq!(again, None);
    drop(guard);
    wait_until("another process", Duration::from_secs(60), || {
        world.cross();
        world.begun.borrow().len() == 2
    });
    assert_eq!(*world.begun.borrow(), ["a1", "a1"]);
}

#[test]
fn an_old_ask_that_is_sent_again_starts_nothing() {
    let mut world = World::new();
    let id = world.ask("a1", "dora");
    world.cross();
    world.start(&id, "dora");
    world.cross();
    // The member is gone since, so that its name is free.
    world
        .gpu
        .update_roster(|roster| {
            roster.members.retain(|member| member.asked.is_none());
            Ok::<_, RosterError>(())
        })
        .unwrap();
    send(world.a(), "gpu1", SpawnFrame::Ask(sent("a1", "dora").ask));
    world.cross();
    assert_eq!(*world.begun.borrow(), ["a1"]);
    assert_eq!(world.outcome(&id), Some(started()));
}

#[test]
fn what_is_not_accepted_is_refused_with_its_reason_and_stays_refused() {
    let mut world = World::new();
    world.b = None;
    world.b = Some(open(&world.gpu, "gpu1", "laptop"));
    let id = world.ask("a1", "dora");
    world.cross();
    assert_eq!(world.why(&id), SpawnRefusal::NotAccepted);
    // The same ask is refused by a bridge that would accept it, as it was before.
    world.accept();
    send(world.a(), "gpu1", SpawnFrame::Ask(sent("a1", "dora").ask));
    world.cross();
    assert_eq!(world.begun.borrow().len(), 0);
    for (id, name, expected) in [
        ("a2", "alice", SpawnRefusal::NameTaken),
        ("a3", "bob", SpawnRefusal::NameTaken),
        ("a4", "../dora", SpawnRefusal::Name),
        ("a5", "аlice", SpawnRefusal::Name),
    ] {
        let id = world.ask(id, name);
        world.cross();
        assert_eq!(world.why(&id), expected, "{name}");
    }
    assert_eq!(world.begun.borrow().len(), 0);
    assert_eq!(events(&world.laptop).len(), 5);
}

#[test]
fn a_host_without_the_lead_may_not_ask() {
    let mut world = World::new();
    let begun = Begun::default();
    let counted = Rc::clone(&begun);
    world.a().accept_spawns(Box::new(move |id| {
        counted.borrow_mut().push(id.to_string());
        Ok(())
    }));
    send(world.b(), "laptop", SpawnFrame::Ask(sent("b1", "eve").ask));
    world.cross();
    let taken = world.laptop.taken_spawns().unwrap();
    let refused = matches!(
        &taken[0].outcome,
        Some(SpawnOutcome::Refused {
            why: SpawnRefusal::NotTheLead,
            ..
        })
    );
    assert!(refused, "{taken:?}");
    assert!(begun.borrow().is_empty());
    // An answer that nobody has asked for changes nothing.
    let answer = SpawnAnswer {
        id: RequestId::new("zz").unwrap(),
        outcome: started(),
    };
    send(world.b(), "laptop", SpawnFrame::Answer(answer));
    world.cross();
    assert!(world.laptop.sent_spawns().unwrap().is_empty());
}

#[test]
fn a_flood_of_asks_is_bounded_on_the_disk_and_in_processes() {
    let mut world = World::new();
    for number in 0..300 {
        let mut ask = sent(&format!("f{number}"), &format!("m{number}")).ask;
        ask.member.prompt = Some("x".repeat(2000));
        send(world.a(), "gpu1", SpawnFrame::Ask(ask));
    }
    world.cross();
    let begun: BTreeSet<String> = world.begun.borrow().iter().cloned().collect();
    assert_eq!(begun.len(), rules::MAX_OPEN_SPAWNS);
    let taken = world.gpu.taken_spawns().unwrap();
    let open = taken.iter().filter(|spawn| spawn.outcome.is_none()).count();
    assert_eq!(open, rules::MAX_OPEN_SPAWNS);
    // Of those that have ended the newest are kept, without what was too much to say.
    let folder = world.gpu.layout().taken_spawns_dir();
    let count = files(&folder);
    assert!(count <= 200 + rules::MAX_OPEN_SPAWNS, "{count} files");
    let refused = taken.iter().filter(|spawn| spawn.outcome.is_some());
    assert!(refused.clone().count() > 0);
    assert!(
        refused
            .into_iter()
            .all(|spawn| spawn.ask.member.prompt.is_none())
    );
}

fn files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().flatten();
    names
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .count()
}
