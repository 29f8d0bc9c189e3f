//! How long it takes from a person's answer until the tool call that waited for it starts, and has run.

use super::end::{self, options};
use super::report::{Row, Section, Value};
use super::request::Asked;
use super::stats::Blocks;
use super::teammates::start;
use super::{Plan, progress};
use anyhow::Context as _;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use protocol::{Recipient, RequestKind};
use serde_json::json;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
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

/// What was measured of one answer, in seconds.
struct Times {
    /// From the answered request in its place to the tool's first system call.
    to_start: f64,
    /// From before the answer until the result is in the journal.
    to_result: f64,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "permission",
        "answer to start: from the answered request in its place until the tool that waited for it opens \
         its file; answer to result: from before the answer until the tool's result is in the journal; bare \
         = from before the send of a message until the model's server has the request with it",
    );
    for (what, fsync, durability) in [
        ("synced (the default)", "on", Durability::PowerCut),
        ("not synced", "off", Durability::ProcessDeath),
    ] {
        progress(&format!("answer to tool, {what}"));
        let [mut messages, mut starts, mut results] = std::array::from_fn(|_| Blocks::default());
        let (blocks, rounds) = plan.pick((15, 10), (3, 5));
        for _ in 0..blocks {
            messages.push(Asked::start(plan, fsync, durability)?.block(rounds)?);
            let times = Allowed::start(plan, fsync, durability)?.block(rounds)?;
            starts.push(times.iter().map(|times| times.to_start));
            results.push(times.iter().map(|times| times.to_result));
        }
        let bare = Value::Seconds(messages.p50());
        let ratio = starts.ratio(&messages, 0.5);
        let start = Row::new(
            format!("answer to start, {what}, p50"),
            Value::Seconds(starts.p50()),
        );
        let result = Row::new(
            format!("answer to result, {what}, p50"),
            Value::Seconds(results.p50()),
        );
        section.rows.extend([
            start
                .bare(bare, ratio)
                .bar("at most 2x a message", ratio <= 2.0),
            result.bare(bare, results.ratio(&messages, 0.5)),
        ]);
    }
    section.note(
        "the file of the request is synced before it is put in its place, and its folder after that: the \
         first row begins before that second sync has ended, and contains the synced record that the tool is \
         started",
    );
    section
        .note("the tool reads a file of one byte; every time but the beginning of the second row is that of an inotify event");
    Ok(section)
}

/// Sees when an answered request comes to its place, when the tool opens its file, and when the journal grows.
/// It sleeps in between: a process that spins would take the core of a thread that is measured.
struct Seen {
    events: Receiver<(Instant, Sight)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Answer,
    Start,
    Journal,
}

impl Seen {
    fn start(requests: &Path, file: &Path, journals: &Path) -> anyhow::Result<Self> {
        let notices = Inotify::init(InitFlags::IN_CLOEXEC)?;
        let answered = notices.add_watch(requests, AddWatchFlags::IN_MOVED_TO)?;
        let opened = notices.add_watch(file, AddWatchFlags::IN_OPEN)?;
        notices.add_watch(journals, AddWatchFlags::IN_MODIFY)?;
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            // Ends with the receiver, when the next event comes, or with the process.
            while let Ok(found) = notices.read_events() {
                let at = Instant::now();
                let sight = |watch: WatchDescriptor| {
                    if watch == answered {
                        Sight::Answer
                    } else if watch == opened {
                        Sight::Start
                    } else {
                        Sight::Journal
                    }
                };
                let mut all = found.into_iter().map(|event| (at, sight(event.wd)));
                if all.any(|event| sender.send(event).is_err()) {
                    return;
                }
            }
        });
        Ok(Self { events })
    }

    /// Forgets what was seen.
    fn clear(&self) {
        while self.events.try_recv().is_ok() {}
    }

    /// The times of an answer that was given after `began`. `has_result` looks for the result in the journal.
    fn next(
        &self,
        began: Instant,
        has_result: impl Fn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<Times> {
        let (mut answered, mut started) = (None, None);
        loop {
            let (at, sight) = self.events.recv_timeout(PATIENCE).context("no result")?;
            match (sight, answered, started) {
                (Sight::Answer, None, _) => answered = Some(at),
                (Sight::Start, Some(_), None) => started = Some(at),
                (Sight::Journal, Some(answered), Some(started)) if has_result()? => {
                    return Ok(Times {
                        to_start: (started - answered).as_secs_f64(),
                        to_result: (at - began).as_secs_f64(),
                    });
                }
                (Sight::Answer | Sight::Start | Sight::Journal, _, _) => {}
            }
        }
    }
}

/// A teammate whose model reads a file in every reply, and that asks before each.
struct Allowed {
    _server: LlmServer,
    team: TeamDir,
    owner: Recipient,
    _member: Worker,
    seen: Seen,
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
        let requests = team.layout().requests_dir();
        std::fs::create_dir_all(&requests)?;
        let journal = team.layout().transcript(&owner);
        let journals = journal.parent().context("a journal has a folder")?;
        let seen = Seen::start(&requests, &dir.join("a.txt"), journals)?;
        team::send(&team, &Actor::user(), owner.clone(), "Read.")?;
        Ok(Self {
            _server: server,
            team,
            owner,
            _member: member,
            seen,
            count: 0,
        })
    }

    /// The number of results in the journal.
    fn results(&self) -> anyhow::Result<usize> {
        let text = std::fs::read_to_string(self.team.layout().transcript(&self.owner))?;
        Ok(text.matches("{\"kind\":\"result\"").count())
    }

    /// How long each answer took. The first one does not count.
    fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<Times>> {
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
            self.seen.clear();
            let began = Instant::now();
            team::answer_person(&self.team, &Actor::user(), &request.id, &answer)?;
            self.count += 1;
            let found = self
                .seen
                .next(began, || Ok(self.results()? >= self.count))?;
            if round > 0 {
                times.push(found);
            }
        }
        Ok(times)
    }
}
