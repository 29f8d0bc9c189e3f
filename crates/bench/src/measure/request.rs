//! How long it takes from a message to a teammate until its model's server has the request with it.

use super::end::Kind;
use super::latency::Pair;
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::teammates::{is_idle, start};
use super::{Plan, end, progress};
use protocol::{Recipient, Sender};
use std::time::{Duration, Instant};
use teamdir::{Durability, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{Worker, wait_for, wait_until};

/// How long a turn may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before each message, in which both sides fall asleep.
const PAUSE: Duration = Duration::from_millis(10);

/// A teammate behind a server that counts what it is asked.
pub(super) struct Asked {
    server: LlmServer,
    team: TeamDir,
    owner: Recipient,
    _member: Worker,
    count: usize,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "request",
        "from before the send until the teammate's request with the message is at the model's \
         server; bare = the storage layer alone, from before the send to shown",
    );
    for (what, kind, fsync, durability) in [
        (
            "synced (the default), p50",
            Kind::OursSynced,
            "on",
            Durability::PowerCut,
        ),
        (
            "not synced, p50",
            Kind::Ours,
            "off",
            Durability::ProcessDeath,
        ),
    ] {
        progress(&format!("message to request, {what}"));
        let mut storage = Pair::start(plan, kind, None)?;
        let mut times = Blocks::default();
        let (blocks, rounds) = plan.pick((15, 10), (3, 5));
        for _ in 0..blocks {
            storage.block(rounds, PAUSE)?;
            // A new member for each block: a long conversation makes a large request.
            times.push(Asked::start(plan, fsync, durability)?.block(rounds)?);
        }
        let ratio = times.ratio(&storage.one_way, 0.5);
        let bare = Value::Seconds(storage.one_way.p50());
        section.rows.push(
            Row::new(what, Value::Seconds(times.p50()))
                .bare(bare, ratio)
                .bar("at most 3x the storage", ratio <= 3.0),
        );
    }
    section.note("a loopback server, one connection that stays open; 10 ms pauses on both sides");
    Ok(section)
}

impl Asked {
    pub(super) fn start(
        plan: &Plan<'_>,
        fsync: &str,
        durability: Durability,
    ) -> anyhow::Result<Self> {
        let dir = plan.folder("request")?;
        end::create_team(&dir, &["alice"])?;
        let team = TeamDir::open(&dir, end::options(durability))?;
        let server = LlmServer::start();
        server.always("alice", ServerReply::text("ok"));
        let address = server.base_url("alice");
        let environment = [
            ("TEAM_MODEL", "anthropic:bench"),
            ("ANTHROPIC_API_KEY", "none"),
            ("ANTHROPIC_BASE_URL", address.as_str()),
            ("TEAM_FSYNC", fsync),
        ];
        let member = start(&dir, &team, "alice", &environment)?;
        Ok(Self {
            server,
            team,
            owner: "alice".parse()?,
            _member: member,
            count: 0,
        })
    }

    /// How long each message took. The first one makes the connection and does not count.
    pub(super) fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<f64>> {
        let from = Sender::new("lead");
        let mut times = Vec::new();
        for round in 0..=rounds {
            wait_until("the member rests", PATIENCE, || {
                is_idle(&self.team, &self.owner)
            });
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            self.team
                .send(end::message(&from, &self.owner, &round.to_string()))?;
            self.count += 1;
            let arrived = wait_for("the request", PATIENCE, || {
                let (count, arrived) = self.server.last_arrival("alice")?;
                (count >= self.count).then_some(arrived)
            });
            if round > 0 {
                times.push((arrived - began).as_secs_f64());
            }
        }
        Ok(times)
    }
}
