//! The bridge over a network that delays, stalls, cuts frames in half, resets and refuses connections, over SSH and
//! over NATS.

use super::nats::{broker, start};
use super::{CALLED, Hosts, delivered};
use crate::harness::{LIMIT, Session, Workspace, agent, recipient};
use protocol::{Actor, Body, Incarnation, Message, RequestId, RequestStatus};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use test_support::{Network, Relay, Rng, SshServer, report_skip, try_wait_for, wait_until};

/// How many changes of the network there are, and how many messages each side sends between two of them.
const CHANGES: usize = 14;
const BETWEEN: usize = 5;

/// Two hosts that are linked through relays.
struct Link<'a> {
    laptop: &'a Workspace,
    gpu: &'a Workspace,
    relays: Vec<Relay>,
    bridges: Vec<Session>,
}

fn relay_to(port: u16) -> Relay {
    Relay::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap()
}

fn send(workspace: &Workspace, from: &str, to: &str, number: usize) {
    let content = number.to_string();
    let sender = Actor::member(agent(from), Incarnation(1));
    let mut message = sender.sign(Message::new(Body::Message { content }));
    message.to = Some(recipient(to));
    team::send_message(workspace.team(), message).unwrap();
}

impl Link<'_> {
    fn errors(&self) -> String {
        self.bridges.iter().map(Session::err).collect()
    }

    fn set(&self, network: Network) {
        self.relays.iter().for_each(|relay| relay.set(network));
    }

    fn wait_known(&self) {
        wait_until(
            &format!("the hosts know each other: {}", self.errors()),
            LIMIT,
            || {
                let knows = |workspace: &Workspace, name: &str| {
                    let roster = workspace.team().roster().unwrap();
                    roster
                        .member(&agent(name))
                        .is_some_and(|member| member.host.is_some())
                };
                knows(self.laptop, "bob") && knows(self.gpu, "alice")
            },
        );
    }

    /// Sends mail both ways, asks the board and a person, while the network changes. Returns how many messages
    /// each side has sent, and what is asked.
    fn work(&self, rng: &mut Rng) -> (usize, RequestId) {
        let faults = [
            Network::Good,
            Network::Slow(Duration::from_millis(30)),
            Network::Stalled,
            Network::HalfAndReset,
            Network::Refused,
        ];
        let (mut sent, mut plan) = (0, None);
        for change in 0..CHANGES {
            // Each of them at least once, then as it comes.
            let next = match change {
                0..5 => change,
                _ => rng.below(faults.len() as u64) as usize,
            };
            self.set(faults[next]);
            for _ in 0..BETWEEN {
                send(self.laptop, "alice", "bob", sent);
                send(self.gpu, "bob", "alice", sent);
                sent += 1;
                // The network stays as it is for a while.
                let pause = Duration::from_millis(20 + rng.below(60));
                let _ = try_wait_for(pause, || None::<()>);
            }
            if change == 3 {
                let bob = agent("bob");
                let asked = team::submit_plan(self.gpu.team(), &bob, Incarnation(1), "Look.");
                plan = Some(asked.unwrap().id);
            }
            if change == 4 {
                self.check_nothing_blocks();
            }
        }
        self.set(Network::Good);
        (sent, plan.unwrap())
    }

    /// While nothing can cross, what is sent is queued, and said to be.
    fn check_nothing_blocks(&self) {
        wait_until(
            &format!("the cut is shown: {}", self.errors()),
            LIMIT,
            || self.laptop.json(&["status"])["hosts"][0]["state"] == "unreachable",
        );
        let began = Instant::now();
        let run = self.laptop.run(&["send", "bob", "from a person"]);
        assert!(
            run.has_code(0).err.starts_with("queued for the host gpu1"),
            "{run:?}"
        );
        let queued = self.laptop.json(&["status"])["hosts"][0]["queued"].as_u64();
        assert!(queued > Some(0), "{queued:?}");
        wait_until("the cut is shown on the other host", LIMIT, || {
            self.gpu.json(&["status"])["hosts"][0]["state"] != "linked"
        });
        // The board is asked without anybody waiting for its home.
        let asked = self.gpu.run(&["task", "create", "From the other host"]);
        assert!(format!("{asked:?}").contains("queued"), "{asked:?}");
        assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    }

    /// Everything has arrived once, in its order.
    fn check(&self, sent: usize, plan: &RequestId) {
        wait_until(
            &format!("everything to cross: {}", self.errors()),
            LIMIT,
            || {
                let queued =
                    |workspace: &Workspace| workspace.json(&["status"])["hosts"][0]["queued"] != 0;
                let plan_is_there = team::find_request(self.laptop.team(), plan).is_ok();
                plan_is_there && !queued(self.laptop) && !queued(self.gpu)
            },
        );
        self.laptop.ok(&["approve", plan.as_str()]);
        wait_until("the answer at home", LIMIT, || {
            self.gpu.team().request(plan).unwrap().status() == RequestStatus::Approved
        });
        let tasks = |workspace: &Workspace| workspace.json(&["task", "list"])["tasks"].clone();
        wait_until("one task on both boards", LIMIT, || {
            let here = tasks(self.laptop);
            here.as_array().is_some_and(|tasks| tasks.len() == 1) && here == tasks(self.gpu)
        });
        let expected = |from: &str| {
            (0..sent)
                .map(|n| format!("{from}: {n}"))
                .collect::<Vec<_>>()
        };
        for (workspace, owner, from) in [(self.gpu, "bob", "alice"), (self.laptop, "alice", "bob")]
        {
            let mut found = delivered(workspace, owner);
            found.retain(|text| text.starts_with(&format!("{from}: ")));
            assert_eq!(found, expected(from), "what {from} sent");
        }
    }
}

#[test]
fn nothing_is_lost_or_doubled_over_ssh_whatever_the_network_does() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let server = match SshServer::start(&hosts.scratch.path().join("sshd"), CALLED) {
        Ok(server) => server,
        Err(skip) => {
            let test = "nothing_is_lost_or_doubled_over_ssh_whatever_the_network_does";
            return report_skip(test, skip);
        }
    };
    let relay = relay_to(server.port());
    let place = hosts.gpu.path().display();
    let address = format!("ssh://{CALLED}:{}{place}", relay.port());
    let bridge = hosts.call(&server.command(), &address);
    let link = Link {
        laptop: &hosts.laptop,
        gpu: &hosts.gpu,
        relays: vec![relay],
        bridges: vec![bridge],
    };
    link.wait_known();
    let (sent, plan) = link.work(&mut Rng::new(20));
    link.check(sent, &plan);
}

#[test]
fn nothing_is_lost_or_doubled_over_a_broker_whatever_the_network_does() {
    let place = tempfile::tempdir().unwrap();
    let test = "nothing_is_lost_or_doubled_over_a_broker_whatever_the_network_does";
    let Some((_broker, address)) = broker(place.path(), test) else {
        return;
    };
    let (laptop, gpu) = (
        Workspace::with_members(&["alice"]),
        Workspace::with_members(&["bob"]),
    );
    let (login, port) = address.rsplit_once(':').unwrap();
    let relays: Vec<Relay> = (0..2).map(|_| relay_to(port.parse().unwrap())).collect();
    let through = |relay: &Relay| format!("{login}:{}", relay.port());
    let bridges = vec![
        start(&laptop, &["--name", "laptop"], &through(&relays[0])),
        start(
            &gpu,
            &["--name", CALLED, "--lead", "laptop"],
            &through(&relays[1]),
        ),
    ];
    let link = Link {
        laptop: &laptop,
        gpu: &gpu,
        relays,
        bridges,
    };
    link.wait_known();
    let (sent, plan) = link.work(&mut Rng::new(21));
    link.check(sent, &plan);
}
