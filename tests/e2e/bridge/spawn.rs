//! `spawn --host`: members that are started on another host, whichever process is killed on the way.

use super::nats::{broker, start};
use super::{CALLED, CALLER, Hosts, script};
use crate::harness::{LIMIT, Run, Session, Workspace, agent, signal};
use nix::sys::signal::Signal;
use protocol::{Incarnation, exit};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use test_support::{SshServer, report_skip, wait_for, wait_until};

/// The same as [`Hosts::call`], for a host that starts members.
fn call_accepting(hosts: &Hosts, ssh: &str, address: &str) -> Session {
    let program = hosts.program.to_str().unwrap();
    let mut command = hosts.laptop.command(&["bridge", address, "--name", CALLER]);
    command.args(["--remote-program", program, "--accept-spawns"]);
    hosts.laptop.start_command(command.env("TEAM_SSH", ssh))
}

fn linked(hosts: &Hosts) -> Session {
    let bridge = call_accepting(hosts, hosts.ssh.to_str().unwrap(), &hosts.address());
    hosts.wait_linked(&bridge, "alice", "bob");
    bridge
}

/// In place of `teammate`: it counts its starts and waits for a file.
struct Gate {
    starts: PathBuf,
    open: PathBuf,
    program: PathBuf,
}

impl Gate {
    fn new(folder: PathBuf) -> Self {
        let gate = Self {
            starts: folder.join("starts"),
            open: folder.join("open"),
            program: folder.join("gated-teammate"),
        };
        let lines = format!(
            "#!/bin/sh\necho start >> '{}'\nwhile [ ! -e '{}' ]; do sleep 0.05; done\nexec '{}' \"$@\"\n",
            gate.starts.display(),
            gate.open.display(),
            env!("CARGO_BIN_EXE_teammate")
        );
        script(&gate.program, &lines);
        gate
    }

    fn starts(&self) -> usize {
        fs::read_to_string(&self.starts).map_or(0, |text| text.lines().count())
    }

    fn wait_for_starts(&self, count: usize) {
        wait_until(&format!("{count} starts"), LIMIT, || self.starts() >= count);
    }

    fn open(&self) {
        fs::write(&self.open, "").unwrap();
    }
}

/// The process that starts a member on this host.
fn starting(workspace: &Workspace) -> Option<u32> {
    let mut found = workspace.processes().into_iter();
    let found = found.find(|(_, line)| line.contains("--start-asked"));
    found.map(|(pid, _)| pid)
}

fn wait_for_starting(workspace: &Workspace) -> u32 {
    wait_for("the process that starts a member", LIMIT, || {
        starting(workspace)
    })
}

/// How the asks of this host stand.
fn spawns(workspace: &Workspace) -> Vec<Value> {
    workspace.json(&["status"])["spawns"]
        .as_array()
        .unwrap()
        .clone()
}

/// Waits until the member runs on its host, once, and is known to be there on the other one.
#[track_caller]
fn wait_for_one(laptop: &Workspace, gpu: &Workspace, name: &str) {
    wait_until(&format!("{name} to run and to be known"), LIMIT, || {
        let known = laptop.team().roster().unwrap();
        gpu.alive(name).is_some()
            && known.member(&agent(name)).is_some()
            && spawns(laptop).is_empty()
    });
    wait_until("no process that starts it", LIMIT, || {
        starting(gpu).is_none()
    });
    wait_until("one process of the member", LIMIT, || {
        let mut found = gpu.processes();
        found.retain(|(_, line)| {
            line.contains("teammate") && line.contains(&format!("--name {name}"))
        });
        found.len() == 1
    });
    assert!(spawns(gpu).is_empty(), "{:?}", spawns(gpu));
}

/// The incarnations of a member that were ready.
fn readied(workspace: &Workspace, name: &str) -> Vec<u64> {
    let events = workspace.events().into_iter();
    let ready = events.filter(|event| event["event"] == "ready" && event["member"] == name);
    ready
        .map(|event| event["incarnation"].as_u64().unwrap())
        .collect()
}

/// What cannot be asked for is refused with the next step, here or there.
fn check_refusals(laptop: &Workspace) {
    // Here and there, one has the name.
    for host in [CALLED, "gpu2"] {
        laptop
            .run(&["spawn", "Dora", "coder", "--host", host])
            .complains(
                exit::FAILED,
                "(name_taken): 'dora' is a member on the host 'gpu1' already",
                "team-lead status",
            );
    }
    for (words, why) in [
        (
            &["eve", "king"][..],
            "(role): this host has no role 'king'; it has: coder",
        ),
        (
            &["eve", "coder", "--model", "script:/etc/passwd"],
            "(model): no setting of this host",
        ),
        (&["eve/../x", "coder"], "(name)"),
        (&["1ead", "coder"], "(name)"),
    ] {
        let words = [&["spawn", "--host", CALLED], words].concat();
        laptop
            .run(&words)
            .complains(exit::FAILED, why, "team-lead status");
    }
    for option in [
        &["--exec", "id"][..],
        &["--allow", "Bash"],
        &["--yes"],
        &["--sandbox", "off"],
    ] {
        let words = [&["spawn", "eve", "coder", "--host", CALLED], option].concat();
        let next = "team-lead spawn --help";
        laptop.run(&words).complains(exit::USAGE, option[0], next);
    }
}

#[test]
fn a_member_is_started_on_another_host_over_a_real_server_of_ssh() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let test = "a_member_is_started_on_another_host_over_a_real_server_of_ssh";
    let server = match SshServer::start(&hosts.scratch.path().join("sshd"), CALLED) {
        Ok(server) => server,
        Err(skip) => return report_skip(test, skip),
    };
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    gpu.write("team.toml", "[roles.coder]\nprompt = \"You write code.\"\n");
    gpu.run(&["trust", "--yes"]);
    let address = format!("ssh://{CALLED}:{}{}", server.port(), gpu.path().display());
    let bridge = call_accepting(&hosts, &server.command(), &address);
    hosts.wait_linked(&bridge, "alice", "bob");
    let words = [
        "spawn",
        "dora",
        "coder",
        "--host",
        CALLED,
        "--require-plan",
        "--deny",
        "Bash(rm *)",
    ];
    let spawned = laptop.ok(&words);
    assert_eq!(spawned, "Spawned 'dora' (role: coder) on the host 'gpu1'\n");
    wait_for_one(laptop, gpu, "dora");
    let roster = gpu.team().roster().unwrap();
    let dora = roster.member(&agent("dora")).unwrap();
    assert_eq!(dora.spec.require_plan, Some(true));
    assert_eq!(dora.spec.permissions.as_ref().unwrap().deny, ["Bash(rm *)"]);
    assert_eq!(laptop.shown("dora")["host"], CALLED);
    let events = laptop.ok(&["events", "--words"]);
    for text in ["dora on gpu1 asked", "dora on gpu1 started"] {
        assert!(events.contains(text), "{events}");
    }
    check_refusals(laptop);
    // This host has that name itself.
    laptop.ok(&["spawn", "frank", "coder", "--host", CALLER]);
    assert!(laptop.alive("frank").is_some());
    // It outlives the connection that it was asked for over.
    let called = hosts.called_process().unwrap();
    signal(called, Signal::SIGKILL);
    wait_until("another call", LIMIT, || {
        hosts.called_process().is_some_and(|pid| pid != called)
    });
    assert_eq!(
        gpu.alive("dora").map(|(_, number)| number),
        Some(Incarnation(1))
    );
    drop((bridge, server));
}

#[test]
fn without_the_option_on_its_bridge_a_host_starts_nothing_and_says_so() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    laptop
        .run(&["spawn", "dora", "coder", "--host", CALLED])
        .complains(
            exit::FAILED,
            "(not_accepted): the bridge of this host runs without --accept-spawns",
            "team-lead bridge --help",
        );
    let shown = laptop.ok(&["status"]);
    assert!(shown.contains("refused (not_accepted)"), "{shown}");
    assert!(
        gpu.team()
            .roster()
            .unwrap()
            .member(&agent("dora"))
            .is_none()
    );
    // The host without the lead asks nobody.
    gpu.run(&["spawn", "eve", "coder", "--host", CALLER])
        .complains(
            exit::FAILED,
            "(not_the_lead): only the host of the lead asks others, which is 'laptop'",
            "team-lead status",
        );
    drop(bridge);
}

#[test]
fn what_is_asked_of_a_host_that_cannot_be_reached_is_queued_and_done_once() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = linked(&hosts);
    bridge.signal(Signal::SIGKILL);
    bridge.wait(LIMIT);
    let said = laptop.ok(&["spawn", "dora", "coder", "--host", CALLED]);
    assert!(
        said.starts_with("Queued: the host 'gpu1' is asked to start 'dora' (ask "),
        "{said}"
    );
    assert!(said.contains("and no bridge runs here"), "{said}");
    assert_eq!(spawns(laptop)[0]["state"], "queued");
    laptop
        .run(&["spawn", "dora", "coder", "--host", CALLED])
        .complains(
            exit::FAILED,
            "(name_taken): the host 'gpu1' is asked to start one of that name",
            "team-lead status",
        );
    let said = laptop.ok(&["spawn", "eve", "coder", "--host", "gpuu1"]);
    assert!(said.contains("no bridge runs here"), "{said}");
    laptop.ok(&["bridge", "--forget", "gpuu1"]);
    let asks = spawns(laptop);
    let eve = asks.iter().find(|ask| ask["name"] == "eve").unwrap();
    assert_eq!(
        (&eve["state"], &eve["why"]),
        (&"refused".into(), &"forgotten".into())
    );
    let bridge = call_accepting(&hosts, hosts.ssh.to_str().unwrap(), &hosts.address());
    wait_until("dora on gpu1", LIMIT, || gpu.alive("dora").is_some());
    wait_until("the outcome", LIMIT, || spawns(laptop).len() == 1);
    let said = laptop.ok(&["spawn", "zoe", "coder", "--host", "nowhere"]);
    assert!(
        said.contains("no host of that name has been met (known are: gpu1"),
        "{said}"
    );
    assert_eq!(readied(gpu, "dora"), [1]);
    drop(bridge);
}

#[test]
fn whoever_is_killed_while_a_member_is_started_there_is_one() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let gate = Gate::new(hosts.scratch.path().to_path_buf());
    let lines = fs::read_to_string(&hosts.program).unwrap();
    let gated = format!("export TEAMMATE_BIN='{}'\nexec ", gate.program.display());
    script(&hosts.program, &lines.replace("exec ", &gated));
    let bridge = linked(&hosts);
    // The bridge is killed before it has stored the ask.
    let called = hosts.called_process().unwrap();
    signal(called, Signal::SIGSTOP);
    let asking = laptop.start(&["spawn", "dora", "coder", "--host", CALLED]);
    wait_until("the ask to be sent", LIMIT, || {
        spawns(laptop)
            .first()
            .is_some_and(|ask| ask["state"] == "sent")
    });
    assert!(gpu.team().taken_spawns().unwrap().is_empty());
    signal(called, Signal::SIGKILL);
    // It is killed when the ask is stored and the member is not started, and so is the process that starts it.
    gate.wait_for_starts(1);
    let first = wait_for_starting(gpu);
    signal(hosts.called_process().unwrap(), Signal::SIGKILL);
    signal(first, Signal::SIGKILL);
    gate.wait_for_starts(2);
    // The second one is killed when the member runs, and before it can say so.
    let second = wait_for("another process that starts it", LIMIT, || {
        starting(gpu).filter(|pid| *pid != first)
    });
    signal(second, Signal::SIGSTOP);
    gate.open();
    wait_until("dora to run", LIMIT, || gpu.alive("dora").is_some());
    wait_until("dora to be ready", LIMIT, || {
        !readied(gpu, "dora").is_empty()
    });
    signal(second, Signal::SIGKILL);
    let spawned = asking.end();
    assert_eq!(spawned.code, 0, "{spawned:?} {}", bridge.err());
    wait_for_one(laptop, gpu, "dora");
    assert_eq!(readied(gpu, "dora").len(), 1);
    // Those who come later find the outcome.
    let asked = gpu.team().taken_spawns().unwrap();
    assert_eq!(asked.len(), 1, "{asked:?}");
    drop(bridge);
}

#[test]
fn a_member_that_does_not_start_leaves_nothing_and_its_reason_comes_back() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let lines = fs::read_to_string(&hosts.program).unwrap();
    let broken = "export TEAMMATE_BIN=/bin/false\nexec ";
    script(&hosts.program, &lines.replace("exec ", broken));
    let bridge = linked(&hosts);
    let run = laptop.run(&["spawn", "dora", "coder", "--host", CALLED]);
    let err = &run.has_code(exit::FAILED).err;
    assert!(
        err.contains("its process ended before it was ready"),
        "{run:?}"
    );
    assert!(
        gpu.team()
            .roster()
            .unwrap()
            .member(&agent("dora"))
            .is_none()
    );
    assert!(gpu.ok(&["status"]).contains("bob"));
    drop(bridge);
}

#[test]
fn a_member_is_started_over_a_broker_although_the_bridge_there_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let test = "a_member_is_started_over_a_broker_although_the_bridge_there_is_killed";
    let Some((_broker, address)) = broker(place.path(), test) else {
        return;
    };
    let laptop = Workspace::with_members(&["bob"]);
    let gpu = Workspace::with_members(&["alice"]);
    let gate = Gate::new(place.path().to_path_buf());
    let start_gpu = || {
        let words = [
            "bridge",
            "--name",
            "gpu1",
            "--lead",
            "laptop",
            "--accept-spawns",
        ];
        let mut command = gpu.command(&words);
        command
            .env("TEAM_NATS_URL", &address)
            .env("TEAMMATE_BIN", &gate.program);
        gpu.start_command(&mut command)
    };
    let here = start(&laptop, &["--name", "laptop"], &address);
    let mut there = start_gpu();
    wait_until("the hosts know each other", LIMIT, || {
        let known = laptop.team().roster().unwrap();
        let known_there = gpu.team().roster().unwrap();
        known.member(&agent("alice")).is_some() && known_there.member(&agent("bob")).is_some()
    });
    let asking = laptop.start(&["--json", "spawn", "dora", "coder", "--host", "gpu1"]);
    gate.wait_for_starts(1);
    there.signal(Signal::SIGKILL);
    there.wait(LIMIT);
    let there = start_gpu();
    gate.open();
    let run: Run = asking.end();
    let said = format!("{} {}", here.err(), there.err());
    assert_eq!(run.json()["name"], "dora", "{said}");
    wait_for_one(&laptop, &gpu, "dora");
    assert_eq!(
        (gate.starts(), readied(&gpu, "dora")),
        (1, vec![1]),
        "{said}"
    );
    // The password of the broker is no business of a member.
    let pid = gpu.alive("dora").unwrap().0;
    let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&variables).contains("se-cret"));
}

#[test]
fn a_service_that_starts_members_does_not_end_them_with_itself() {
    let workspace = Workspace::new();
    let unit = workspace.ok(&[
        "bridge",
        "nats://broker",
        "--lead",
        "laptop",
        "--accept-spawns",
        "--service",
    ]);
    assert!(unit.contains("\"--accept-spawns\""), "{unit}");
    assert!(unit.contains("\nKillMode=process\n"), "{unit}");
    let unit = workspace.ok(&["bridge", "nats://broker", "--lead", "laptop", "--service"]);
    assert!(
        !unit.contains("KillMode") && !unit.contains("accept"),
        "{unit}"
    );
}
