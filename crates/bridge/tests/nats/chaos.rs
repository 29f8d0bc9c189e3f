//! Three hosts with four members each and a cluster of three servers, while bridges, servers and members are
//! killed and links are cut: each message is in its recipient's journal once, in the order of its sender, and each
//! task is completed once.
//!
//! `scripts/chaos --hosts 3 --minutes 5` runs it for longer.

use crate::network::{Link, Network};
use crate::work::{Work, reap};
use crate::world::{Host, LIMIT, Way, own_process};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use test_support::{
    NatsPlace, NatsServer, Rng, Worker, nats_cluster, report_skip, try_wait_for, wait_until,
};

/// How long faults are injected if nothing else is said.
const SECONDS: u64 = 15;
/// The time between two faults.
const BETWEEN: Duration = Duration::from_millis(700);
/// How long everything may take to arrive when the last fault is over.
const SETTLE: Duration = Duration::from_secs(180);
const HOSTS: [&str; 3] = ["laptop", "gpu1", "gpu2"];
const MEMBERS_EACH: usize = 4;
/// How many seconds a host may be silent until its claims end.
const LEASE: u64 = 3;
/// The time between two new tasks.
const BETWEEN_TASKS: Duration = Duration::from_millis(400);

/// What was done, for the report.
#[derive(Debug, Default)]
struct Faults {
    bridges: u32,
    servers: u32,
    members: u32,
    cuts: u32,
    lossy: u32,
}

struct World {
    servers: Vec<NatsServer>,
    hosts: Vec<Host>,
    ways: Vec<Way>,
    /// The processes of the members, in the order of their names.
    members: Vec<Worker>,
    /// How often each of them was started.
    incarnations: Vec<u64>,
    /// How many tasks the first host has created.
    tasks: usize,
    network: Option<Network>,
    /// How many messages each has sent to each.
    sent: BTreeMap<(usize, usize), usize>,
    faults: Faults,
}

fn name(member: usize) -> String {
    format!("m{member:02}")
}

impl World {
    fn new(place: &Path, test: &str) -> Option<Self> {
        let network = Network::new(3);
        let network = network
            .map_err(|skip| report_skip("the networks of hosts, which are folders only", skip))
            .ok();
        let places = match &network {
            Some(network) => (0..3).map(|host| in_namespace(network, host)).collect(),
            None => NatsPlace::local(3).unwrap(),
        };
        let servers = nats_cluster(&place.join("nats"), &places);
        let servers = servers.map_err(|skip| report_skip(test, skip)).ok()?;
        let addresses: Vec<String> = servers
            .iter()
            .map(|server| format!("nats://{}", server.place()))
            .collect();
        let ways = (0..3).map(|host| Way {
            address: addresses.join(","),
            lease: Some(LEASE),
            wrapper: match &network {
                Some(network) => network.wrapper(host),
                None => Vec::new(),
            },
            ..Way::default()
        });
        let hosts = HOSTS.iter().enumerate().map(|(number, host)| {
            let first = number * MEMBERS_EACH;
            let names: Vec<String> = (first..first + MEMBERS_EACH).map(name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Host::new(place, host, &names)
        });
        let mut world = Self {
            servers,
            hosts: hosts.collect(),
            ways: ways.collect(),
            members: Vec::new(),
            incarnations: vec![1; HOSTS.len() * MEMBERS_EACH],
            tasks: 0,
            network,
            sent: BTreeMap::new(),
            faults: Faults::default(),
        };
        for host in 0..HOSTS.len() {
            world.hosts[host].start(&world.ways[host]);
        }
        for member in 0..HOSTS.len() * MEMBERS_EACH {
            let process = world.start_member(member);
            world.members.push(process);
        }
        wait_until("the hosts know each other", LIMIT, || {
            let all = 0..HOSTS.len() * MEMBERS_EACH;
            world
                .hosts
                .iter()
                .all(|host| all.clone().all(|member| host.knows(&name(member))))
        });
        Some(world)
    }

    fn start_member(&self, member: usize) -> Worker {
        let mut command = own_process("world::member_process", &[]);
        let team = self.hosts[member / MEMBERS_EACH].team.workspace();
        command.env("TEST_MEMBER_TEAM", team);
        command.env("TEST_MEMBER_NAME", name(member));
        command.env(
            "TEST_MEMBER_INCARNATION",
            self.incarnations[member].to_string(),
        );
        Worker::spawn(command.stderr(Stdio::null())).unwrap()
    }

    /// One message from anybody to anybody, mostly on another host.
    fn send(&mut self, rng: &mut Rng) {
        let all = (HOSTS.len() * MEMBERS_EACH) as u64;
        let (from, to) = (rng.below(all) as usize, rng.below(all) as usize);
        let count = self.sent.entry((from, to)).or_default();
        let text = format!("{from} {count}");
        *count += 1;
        self.hosts[from / MEMBERS_EACH].send(&name(from), &name(to), &text);
    }

    /// One task for anybody, at its home.
    fn create_task(&mut self) {
        let new = rules::NewTask {
            subject: format!("task {}", self.tasks),
            ..rules::NewTask::default()
        };
        team::create(&self.hosts[0].team, &protocol::Actor::user(), &new).unwrap();
        self.tasks += 1;
    }

    fn fault(&mut self, rng: &mut Rng) {
        let host = rng.below(HOSTS.len() as u64) as u8;
        let place = usize::from(host);
        match rng.below(10) {
            0..=2 => {
                self.faults.bridges += 1;
                self.hosts[place].kill();
                self.hosts[place].start(&self.ways[place]);
            }
            3 => {
                self.faults.servers += 1;
                self.servers[place].kill9();
                self.servers[place].restart();
            }
            4..=6 => {
                self.faults.members += 1;
                let member = rng.below(self.members.len() as u64) as usize;
                self.members[member].kill9();
                let host = &self.hosts[member / MEMBERS_EACH];
                reap(host, &name(member), self.incarnations[member]);
                self.incarnations[member] += 1;
                self.members[member] = self.start_member(member);
            }
            number => {
                let Some(network) = &self.network else {
                    return;
                };
                let link = match number {
                    7 => Link::Cut,
                    8 if network.has_netem() => Link::Lossy,
                    _ => Link::Clear,
                };
                self.faults.cuts += u32::from(link == Link::Cut);
                self.faults.lossy += u32::from(link == Link::Lossy);
                network.set(host, link).unwrap();
                if link == Link::Cut {
                    // The others go on; at most one host is cut off at a time.
                    return;
                }
                for other in 0..HOSTS.len() as u8 {
                    if other != host {
                        network.set(other, Link::Clear).unwrap();
                    }
                }
            }
        }
    }

    /// Ends all faults.
    fn heal(&mut self) {
        for host in 0..HOSTS.len() as u8 {
            if let Some(network) = &self.network {
                network.set(host, Link::Clear).unwrap();
            }
        }
        for host in &mut self.hosts {
            let ended = host.bridge.as_mut().and_then(Worker::try_wait);
            assert!(ended.is_none(), "a bridge has ended: {}", host.errors());
        }
    }

    /// All mail that `member` has in its journal, by its sender.
    fn journal(&self, member: usize) -> BTreeMap<usize, Vec<usize>> {
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for text in self.hosts[member / MEMBERS_EACH].journal(&name(member)) {
            // The rest are notices about the board.
            let Some((from, count)) = text.split_once(' ') else {
                continue;
            };
            if let (Ok(from), Ok(count)) = (from.parse(), count.parse()) {
                found.entry(from).or_default().push(count);
            }
        }
        found
    }

    fn arrived(&self) -> usize {
        let members = 0..self.members.len();
        let journals = members.map(|member| self.journal(member));
        journals
            .map(|journal| journal.values().map(Vec::len).sum::<usize>())
            .sum()
    }

    /// Compares what was sent with what is in the journals. Returns what is wrong.
    fn ledger(&self) -> String {
        let (mut wrong, mut lost, mut doubled) = (String::new(), 0, 0);
        for to in 0..self.members.len() {
            let journal = self.journal(to);
            for from in 0..self.members.len() {
                let sent = self.sent.get(&(from, to)).copied().unwrap_or(0);
                let found = journal.get(&from).cloned().unwrap_or_default();
                let expected: Vec<usize> = (0..sent).collect();
                if found == expected {
                    continue;
                }
                let mut once = found.clone();
                once.sort_unstable();
                once.dedup();
                lost += sent - once.len();
                doubled += found.len() - once.len();
                wrong.extend([format!("{from} to {to}: sent {sent}, found {found:?}\n")]);
            }
        }
        let sum: usize = self.sent.values().sum();
        let _ = writeln!(
            io::stderr(),
            "chaos of hosts: {sum} messages, {lost} lost, {doubled} doubled; {:?}{}",
            self.faults,
            if self.network.is_some() {
                ""
            } else {
                ", without networks"
            }
        );
        wrong
    }
}

fn in_namespace(network: &Network, host: u8) -> NatsPlace {
    NatsPlace {
        address: network.address(host),
        port: 4222,
        route: 6222,
        wrapper: network.wrapper(host),
    }
}

#[test]
fn three_hosts_lose_and_double_nothing_whatever_is_killed_or_cut() {
    let place = tempfile::tempdir().unwrap();
    let test = "three_hosts_lose_and_double_nothing";
    let set = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let seconds = set("TEST_CHAOS_SECONDS").unwrap_or(SECONDS);
    let seed = set("TEST_CHAOS_SEED").unwrap_or(1);
    let Some(mut world) = World::new(place.path(), test) else {
        return;
    };
    let mut rng = Rng::new(seed);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut next_fault = Instant::now() + BETWEEN;
    let mut next_task = Instant::now();
    while Instant::now() < until {
        world.send(&mut rng);
        if Instant::now() >= next_task {
            world.create_task();
            next_task = Instant::now() + BETWEEN_TASKS;
        }
        if Instant::now() >= next_fault {
            world.fault(&mut rng);
            next_fault = Instant::now() + BETWEEN;
        }
        // Paces the mail.
        let _ = try_wait_for(Duration::from_millis(10), || None::<()>);
    }
    world.heal();
    let sum: usize = world.sent.values().sum();
    let settled = try_wait_for(SETTLE, || (world.arrived() >= sum).then_some(()));
    let done = || (!Work::of(&world.hosts, world.tasks).is_wrong()).then_some(());
    let all_done = try_wait_for(SETTLE, done);
    let work = Work::of(&world.hosts, world.tasks);
    let _ = writeln!(io::stderr(), "chaos of hosts: {work:?}");
    let wrong = world.ledger();
    let said: Vec<String> = world.hosts.iter().map(Host::errors).collect();
    assert!(
        settled.is_some() && wrong.is_empty() && all_done.is_some(),
        "{wrong}{work:?}\n{}",
        said.join("\n")
    );
}
