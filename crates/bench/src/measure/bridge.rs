//! How long a message takes from a member of one host to a member of another.

mod plain;
mod sizing;

use super::end::{self, Medium, OurEnd};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, clock, end::End, kind::Kind, programs, progress};
use anyhow::{Context as _, ensure};
use plain::{BarePipe, PlainNats};
use protocol::AgentName;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use teamdir::TeamDir;
use test_support::{NatsConfig, NatsServer, Skip, SshServer, Worker, wait_until};

/// Rounds at the start of a block that are not counted.
const WARM_UP: u64 = 5;
/// The bar of the issue of several machines.
const BAR: f64 = 3.0;

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "bridge",
        "a 300-byte line from a member of one host to one of another, from before the send to shown (in the \
         journal there, as a teammate records it): four processes and a server; nats: beside a plain publish to JetStream until it is \
         acknowledged, on the same server; ssh: beside a line that `ssh HOST cat` returns, over the same sshd",
    );
    let length = plan.pick((15, 60), (3, 20));
    for kind in [Kind::Ours, Kind::OursSynced] {
        nats(plan, kind, length, &mut section)?;
        ssh(plan, kind, length, &mut section)?;
    }
    sizing::measure(plan, &mut section)?;
    section.note(
        "synced: the server of NATS syncs each message too (`sync_interval: always`); a plain publish is on disk in \
         one place then, and a message that was shown in two, the sender's inbox and outbox; the server, the inbox there \
         and its reader's journal follow",
    );
    Ok(section)
}

fn nats(
    plan: &Plan<'_>,
    kind: Kind,
    length: (usize, u64),
    section: &mut Section,
) -> anyhow::Result<()> {
    progress(&format!("a message across two hosts, NATS, {kind:?}"));
    let dir = plan.folder("bridge-nats")?;
    let config = NatsConfig {
        jetstream: match kind {
            Kind::OursSynced => "sync_interval: always".to_owned(),
            _ => String::new(),
        },
        lines: String::new(),
    };
    let Some(server) = unless_skipped(section, NatsServer::start(&dir.join("nats"), &config))
    else {
        return Ok(());
    };
    let address = format!("nats://{}", server.place());
    let mut plain = PlainNats::start(&address)?;
    let mut hosts = Hosts::link(&dir, kind, |laptop, gpu| {
        let here = start(&laptop, kind, &[&address, "--name", "laptop"])?;
        let there = ["--name", "gpu1", "--lead", "laptop"];
        let there = start(&gpu, kind, &[&[address.as_str()], &there[..]].concat())?;
        Ok(vec![here, there])
    })?;
    let (ours, bare) = race(length, &mut hosts, |rounds| plain.block(rounds))?;
    section.rows.extend(rows("nats", kind, &ours, &bare));
    Ok(())
}

fn ssh(
    plan: &Plan<'_>,
    kind: Kind,
    length: (usize, u64),
    section: &mut Section,
) -> anyhow::Result<()> {
    progress(&format!("a message across two hosts, SSH, {kind:?}"));
    let dir = plan.folder("bridge-ssh")?;
    let Some(server) = unless_skipped(section, SshServer::start(&dir.join("sshd"), "gpu1")) else {
        return Ok(());
    };
    let mut pipe = BarePipe::start(&server.command(), "gpu1")?;
    let mut hosts = Hosts::link(&dir, kind, |laptop, gpu| {
        // What the other host runs has no environment of ours but what its shell sets.
        let program = dir.join("team-lead");
        let sync = if kind == Kind::OursSynced {
            "on"
        } else {
            "off"
        };
        let lines = format!(
            "#!/bin/sh\nexport HOME='{}' TEAM_FSYNC={sync}\nexec '{}' \"$@\"\n",
            programs::home(&gpu).display(),
            programs::beside("team-lead")?.display()
        );
        plain::script(&program, &lines)?;
        let address = format!("ssh://gpu1{}", gpu.display());
        let words = [
            &address,
            "--name",
            "laptop",
            "--ssh",
            &server.command(),
            "--remote-program",
            &program.display().to_string(),
        ];
        Ok(vec![start(&laptop, kind, &words)?])
    })?;
    let (ours, bare) = race(length, &mut hosts, |rounds| pipe.block(rounds))?;
    section.rows.extend(rows("ssh", kind, &ours, &bare));
    Ok(())
}

fn unless_skipped<T>(section: &mut Section, started: Result<T, Skip>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(skip) => {
            section.note(format!("left out: {skip}"));
            None
        }
    }
}

/// Lets ours and the plain one take turns.
fn race(
    (blocks, rounds): (usize, u64),
    hosts: &mut Hosts,
    mut plain: impl FnMut(u64) -> anyhow::Result<Vec<u64>>,
) -> anyhow::Result<(Blocks, Blocks)> {
    let (mut ours, mut bare) = (Blocks::default(), Blocks::default());
    for _ in 0..blocks {
        ours.push_nanos(&hosts.block(rounds)?);
        bare.push_nanos(&plain(rounds)?);
    }
    Ok((ours, bare))
}

fn rows(transport: &str, kind: Kind, ours: &Blocks, bare: &Blocks) -> [Row; 2] {
    let synced = if kind == Kind::OursSynced {
        "synced: "
    } else {
        ""
    };
    [(0.5, "p50"), (0.99, "p99")].map(|(at, name)| {
        let ratio = ours.ratio(bare, at);
        let what = format!("{synced}{transport}, one way, {name}");
        let row = Row::new(what, Value::Seconds(ours.quantile(at)))
            .bare(Value::Seconds(bare.quantile(at)), ratio);
        if name == "p50" && transport == "nats" {
            row.bar(format!("at most {BAR}x a plain publish"), ratio <= BAR)
        } else {
            row
        }
    })
}

/// Starts the bridge of a host.
fn start(dir: &Path, kind: Kind, words: &[&str]) -> anyhow::Result<Worker> {
    let mut command = Command::new(programs::beside("team-lead")?);
    command.arg("bridge").args(words).current_dir(dir);
    programs::clean(&mut command);
    command.env("HOME", programs::home(dir));
    if kind != Kind::OursSynced {
        command.env("TEAM_FSYNC", "off");
    }
    Ok(Worker::spawn(command.stderr(Stdio::null()))?)
}

/// Two hosts with a member each.
struct Hosts {
    /// bob, on the host that the lead is at home on.
    sender: OurEnd,
    /// alice, on the other one.
    recipient: OurEnd,
    _bridges: Vec<Worker>,
}

impl Hosts {
    fn link(
        dir: &Path,
        kind: Kind,
        bridges: impl FnOnce(PathBuf, PathBuf) -> anyhow::Result<Vec<Worker>>,
    ) -> anyhow::Result<Self> {
        let (laptop, gpu) = (dir.join("laptop"), dir.join("gpu1"));
        for (place, member) in [(&laptop, "bob"), (&gpu, "alice")] {
            std::fs::create_dir(place)?;
            end::create_team(place, &[member])?;
        }
        let bridges = bridges(laptop.clone(), gpu.clone())?;
        let team = TeamDir::open(&laptop, end::options(kind.durability()))?;
        let alice: AgentName = "alice".parse()?;
        wait_until("the hosts to know each other", programs::PATIENCE, || {
            team.roster()
                .is_ok_and(|roster| roster.member(&alice).is_some())
        });
        Ok(Self {
            sender: OurEnd::open_to_send(&Medium::new(kind, &laptop, "bob", "alice"))?,
            recipient: OurEnd::open_as_member(&Medium::new(kind, &gpu, "alice", "bob"))?,
            _bridges: bridges,
        })
    }

    /// The times of so many messages, one after the other.
    fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<u64>> {
        let Self {
            sender, recipient, ..
        } = self;
        let (shown, times) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let all = WARM_UP + rounds;
            let taker = scope.spawn(move || -> anyhow::Result<()> {
                let mut count = 0;
                while count < all {
                    let limit = Instant::now() + programs::PATIENCE;
                    let texts = recipient.next(Some(limit))?;
                    let now = clock::nanos();
                    ensure!(!texts.is_empty(), "a message did not come");
                    count += texts.len() as u64;
                    shown.send(now)?;
                }
                Ok(())
            });
            let mut one_way = Vec::new();
            for round in 0..all {
                let began = clock::nanos();
                ensure!(sender.send(&round.to_string())?, "the inbox is full");
                let seen = times.recv().context("the other side has ended")?;
                if round >= WARM_UP {
                    one_way.push(seen.saturating_sub(began));
                }
            }
            let taken = taker.join();
            taken.map_err(|_| anyhow::anyhow!("the other side has panicked"))??;
            Ok(one_way)
        })
    }
}
