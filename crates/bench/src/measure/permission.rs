//! How long it takes from a person's answer until the tool call that waited for it has run.

use super::end::{self, options};
use super::report::{Row, Section, Value};
use super::request::Asked;
use super::stats::Blocks;
use super::teammates::start;
use super::{Plan, progress};
use anyhow::ensure;
use protocol::{Recipient, RequestKind};
use serde_json::json;
use std::time::{Duration, Instant};
use team::{Actor, PersonAnswer};
use teamdir::{Durability, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{Worker, wait_for};

/// How long a turn may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before each answer, in which both sides fall asleep.
const PAUSE: Duration = Duration::from_millis(10);
/// Every file that is read asks. A tool that writes would sync, which has nothing to do with asking.
const RULES: &str = "[permissions]\nask = [\"Read\"]\n";

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "permission",
        "from before the answer of a person until the tool that waited for it has run, and its result is in the \
         journal; bare = from before the send of a message until the model's server has the request with it",
    );
    for (what, fsync, durability) in [
        ("synced (the default), p50", "on", Durability::PowerCut),
        ("not synced, p50", "off", Durability::ProcessDeath),
    ] {
        progress(&format!("answer to tool, {what}"));
        let (mut messages, mut answers) = (Blocks::default(), Blocks::default());
        let (blocks, rounds) = plan.pick((15, 10), (3, 5));
        for _ in 0..blocks {
            messages.push(Asked::start(plan, fsync, durability)?.block(rounds)?);
            answers.push(Allowed::start(plan, fsync, durability)?.block(rounds)?);
        }
        let ratio = answers.ratio(&messages, 0.5);
        section.rows.push(
            Row::new(what, Value::Seconds(answers.p50()))
                .bare(Value::Seconds(messages.p50()), ratio)
                .bar("at most 2x a message", ratio <= 2.0),
        );
    }
    section.note(
        "the tool reads a file of one byte; the time includes that, the write of the answer, and the synced record that the tool is started",
    );
    Ok(section)
}

/// A teammate whose model reads a file in every reply, and that asks before each.
struct Allowed {
    _server: LlmServer,
    team: TeamDir,
    owner: Recipient,
    _member: Worker,
    count: usize,
}

impl Allowed {
    fn start(plan: &Plan<'_>, fsync: &str, durability: Durability) -> anyhow::Result<Self> {
        let dir = plan.folder("permission")?;
        end::create_team(&dir, &["alice"])?;
        std::fs::write(dir.join("team.toml"), RULES)?;
        let team = TeamDir::open(&dir, options(durability))?;
        let server = LlmServer::start();
        std::fs::write(dir.join("a.txt"), "x")?;
        let read = json!({"path": "a.txt"});
        server.always("alice", ServerReply::calls([("read_file", read)]));
        let address = server.base_url("alice");
        let environment = [
            ("TEAM_MODEL", "anthropic:bench"),
            ("ANTHROPIC_API_KEY", "none"),
            ("ANTHROPIC_BASE_URL", address.as_str()),
            ("TEAM_FSYNC", fsync),
            ("TEAM_MAX_ROUNDS", "0"),
        ];
        let member = start(&dir, &team, "alice", &environment)?;
        let owner: Recipient = "alice".parse()?;
        team::send(&team, &Actor::user(), owner.clone(), "Read.")?;
        Ok(Self {
            _server: server,
            team,
            owner,
            _member: member,
            count: 0,
        })
    }

    /// The number of results in the journal.
    fn results(&self) -> anyhow::Result<usize> {
        let text = std::fs::read_to_string(self.team.layout().transcript(&self.owner))?;
        Ok(text.matches("{\"kind\":\"result\"").count())
    }

    /// How long each answer took. The first one does not count.
    fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::new();
        for round in 0..=rounds {
            let request = wait_for("the question", PATIENCE, || {
                let mut waiting = team::waiting(&self.team).ok()?;
                waiting.retain(|request| request.kind() == RequestKind::Permission);
                waiting.pop()
            });
            std::thread::sleep(PAUSE);
            let answer = PersonAnswer {
                approve: true,
                text: "",
                scope: None,
                name: None,
            };
            let began = Instant::now();
            team::answer_person(&self.team, &Actor::user(), &request.id, &answer)?;
            self.count += 1;
            // Without pauses, which would be longer than what is measured.
            while self.results()? < self.count {
                ensure!(began.elapsed() < PATIENCE, "the tool was not run");
                std::hint::spin_loop();
            }
            if round > 0 {
                times.push(began.elapsed().as_secs_f64());
            }
        }
        Ok(times)
    }
}
