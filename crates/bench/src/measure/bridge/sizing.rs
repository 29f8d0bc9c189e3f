//! What three linked hosts cost, as a base for the arithmetic of more.

use super::super::end::{self, Kind, LINE, message};
use super::super::report::{Row, Section, Value};
use super::super::{Plan, clock, proc, programs, progress, worker};
use super::{start, unless_skipped};
use anyhow::Context as _;
use futures_util::StreamExt as _;
use protocol::{Recipient, Sender};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use teamdir::TeamDir;
use test_support::{NatsConfig, NatsServer, Worker, wait_until};
use tokio::runtime::Runtime;

const HOSTS: [&str; 3] = ["laptop", "gpu1", "gpu2"];
const MEMBERS_EACH: usize = 4;
/// How long linked hosts get to become quiet: what was applied is removed after ten seconds.
const SETTLE: Duration = Duration::from_secs(12);

/// What went through the broker.
#[derive(Default)]
struct Traffic {
    frames: u64,
    others: u64,
    /// Subjects, headers and contents.
    frame_bytes: u64,
    other_bytes: u64,
}

pub(super) fn measure(plan: &Plan<'_>, section: &mut Section) -> anyhow::Result<()> {
    progress("three hosts over NATS with twelve members");
    let dir = plan.folder("bridge-sizing")?;
    let server = NatsServer::start(&dir.join("nats"), &NatsConfig::default());
    let Some(server) = unless_skipped(section, server) else {
        return Ok(());
    };
    let address = format!("nats://{}", server.place());
    let places: Vec<PathBuf> = HOSTS.iter().map(|host| dir.join(host)).collect();
    let bridges = link(&places, &address)?;
    let listener = Listener::start(&address)?;
    std::thread::sleep(SETTLE);
    let idle_time = Duration::from_secs(plan.pick(20, 5));
    let before = worker::totals(&bridges)?;
    let idle = listener.listen(idle_time)?;
    let after = worker::totals(&bridges)?;
    let busy = send(plan, &places, &listener)?;
    let mut memory = 0;
    for bridge in &bridges {
        memory = memory.max(proc::memory(bridge.id(), "Private_")?);
    }
    let (hosts, seconds) = (HOSTS.len() as f64, idle_time.as_secs_f64());
    let cpu = (after.1 - before.1) as f64 / 1e9 / hosts * 60.0 / seconds;
    let sent = busy.1 as f64;
    section.rows.extend([
        Row::new(
            "3 hosts, idle: messages of all bridges to the broker",
            Value::PerSecond((idle.frames + idle.others) as f64 / seconds),
        ),
        Row::new(
            "3 hosts, idle: bytes of one such message",
            Value::Bytes(idle.other_bytes as f64 / idle.others.max(1) as f64),
        ),
        Row::new(
            "3 hosts, idle: processor time of one bridge, per minute",
            Value::Seconds(cpu),
        ),
        Row::new(
            "3 hosts: private memory of one bridge, most",
            Value::Bytes(memory as f64),
        ),
        Row::new(
            format!("3 hosts: bytes at the broker of a message of {LINE}"),
            Value::Bytes(busy.0.frame_bytes as f64 / busy.0.frames.max(1) as f64),
        ),
        Row::new(
            "3 hosts: other messages to the broker, for each of mail",
            Value::Count(busy.0.others as f64 / sent),
        ),
    ]);
    Ok(())
}

/// Starts a bridge for each host, and waits until all hosts know all members.
fn link(places: &[PathBuf], address: &str) -> anyhow::Result<Vec<Worker>> {
    let mut bridges = Vec::new();
    for (number, place) in places.iter().enumerate() {
        std::fs::create_dir(place)?;
        let names: Vec<String> = (0..MEMBERS_EACH)
            .map(|member| name(number, member))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        end::create_team(place, &names)?;
        let host = HOSTS.get(number).context("a name for the host")?;
        let mut words = vec![address, "--name", *host];
        if number > 0 {
            words.extend(["--lead", HOSTS[0]]);
        }
        bridges.push(start(place, Kind::Ours, &words)?);
    }
    for place in places {
        let team = TeamDir::open(place, end::options(Kind::Ours.durability()))?;
        wait_until("all hosts to know all members", programs::PATIENCE, || {
            let known = team.roster().map_or(0, |roster| roster.members.len());
            known == HOSTS.len() * MEMBERS_EACH
        });
    }
    Ok(bridges)
}

fn name(host: usize, member: usize) -> String {
    format!("m{host}{member}")
}

/// Every member writes to one of the next host for a while. Returns what went through the broker, and how many messages were
/// sent.
fn send(
    plan: &Plan<'_>,
    places: &[PathBuf],
    listener: &Listener,
) -> anyhow::Result<(Traffic, u64)> {
    let rounds: u64 = plan.pick(50, 10);
    let pause = Duration::from_millis(20);
    let teams: Result<Vec<TeamDir>, _> = places
        .iter()
        .map(|place| TeamDir::open(place, end::options(Kind::Ours.durability())))
        .collect();
    let teams = teams?;
    let time = pause * u32::try_from(rounds)? + Duration::from_secs(5);
    let sent = rounds * (HOSTS.len() * MEMBERS_EACH) as u64;
    let traffic = std::thread::scope(|scope| {
        let sender = scope.spawn(|| -> anyhow::Result<()> {
            for round in 0..rounds {
                let began = Instant::now();
                for (host, team) in teams.iter().enumerate() {
                    for member in 0..MEMBERS_EACH {
                        let from = Sender::new(&name(host, member));
                        let to: Recipient = name((host + 1) % teams.len(), member).parse()?;
                        team.send(message(&from, &to, &round.to_string()))?;
                    }
                }
                std::thread::sleep(pause.saturating_sub(began.elapsed()));
            }
            Ok(())
        });
        let traffic = listener.listen(time);
        let ended = sender.join();
        ended.map_err(|_| anyhow::anyhow!("the sender has panicked"))??;
        traffic
    })?;
    Ok((traffic, sent))
}

/// A client of the broker that hears everything of the team.
struct Listener {
    runtime: Runtime,
    client: async_nats::Client,
}

impl Listener {
    fn start(address: &str) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let client = runtime.block_on(async_nats::connect(address))?;
        Ok(Self { runtime, client })
    }

    fn listen(&self, time: Duration) -> anyhow::Result<Traffic> {
        let until = clock::nanos() + u64::try_from(time.as_nanos())?;
        self.runtime.block_on(async {
            let mut heard = self.client.subscribe("team-lead.>").await?;
            let mut traffic = Traffic::default();
            loop {
                let left = Duration::from_nanos(until.saturating_sub(clock::nanos()));
                let Ok(message) = tokio::time::timeout(left, heard.next()).await else {
                    return Ok(traffic);
                };
                let message = message.context("the connection to the broker was lost")?;
                let bytes = message.length as u64;
                if message.subject.split('.').nth(2) == Some("frame") {
                    traffic.frames += 1;
                    traffic.frame_bytes += bytes;
                } else {
                    traffic.others += 1;
                    traffic.other_bytes += bytes;
                }
            }
        })
    }
}
