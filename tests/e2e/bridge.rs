//! `bridge`: two workspaces as two hosts, each with a home folder of its own.

mod answers;
mod leases;
mod nats;
mod network;
mod requests;
mod shown;
mod spawn;
mod sshd;
mod trees;

use crate::harness::{LIMIT, Session, Workspace, agent, recipient, signal};
use nix::sys::signal::Signal;
use protocol::{Actor, Body, HostId, Incarnation, Line, Message, exit};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use teamdir::{MemberSession, WatchChoice};
use test_support::{try_wait_for, wait_until};

/// The name of the host that is called.
const CALLED: &str = "gpu1";
/// The name of the host that calls.
const CALLER: &str = "laptop";

/// A host that calls, and one that is called.
struct Hosts {
    laptop: Workspace,
    gpu: Workspace,
    /// `team-lead` as the called host has it installed.
    program: PathBuf,
    /// What is used in place of `ssh`: it runs the command on this machine.
    ssh: PathBuf,
    scratch: tempfile::TempDir,
}

impl Hosts {
    fn new(at_laptop: &[&str], at_gpu: &[&str]) -> Self {
        Self::of(
            Workspace::with_members(at_laptop),
            Workspace::with_members(at_gpu),
        )
    }

    fn of(laptop: Workspace, gpu: Workspace) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let program = scratch.path().join("team-lead");
        let lines = format!(
            "#!/bin/sh\nexport HOME='{}' TEAM_FSYNC=off TEAM_READY_TIMEOUT=120 TEAM_TEST_WORKSPACE='{}'\nexec '{}' \"$@\"\n",
            gpu.home().display(),
            gpu.path().display(),
            env!("CARGO_BIN_EXE_team-lead")
        );
        script(&program, &lines);
        let ssh = scratch.path().join("ssh");
        script(
            &ssh,
            "#!/bin/sh\nfor last; do :; done\nexec sh -c \"exec $last\"\n",
        );
        Self {
            laptop,
            gpu,
            program,
            ssh,
            scratch,
        }
    }

    /// Starts the bridge that calls with this command and address.
    fn call(&self, ssh: &str, address: &str) -> Session {
        let program = self.program.to_str().unwrap();
        let mut command = self.laptop.command(&["bridge", address, "--name", CALLER]);
        command.args(["--remote-program", program]);
        self.laptop.start_command(command.env("TEAM_SSH", ssh))
    }

    fn address(&self) -> String {
        format!("ssh://{CALLED}{}", self.gpu.path().display())
    }

    fn bridge(&self) -> Session {
        self.call(self.ssh.to_str().unwrap(), &self.address())
    }

    /// Waits until each host knows this member of the other one.
    #[track_caller]
    fn wait_linked(&self, session: &Session, at_laptop: &str, at_gpu: &str) {
        for (workspace, name, host) in [
            (&self.laptop, at_gpu, CALLED),
            (&self.gpu, at_laptop, CALLER),
        ] {
            let what = format!("{name} of {host} to be known: {}", session.err());
            wait_until(&what, LIMIT, || {
                let roster = workspace.team().roster().unwrap();
                let member = roster.member(&agent(name));
                member.is_some_and(|member| member.host == HostId::new(host).ok())
            });
        }
    }

    /// The process that the call has started on the called host.
    fn called_process(&self) -> Option<u32> {
        let program = env!("CARGO_BIN_EXE_team-lead");
        let found = self.gpu.processes().into_iter();
        let mut found =
            found.filter(|(_, line)| line.starts_with(program) && line.contains("--stdio"));
        found.next().map(|(pid, _)| pid)
    }

    /// How many frames neither host knows to be accepted.
    fn frames_waiting(&self) -> u64 {
        let there = self.laptop.team().frames_waiting(&host(CALLED)).unwrap();
        there + self.gpu.team().frames_waiting(&host(CALLER)).unwrap()
    }
}

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

fn script(path: &Path, lines: &str) {
    fs::write(path, lines).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The unread texts of somebody, each after its sender. After a bridge was killed a message may be in the inbox twice,
/// which its reader takes once.
fn mail(workspace: &Workspace, owner: &str) -> Vec<String> {
    let mut messages = workspace.inbox(&recipient(owner));
    let mut seen = std::collections::HashSet::new();
    messages.retain(|message| {
        message.id.is_none() || seen.insert((message.from.clone(), message.id.clone()))
    });
    messages.iter().map(text_of).collect()
}

fn text_of(message: &Message) -> String {
    let from = message.from.as_ref().expect("a sender");
    format!("{from}: {}", message.body.text())
}

#[track_caller]
fn wait_for_mail(workspace: &Workspace, owner: &str, expected: &[&str]) {
    wait_until(&format!("mail of {owner}"), LIMIT, || {
        mail(workspace, owner).len() >= expected.len()
    });
    assert_eq!(mail(workspace, owner), expected);
}

#[test]
fn mail_crosses_both_ways_and_waits_while_no_bridge_runs() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    laptop
        .run(&["send", "bob", "hello"])
        .has_code(exit::NOT_FOUND);
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    assert_eq!(laptop.shown("bob")["host"], CALLED);
    let sent = laptop.run(&["send", "bob", "one"]);
    assert_eq!(sent.has_code(exit::DONE).err, "queued for the host gpu1\n");
    wait_for_mail(gpu, "bob", &["user: one"]);
    gpu.ok(&["send", "alice", "two"]);
    wait_for_mail(laptop, "alice", &["user@gpu1: two"]);

    bridge.signal(Signal::SIGINT);
    bridge.wait(LIMIT);
    wait_until("the end of the other side", LIMIT, || {
        hosts.called_process().is_none()
    });
    for (workspace, to, expected) in [(laptop, "bob", CALLED), (gpu, "lead", CALLER)] {
        let sent = workspace.run(&["send", to, "three"]);
        let said = format!("queued for the host {expected}; no bridge runs here");
        assert!(sent.has_code(exit::DONE).err.contains(&said), "{sent:?}");
    }
    assert_eq!(mail(gpu, "bob").len(), 1);
    let again = hosts.bridge();
    wait_for_mail(gpu, "bob", &["user: one", "user: three"]);
    wait_for_mail(laptop, "lead", &["user@gpu1: three"]);
    drop(again);
}

/// How many messages a sender sends between two kills.
const BETWEEN_KILLS: usize = 40;

/// How many messages each sender may have sent by now, and whether more will be allowed.
#[derive(Default)]
struct Allowed {
    count: AtomicUsize,
    is_over: AtomicBool,
}

/// Sends messages as they are allowed. Returns how many that were.
fn traffic(workspace: &Workspace, from: &str, to: &str, allowed: &Allowed) -> usize {
    let sender = Actor::member(agent(from), Incarnation(1));
    let mut count = 0;
    loop {
        wait_until("leave to send", LIMIT, || {
            count < allowed.count.load(Ordering::SeqCst) || allowed.is_over.load(Ordering::SeqCst)
        });
        if allowed.is_over.load(Ordering::SeqCst) {
            return count;
        }
        // Without the limit of messages that one member may send to another in a minute.
        let content = count.to_string();
        let mut message = sender.sign(Message::new(Body::Message { content }));
        message.to = Some(recipient(to));
        team::send_message(workspace.team(), message).unwrap();
        count += 1;
    }
}

/// Kills one side after the other, each when more mail has crossed both ways.
fn kill_bridges(hosts: &Hosts, allowed: &Allowed) -> Session {
    let arrived = || {
        (
            mail(&hosts.laptop, "alice").len(),
            mail(&hosts.gpu, "bob").len(),
        )
    };
    let mut bridge = hosts.bridge();
    for round in 1..=6 {
        let before = arrived();
        allowed.count.fetch_add(BETWEEN_KILLS, Ordering::SeqCst);
        let what = format!("mail after {} kills: {}", round - 1, bridge.err());
        wait_until(&what, LIMIT, || {
            let now = arrived();
            now.0 > before.0 + round && now.1 > before.1 + round
        });
        if round % 2 == 0 {
            bridge.signal(Signal::SIGKILL);
            bridge.wait(LIMIT);
            bridge = hosts.bridge();
        } else {
            let pid = hosts.called_process();
            signal(pid.expect("mail crosses, so it runs"), Signal::SIGKILL);
        }
    }
    bridge
}

#[test]
fn every_message_arrives_once_and_in_order_whichever_bridge_is_killed() {
    let hosts = Hosts::new(&["alice", "ann"], &["bob", "ben"]);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    drop(bridge);
    let allowed = Allowed::default();
    let ways = [
        (&hosts.laptop, "alice", &hosts.gpu, "bob"),
        (&hosts.laptop, "ann", &hosts.gpu, "bob"),
        (&hosts.gpu, "bob", &hosts.laptop, "alice"),
        (&hosts.gpu, "ben", &hosts.laptop, "alice"),
    ];
    let (sent, bridge) = std::thread::scope(|scope| {
        let allowed = &allowed;
        let senders = ways
            .map(|(from, sender, _, to)| scope.spawn(move || traffic(from, sender, to, allowed)));
        // The senders end however this ends, so that a failure is told.
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            kill_bridges(&hosts, allowed)
        }));
        allowed.is_over.store(true, Ordering::SeqCst);
        let sent = senders.map(|sender| sender.join().unwrap());
        (
            sent,
            killed.unwrap_or_else(|why| std::panic::resume_unwind(why)),
        )
    });
    let came = try_wait_for(LIMIT, || {
        let mut last = ways.iter().zip(sent);
        let is_there = last.all(|((_, sender, there, to), count)| {
            mail(there, to).contains(&format!("{sender}: {}", count - 1))
        });
        (is_there && hosts.frames_waiting() == 0).then_some(())
    });
    let waiting = hosts.frames_waiting();
    assert!(came.is_some(), "{waiting} frames wait: {}", bridge.err());
    let delivered = [
        delivered(&hosts.gpu, "bob"),
        delivered(&hosts.laptop, "alice"),
    ];
    for (number, ((_, sender, _, _), count)) in ways.iter().zip(sent).enumerate() {
        let mut found = delivered[number / 2].clone();
        found.retain(|text| text.starts_with(&format!("{sender}: ")));
        let expected: Vec<_> = (0..count).map(|n| format!("{sender}: {n}")).collect();
        assert_eq!(found, expected, "what {sender} sent");
    }
    let all = delivered.iter().map(Vec::len).sum::<usize>();
    assert_eq!(all, sent.iter().sum::<usize>(), "nothing of anybody else");
}

/// What a member gets when it reads its mail. A bridge that was killed before it could note what it stored
/// stores it again, under the same identifiers, by which whoever reads recognises it.
fn delivered(workspace: &Workspace, owner: &str) -> Vec<String> {
    let opened = MemberSession::open(workspace.team(), &recipient(owner), WatchChoice::Poll);
    let mut member = opened.unwrap();
    let mut texts = Vec::new();
    while let Some(delivery) = member.try_next().unwrap() {
        assert!(delivery.bad.is_empty(), "{:?}", delivery.bad);
        for entry in delivery.mail {
            let Line::Message(message) = entry.decode() else {
                panic!("{entry:?}");
            };
            texts.push(text_of(&message));
        }
    }
    texts
}

#[test]
fn a_second_bridge_is_refused_with_the_one_that_runs() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let address = hosts.address();
    for args in [["bridge", &address], ["bridge", "--forget=gpu1"]] {
        let said = format!("another bridge runs for this team: process {}", bridge.id());
        let next = format!("kill {}", bridge.id());
        laptop.run(&args).complains(exit::HELD, &said, &next);
    }
    let pid = hosts.called_process().unwrap();
    let said = format!("another bridge runs for this team: process {pid}");
    gpu.run(&["bridge", "--stdio"])
        .complains(exit::HELD, &said, &format!("kill {pid}"));

    bridge.signal(Signal::SIGKILL);
    bridge.wait(LIMIT);
    laptop
        .run(&["bridge", &address, "--name", "other"])
        .complains(
            exit::FAILED,
            "this host is called 'laptop' in this team, not 'other'",
            "team-lead bridge --help",
        );
    let said = laptop.ok(&["bridge", "--forget", CALLED]);
    let place = said
        .trim()
        .strip_prefix("Forgot the host gpu1; what was kept of it is in ");
    assert!(Path::new(place.expect(&said)).exists(), "{said}");
    laptop
        .run(&["send", "bob", "hello"])
        .has_code(exit::NOT_FOUND);
    let said = laptop.ok(&["bridge", "--forget", CALLED]);
    assert_eq!(said, "Nothing is kept of a host gpu1\n");
    // The other host kept what it knew, and says which command begins anew.
    let refused = hosts.bridge().end();
    let said = "team-lead bridge --forget laptop";
    assert!(
        refused.has_code(exit::FAILED).err.contains(said),
        "{refused:?}"
    );
    wait_until("the end of the other side", LIMIT, || {
        hosts.called_process().is_none()
    });
    gpu.ok(&["bridge", "--forget", CALLER]);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
}

#[test]
fn wrong_addresses_are_refused_and_hosts_that_do_not_answer_are_called_again() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let laptop = &hosts.laptop;
    for address in ["gpu1", "http://gpu1/p", "ssh://gpu1", "ssh://-oX=y/p"] {
        let run = laptop.run(&["bridge", address]);
        let err = &run.has_code(exit::USAGE).err;
        assert!(err.contains("write ssh://HOST/PATH"), "{run:?}");
        assert!(err.contains("--help"), "{run:?}");
    }
    let bridge = hosts.call("/does/not/exist", &hosts.address());
    bridge.wait_for_error_text("ssh cannot be started");
    bridge.wait_for_error_text("the next try is in");
    drop(bridge);
    let bridge = hosts.call(hosts.ssh.to_str().unwrap(), "ssh://gpu1/does/not/exist");
    bridge.wait_for_error_text("the next try is in");
    drop(bridge);
    let bridge = hosts.call(
        hosts.ssh.to_str().unwrap(),
        &format!("ssh://{CALLER}{}", hosts.gpu.path().display()),
    );
    let refused = bridge.end();
    let said = "both hosts are called 'laptop'";
    assert!(
        refused.has_code(exit::FAILED).err.contains(said),
        "{refused:?}"
    );
}

#[test]
fn a_unit_of_systemd_is_printed_instead() {
    let laptop = Workspace::new();
    let unit = laptop.ok(&[
        "bridge",
        "ssh://gpu1/~/a%b",
        "--name",
        CALLER,
        "--ssh",
        "ssh -v",
        "--service",
    ]);
    let words = format!(
        "ExecStart=\"{}\" \"bridge\" \"--dir\" \"{}\" \"--name\" \"laptop\" \"--ssh\" \"ssh -v\" \"ssh://gpu1/~/a%%b\"\n",
        env!("CARGO_BIN_EXE_team-lead"),
        laptop.path().display()
    );
    assert!(unit.contains(&words), "{unit}");
    for part in [
        "[Unit]\n",
        "[Service]\n",
        "Restart=on-failure\n",
        "RestartPreventExitStatus=1 2 3\n",
        "[Install]\n",
    ] {
        assert!(unit.contains(part), "{unit}");
    }
}
