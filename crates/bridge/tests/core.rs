//! Two folders as two hosts, without a transport: frames are handed over by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "core/board.rs"]
mod board;
#[path = "core/bundles.rs"]
mod bundles;
#[path = "core/faults.rs"]
mod faults;
#[path = "core/flood.rs"]
mod flood;
#[path = "core/requests.rs"]
mod requests;
#[path = "core/spawns.rs"]
mod spawns;

use bridge::Core;
use proptest::prelude::*;
use protocol::{Actor, AgentName, Frame, HostId, Incarnation, Line, Member, Payload, Recipient};
use std::path::Path;
use teamdir::{Durability, MemberSession, Options, Outbox, RosterError, TeamDir};

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

fn team(place: &Path, members: &[&str]) -> TeamDir {
    std::fs::create_dir_all(place).unwrap();
    let options = Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    };
    let team = TeamDir::create(place, "default", options).unwrap();
    team.update_roster(|roster| {
        for name in members {
            let name = AgentName::new(name).unwrap();
            roster.members.push(Member::new(name, "coder"));
        }
        Ok::<_, RosterError>(())
    })
    .unwrap();
    team
}

fn open(team: &TeamDir, name: &str, peer: &str) -> Core {
    let mut core = Core::open(team, Some(&host(name)), &host(name)).unwrap();
    core.meet(&host(peer)).unwrap();
    if name != "laptop" {
        core.follow_lead(&host("laptop")).unwrap();
    }
    core
}

/// A laptop with the lead and these members, and a host with alice.
fn two_hosts(place: &Path, members: &[&str]) -> (TeamDir, TeamDir, Core, Core) {
    let laptop = team(&place.join("a"), members);
    let gpu = team(&place.join("b"), &["alice"]);
    let a = open(&laptop, "laptop", "gpu1");
    let b = open(&gpu, "gpu1", "laptop");
    (laptop, gpu, a, b)
}

fn pending(core: &Core, peer: &str) -> Vec<Frame> {
    let outbox = core.outbox(&host(peer)).unwrap();
    outbox.pending().take(64).cloned().collect()
}

/// Hands the frames over and tells the sender.
fn cross(from: &mut Core, to: &mut Core) {
    from.collect().unwrap();
    hand_over(from, to);
    from.settle().unwrap();
}

/// Hands over what is in the outbox, and collects nothing new.
fn hand_over(from: &mut Core, to: &mut Core) {
    let peer = to.me().clone();
    loop {
        let frames = pending(from, peer.as_str());
        if frames.is_empty() {
            return;
        }
        to.apply(&frames).unwrap();
        to.settle().unwrap();
        let settled = to.settled(from.me()).unwrap().unwrap();
        from.outbox(&peer).unwrap().accept(settled.seq).unwrap();
    }
}

fn member(name: &str) -> Actor {
    Actor::member(AgentName::new(name).unwrap(), Incarnation(1))
}

fn inbox(team: &TeamDir, owner: &str) -> Vec<String> {
    let owner: Recipient = owner.parse().unwrap();
    let mut found = Vec::new();
    team.unread_mail(&owner, |_, line| match line {
        Line::Message(message) => found.push(message.body.text().to_owned()),
        other => found.push(format!("{other:?}")),
    })
    .unwrap();
    found
}

/// What its reader takes. After a kill the inbox may hold a message twice.
fn taken(team: &TeamDir, owner: &str) -> Vec<String> {
    let owner: Recipient = owner.parse().unwrap();
    let mut reader = MemberSession::open_dead(team, &owner).unwrap();
    let mut found = Vec::new();
    while let Some(delivery) = reader.try_next().unwrap() {
        for mail in delivery.mail {
            match mail.decode() {
                Line::Message(message) => found.push(message.body.text().to_owned()),
                other => found.push(format!("{other:?}")),
            }
        }
    }
    found
}

#[test]
fn mail_crosses_both_ways_with_its_sender() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    let alice = AgentName::new("alice").unwrap();
    let known = laptop.roster().unwrap();
    assert_eq!(known.member(&alice).unwrap().host, Some(host("gpu1")));
    assert_eq!(gpu.roster().unwrap().lead_host, Some(host("laptop")));
    assert_eq!(laptop.roster().unwrap().lead_host, None);

    team::send(&laptop, &member("bob"), alice.into(), "hi alice").unwrap();
    team::send(&gpu, &member("alice"), Recipient::Lead, "hi lead").unwrap();
    std::fs::write(gpu.layout().inbox(&"bob".parse().unwrap()), "plain words\n").unwrap();
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    assert_eq!(inbox(&gpu, "alice"), ["hi alice"]);
    assert_eq!(inbox(&laptop, "lead"), ["hi lead"]);
    assert_eq!(inbox(&laptop, "bob"), ["plain words"]);
}

#[test]
fn a_host_speaks_only_for_those_at_home_there() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    // In the name of the lead and of a member of the other host, and of the person here.
    team::send(&gpu, &member("bob"), Recipient::Lead, "as bob").unwrap();
    team::send(
        &gpu,
        &Actor::lead(Incarnation(1)),
        Recipient::Lead,
        "as lead",
    )
    .unwrap();
    team::send(&gpu, &Actor::user(), Recipient::Lead, "as user").unwrap();
    cross(&mut b, &mut a);
    assert_eq!(inbox(&laptop, "lead"), ["as user"]);
    let text = std::fs::read_to_string(laptop.layout().inbox(&Recipient::Lead)).unwrap();
    assert!(text.contains(r#""from":"user@gpu1""#), "{text}");
    let mut dead = Vec::new();
    laptop
        .read_dead_letters(|found| dead.push(found.reason))
        .unwrap();
    assert_eq!(dead.len(), 2, "{dead:?}");
}

/// A member that reads mail for a later incarnation takes itself for replaced, and ends.
#[test]
fn no_host_ends_a_member_with_mail_for_an_incarnation_that_there_was_not_yet() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu) = (
        team(&place.path().join("a"), &[]),
        team(&place.path().join("b"), &["alice"]),
    );
    let (mut a, mut b) = (
        open(&laptop, "laptop", "gpu1"),
        open(&gpu, "gpu1", "laptop"),
    );
    cross(&mut b, &mut a);
    let line = r#"{"type":"message","id":"1","from":"user","to_incarnation":7,"content":"later"}"#;
    let inbox_here = laptop.layout().inbox(&"alice".parse().unwrap());
    std::fs::write(inbox_here, format!("{line}\n")).unwrap();
    team::send(&laptop, &Actor::user(), "alice".parse().unwrap(), "now").unwrap();
    cross(&mut a, &mut b);
    assert_eq!(inbox(&gpu, "alice"), ["now"]);
    let mut dead = Vec::new();
    gpu.read_dead_letters(|found| dead.push(found.reason))
        .unwrap();
    assert!(dead[0].contains("incarnation 7 of 'alice'"), "{dead:?}");
}

/// An outbox whose end was torn is replaced. What was accepted, but may not be recorded as read, must stay
/// known, or a second kill would send it again.
#[test]
fn mail_of_a_torn_outbox_is_known_after_a_second_kill() {
    let place = tempfile::tempdir().unwrap();
    let laptop = team(place.path(), &[]);
    let to: Recipient = "alice".parse().unwrap();
    let line = |id: &str, from: &str| {
        let line = serde_json::json!({"type": "message", "id": id, "from": from, "content": "x"});
        line.as_object().unwrap().clone()
    };
    let mail = |id: &str| {
        let (to, line) = (to.clone(), line(id, "user"));
        vec![Payload::Mail { to, line }]
    };
    let guard = laptop.lock_bridge().unwrap();
    let outbox = || Outbox::open(&laptop, &guard, &host("laptop"), &host("gpu1")).unwrap();
    let mut first = outbox();
    first.append(mail("1")).unwrap();
    first.accept(1).unwrap();
    first.save_mark().unwrap();
    let path = laptop.layout().outbox(&host("gpu1"));
    let torn = std::fs::read_to_string(&path).unwrap() + "{\"from\"";
    std::fs::write(&path, torn).unwrap();
    let mut second = outbox();
    second.append(mail("2")).unwrap();
    let mut third = outbox();
    assert_eq!(
        third.pending().map(|frame| frame.seq).collect::<Vec<_>>(),
        [2]
    );
    for id in ["1", "2"] {
        assert!(third.has_stored(&to, &line(id, "user")), "{id}");
        // An id belongs to its sender.
        assert!(!third.has_stored(&to, &line(id, "bob")), "{id}");
    }
    third.readers_are_done();
    assert!(!third.has_stored(&to, &line("1", "user")));
    assert_eq!(laptop.frames_waiting(&host("gpu1")).unwrap(), 1);
}

#[test]
fn the_journal_of_forwarded_mail_does_not_grow_for_ever() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu) = (
        team(&place.path().join("a"), &[]),
        team(&place.path().join("b"), &["alice"]),
    );
    let (mut a, mut b) = (
        open(&laptop, "laptop", "gpu1"),
        open(&gpu, "gpu1", "laptop"),
    );
    cross(&mut b, &mut a);
    cross(&mut a, &mut b);
    let alice: Recipient = "alice".parse().unwrap();
    let journal = laptop.layout().transcript(&alice);
    let size = || std::fs::metadata(&journal).unwrap().len();
    let mut largest = 0;
    for number in 0..24 {
        let text = format!("{number} {}", "x".repeat(400_000));
        team::send(&laptop, &Actor::user(), alice.clone(), &text).unwrap();
        if number % 5 == 4 {
            drop(a);
            a = open(&laptop, "laptop", "gpu1");
        }
        cross(&mut a, &mut b);
        largest = largest.max(size());
    }
    assert!(largest < 6 << 20, "{largest} bytes");
    let found = inbox(&gpu, "alice");
    let numbers = found.iter().map(|text| text.split(' ').next().unwrap());
    let expected: Vec<String> = (0..24).map(|number| number.to_string()).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), expected);
}

#[test]
fn an_old_disk_and_a_second_host_of_the_name_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross(&mut a, &mut b);
    cross(&mut b, &mut a);
    drop(b);
    let old = place.path().join("old");
    let copied = std::process::Command::new("cp")
        .args([
            "-r".as_ref(),
            place.path().join("b").as_os_str(),
            old.as_os_str(),
        ])
        .status();
    assert!(copied.unwrap().success());
    let mut b = open(&gpu, "gpu1", "laptop");
    team::send(&gpu, &member("alice"), Recipient::Lead, "one").unwrap();
    cross(&mut b, &mut a);
    // The copy goes on where the disk was.
    let gpu_old = TeamDir::open(&old, Options::default()).unwrap();
    let mut twin = open(&gpu_old, "gpu1", "laptop");
    team::send(&gpu_old, &member("alice"), Recipient::Lead, "another").unwrap();
    twin.collect().unwrap();
    let refused = a.apply(&pending(&twin, "laptop")).unwrap_err().to_string();
    assert!(refused.contains("old disk"), "{refused}");
    // A new host of the name begins anew.
    let other = team(&place.path().join("c"), &["alice"]);
    let mut c = open(&other, "gpu1", "laptop");
    c.collect().unwrap();
    let refused = a.apply(&pending(&c, "laptop")).unwrap_err().to_string();
    assert!(refused.contains("begins a new stream"), "{refused}");
    assert_eq!(inbox(&laptop, "lead"), ["one"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is repeated, lost on the way or restarted in between: all mail comes, once and in order.
    #[test]
    fn nothing_is_lost_or_doubled(steps in proptest::collection::vec(0_u8..8, 1..60)) {
        let place = tempfile::tempdir().unwrap();
        let laptop = team(&place.path().join("a"), &[]);
        let gpu = team(&place.path().join("b"), &["alice"]);
        let (mut a, mut b) = (open(&laptop, "laptop", "gpu1"), open(&gpu, "gpu1", "laptop"));
        cross(&mut b, &mut a);
        cross(&mut a, &mut b);
        let mut sent = Vec::new();
        for step in steps {
            match step {
                0 | 1 => {
                    let text = format!("message {}", sent.len());
                    team::send(&laptop, &Actor::user(), "alice".parse().unwrap(), &text).unwrap();
                    sent.push(text);
                }
                2 => a.collect().unwrap(),
                // Applied, and the acknowledgement is lost.
                3 => b.apply(&pending(&a, "gpu1")).unwrap(),
                6 => a.settle().unwrap(),
                7 => b.settle().unwrap(),
                4 => {
                    drop(a);
                    a = open(&laptop, "laptop", "gpu1");
                }
                _ => {
                    drop(b);
                    b = open(&gpu, "gpu1", "laptop");
                }
            }
        }
        cross(&mut a, &mut b);
        prop_assert_eq!(taken(&gpu, "alice"), sent);
    }
}
