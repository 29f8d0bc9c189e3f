//! How long it takes until the death of a teammate is known, and its task is there for others.

use super::programs::{PATIENCE, Victim, start_lead, verb, wait_for_phase};
use super::report::{Row, Section, Value};
use super::stats::{Blocks, seconds};
use super::worker::{self, Job};
use super::{Plan, clock, end, progress};
use anyhow::Context as _;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use protocol::{Phase, Recipient, TaskStatus};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use teamdir::{Durability, TeamDir};
use test_support::Worker;
use test_support::llm_server::{Gate, LlmServer, ServerReply};

/// How often the files are polled: the error of the times.
const POLL_INTERVAL: Duration = Duration::from_micros(100);
/// What a system of heartbeats needs, by arithmetic.
const HEARTBEAT: (&str, f64) = ("heartbeats (computed)", 4.5);

/// A team with a lead that watches its members.
struct Watched {
    dir: PathBuf,
    team: TeamDir,
    address: String,
    _lead: Worker,
    _server: LlmServer,
    _gate: Gate,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress("kills of teammates");
    let mut section = Section::new(
        "deaths",
        "SIGKILL of a teammate at work, under `team-lead run`, syncs on, until its task is pending on \
         the board and until the lead's notice is in its inbox; bare = SIGKILL of a process until \
         another that polls its pidfd is awake; with syncs: and has replaced a file and appended to \
         another",
    );
    let mut watched = Watched::start(plan)?;
    let dir = plan.folder("reaper")?;
    let mut reaper = worker::start_ready(&Job::Reaper { dir })?;
    let [
        mut task_back,
        mut noticed,
        mut bare,
        mut synced,
        mut watching,
    ] = std::array::from_fn(|_| Blocks::default());
    let (blocks, each) = plan.pick((10, 3), (2, 1));
    for block in 0..blocks {
        let (mut back, mut known) = (Vec::new(), Vec::new());
        for at in 0..each {
            let times = watched.one_death(&format!("m{block}-{at}"))?;
            back.push(times.0);
            known.push(times.1);
        }
        task_back.push(back);
        noticed.push(known);
        for (syncs, blocks) in [(false, &mut bare), (true, &mut synced)] {
            let times = (0..each).map(|_| bare_death(&mut reaper, syncs));
            blocks.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        }
        let times = (0..each).map(|_| watching_death(plan, &mut reaper));
        watching.push(times.collect::<anyhow::Result<Vec<_>>>()?);
    }
    for (what, ours) in [
        ("kill to task back", &task_back),
        ("kill to noticed", &noticed),
    ] {
        let rows = rows(what, ours, [&bare, &synced, &watching]);
        section.rows.extend(rows);
    }
    section.note(format!(
        "{} kills; the files were polled every {} us",
        blocks * each,
        POLL_INTERVAL.as_micros()
    ));
    section.note("heartbeats: one a second, dead after 5 s without; 5 s - 0.5 s on average");
    section.note("with inotify: the killed process watches a folder, as every member does");
    section.note(
        "before its task goes to others the lead ends what the dead one left running, with a look at all \
         processes",
    );
    Ok(section)
}

/// The rows about one time, beside those of bare processes: without syncs, with them, and with inotify too.
fn rows(what: &str, ours: &Blocks, [bare, synced, watching]: [&Blocks; 3]) -> [Row; 4] {
    let row = |what: String, at, bare: &Blocks| {
        let value = |blocks: &Blocks| Value::Seconds(blocks.quantile(at));
        Row::new(what, value(ours)).bare(value(bare), ours.ratio(bare, at))
    };
    let beside = |row: Row| row.beside(HEARTBEAT.0, Value::Seconds(HEARTBEAT.1));
    let is_met = ours.ratio(synced, 0.5) <= 10.0;
    let with_inotify = format!("{what}, p50, bare with syncs and inotify");
    [
        beside(row(format!("{what}, p50"), 0.5, bare)),
        row(format!("{what}, p50, bare with syncs"), 0.5, synced).bar("at most 10x", is_met),
        row(with_inotify, 0.5, watching),
        beside(row(format!("{what}, p99"), 0.99, bare)),
    ]
}

impl Watched {
    fn start(plan: &Plan<'_>) -> anyhow::Result<Self> {
        let dir = plan.folder("deaths")?;
        end::create_team(&dir, &[])?;
        let team = TeamDir::open(&dir, end::options(Durability::PowerCut))?;
        let server = LlmServer::start();
        server.always("lead", ServerReply::text("Noted."));
        // A model that thinks until it is killed.
        let gate = Gate::new();
        server.always("member", ServerReply::text("never").gate_head(&gate));
        let lead = start_lead(&dir, &server.base_url("lead"))?;
        wait_for_phase(&team, &Recipient::Lead, Phase::Idle);
        Ok(Self {
            dir,
            team,
            address: server.base_url("member"),
            _lead: lead,
            _server: server,
            _gate: gate,
        })
    }

    /// Starts a member and kills it: the times until the task is released and until the lead is notified.
    fn one_death(&mut self, name: &str) -> anyhow::Result<(f64, f64)> {
        let owner: Recipient = name.parse()?;
        verb(&self.dir, &self.address, &["spawn", name, "coder"])?;
        let subject = format!("Work of {name}");
        verb(&self.dir, &self.address, &["task", "create", &subject])?;
        wait_for_phase(&self.team, &owner, Phase::Working);
        let task = test_support::wait_for("the task is claimed", PATIENCE, || {
            self.status_of(&subject)
                .filter(|(_, status)| *status == TaskStatus::InProgress)
        });
        let victim = Victim::of(&self.team, &owner)?;
        // The lead learns of a new member by a look at the roster; that is over when it rests again.
        wait_for_phase(&self.team, &Recipient::Lead, Phase::Idle);
        std::thread::sleep(Duration::from_millis(300));
        let words = format!("{name} (coder) died");
        let began = Instant::now();
        victim.kill()?;
        let (mut back, mut told) = (None, None);
        while back.is_none() || told.is_none() {
            let now = began.elapsed();
            anyhow::ensure!(now < PATIENCE, "the death of {name} was not dealt with");
            if back.is_none() && self.is_pending(task.0) {
                back = Some(began.elapsed().as_secs_f64());
            }
            if told.is_none() && self.is_told(&words) {
                told = Some(began.elapsed().as_secs_f64());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let id = task.0.to_string();
        verb(
            &self.dir,
            &self.address,
            &["task", "update", &id, "--status", "completed"],
        )?;
        back.zip(told).context("both times")
    }

    fn status_of(&self, subject: &str) -> Option<(protocol::TaskId, TaskStatus)> {
        let board = team::list(&self.team).ok()?.board;
        let mut tasks = board.tasks().filter(|task| task.subject == subject);
        tasks.next().map(|task| (task.id, task.status))
    }

    fn is_pending(&self, task: protocol::TaskId) -> bool {
        let text = std::fs::read(self.team.layout().task(task)).unwrap_or_default();
        let task = serde_json::from_slice::<protocol::Task>(&text);
        task.is_ok_and(|task| task.status == TaskStatus::Pending)
    }

    /// Whether the lead's mail says so, or what it has taken from there.
    fn is_told(&self, words: &str) -> bool {
        let layout = self.team.layout();
        let files = [
            layout.inbox(&Recipient::Lead),
            layout.transcript(&Recipient::Lead),
        ];
        let says = |path| {
            let text = std::fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(words)
        };
        files.into_iter().any(says)
    }
}

/// A process that does nothing, killed under the eyes of the reaper.
fn bare_death(reaper: &mut Worker, syncs: bool) -> anyhow::Result<f64> {
    let mut command = Command::new("sleep");
    let mut child = command.arg("1000").stdin(Stdio::null()).spawn()?;
    let input = format!("{} {}", child.id(), u8::from(syncs));
    let _: bool = worker::ask(reaper, &input)?;
    std::thread::sleep(Duration::from_millis(20));
    let began = clock::nanos();
    child.kill()?;
    let done: u64 = worker::answer(reaper)?;
    child.wait()?;
    Ok(seconds(done.saturating_sub(began)))
}

/// A process that watches a folder, killed under the eyes of the reaper, which syncs.
fn watching_death(plan: &Plan<'_>, reaper: &mut Worker) -> anyhow::Result<f64> {
    let (folder, name) = (plan.folder("watching")?, "x".to_owned());
    let watcher = worker::start_ready(&Job::Watcher { folder, name })?;
    let pid = watcher.id();
    let _: bool = worker::ask(reaper, &format!("{pid} 1"))?;
    std::thread::sleep(Duration::from_millis(20));
    let process = command::Pidfd::open(Pid::from_raw(pid.cast_signed()))?;
    let began = clock::nanos();
    process.send_signal(Signal::SIGKILL)?;
    let done: u64 = worker::answer(reaper)?;
    Ok(seconds(done.saturating_sub(began)))
}

/// The worker that waits for the death of each process in its input.
pub(super) fn reap(dir: &Path) -> anyhow::Result<()> {
    worker::say_ready();
    while let Some(input) = worker::hear()? {
        let pid = i32::try_from(end::number(&input, 0)?)?;
        let syncs = end::number(&input, 1)? == 1;
        let process = command::Pidfd::open(Pid::from_raw(pid))?;
        worker::say(&true)?;
        while !process.wait(Duration::from_secs(60)) {}
        if syncs {
            replace(dir)?;
            super::bare::append(&dir.join("inbox"), &[b'x'; 300], true)?;
        }
        worker::say(&clock::nanos())?;
    }
    Ok(())
}

/// Replaces a file in a folder, with the syncs that this needs.
pub(super) fn replace(dir: &Path) -> anyhow::Result<()> {
    let new = dir.join("task.new");
    let mut file = File::create(&new)?;
    file.write_all(&[b'x'; 500])?;
    file.sync_all()?;
    std::fs::rename(&new, dir.join("task"))?;
    Ok(File::open(dir)?.sync_all()?)
}
