//! A team under steady mail for a long time: nothing may grow that should not.
//!
//! Real teammates work against a server on the loopback interface that plays their model. A person
//! writes to one after the other at a steady rate; each lets its model write to a colleague, and
//! reports to the lead, whose place is taken here. Samples are taken at a steady pace, and at the
//! end the first third of them is compared with the last.
//!
//! The model says that its window is small, so that conversations are compacted on the way, as they
//! are in a long run: without that, memory grows with the conversation by design.

mod files;
mod mail;
mod verdict;

use crate::measure::{Baseline, clock, end, proc, progress, quantile, start_all};
use anyhow::Context as _;
use mail::{Lead, Mail};
use protocol::{Recipient, Sender};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use teamdir::{Durability, TeamDir};
use test_support::llm_server::LlmServer;
use test_support::{Worker, try_wait_for};

/// How long the first mail to everybody, and the last of all, may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long, how many, how fast.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long mail flows.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// How many teammates there are.
    #[arg(long, default_value_t = 100)]
    teammates: usize,
    /// How many messages a minute each of them gets from a person; as many come from a colleague.
    #[arg(long, default_value_t = 6.0)]
    rate: f64,
    /// How many seconds lie between two samples.
    #[arg(long, default_value_t = 10.0)]
    every: f64,
    /// Writes all samples and verdicts as JSON to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the temporary team folder goes: a real disk.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The team as it was at one moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    seconds: f64,
    /// How many messages had been sent, by the person and by models.
    messages: u64,
    /// The private memory of a teammate, on average, in bytes.
    memory: f64,
    /// The open descriptors of all teammates together, but for those below.
    descriptors: f64,
    /// The most descriptors that one teammate has on inboxes it has set aside. They are kept for a
    /// minute, and there is a bound.
    aside: f64,
    /// From before the send until the model's server has the message, in this span, in seconds.
    p50: f64,
    p99: f64,
    /// A bare append, sync and wake-up between two processes at that moment, in seconds: other work
    /// on the machine makes both slow, so their ratio is what counts.
    bare: f64,
    /// The bytes of the team folder, by kind of file.
    files: files::Sizes,
}

/// Everything that came of it.
#[derive(Debug, Serialize)]
struct Outcome {
    teammates: usize,
    seconds: f64,
    sent: u64,
    lost: u64,
    reports: u64,
    compactions: u64,
    samples: Vec<Sample>,
    verdicts: Vec<verdict::Verdict>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let parent = args.dir.clone().unwrap_or_else(crate::measure::default_dir);
    std::fs::create_dir_all(&parent)?;
    let folder = tempfile::Builder::new()
        .prefix("bench-soak-")
        .tempdir_in(&parent)
        .with_context(|| format!("create a folder in {}", parent.display()))?;
    // The kernel names open files by the path without links.
    let dir = folder.path().canonicalize()?;
    let mut soak = Soak::start(dir, args.teammates)?;
    soak.warm_up()?;
    let samples = soak.flow(args)?;
    let outcome = soak.end(samples)?;
    if let Some(path) = &args.json {
        let bytes = serde_json::to_vec_pretty(&outcome)?;
        std::fs::write(path, bytes).with_context(|| format!("write {}", path.display()))?;
    }
    crate::measure::print(&verdict::table(&outcome));
    let bad = outcome
        .verdicts
        .iter()
        .filter(|verdict| !verdict.ok)
        .count();
    anyhow::ensure!(bad == 0, "{bad} rows are not as they should be");
    Ok(())
}

/// A team under mail.
struct Soak {
    team: TeamDir,
    owners: Vec<Recipient>,
    members: Vec<Worker>,
    mail: Arc<Mail>,
    lead: Lead,
    baseline: Baseline,
    _server: LlmServer,
}

impl Soak {
    fn start(dir: PathBuf, count: usize) -> anyhow::Result<Self> {
        let names: Vec<String> = (0..count).map(|number| format!("m{number:03}")).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        end::create_team(&dir, &known)?;
        let team = TeamDir::open(&dir, end::options(Durability::PowerCut))?;
        let mail = Arc::new(Mail::new(count));
        let server = LlmServer::start();
        let model = Arc::clone(&mail);
        server.decide("soak", move |request| model.answer(&request));
        let address = server.base_url("soak");
        let environment = [
            ("TEAM_MODEL", "anthropic:soak"),
            ("ANTHROPIC_API_KEY", "none"),
            ("ANTHROPIC_BASE_URL", address.as_str()),
        ];
        progress(&format!("starting {count} teammates"));
        let members = start_all(&dir, &team, &names, &environment)?;
        let owners = names.iter().map(|name| name.parse());
        Ok(Self {
            lead: Lead::start(&team)?,
            baseline: Baseline::start(&dir)?,
            owners: owners.collect::<Result<_, _>>()?,
            team,
            members,
            mail,
            _server: server,
        })
    }

    /// A message to each, so that all have a connection and know their model's window.
    fn warm_up(&mut self) -> anyhow::Result<()> {
        progress("a first message to each");
        for owner in self.owners.clone() {
            self.send(&owner)?;
        }
        self.settle();
        anyhow::ensure!(
            self.mail.missing() == 0,
            "the first messages did not arrive"
        );
        self.mail.take_times();
        Ok(())
    }

    fn send(&self, to: &Recipient) -> anyhow::Result<()> {
        let content = self.mail.next("person");
        self.team
            .send(end::message(&Sender::new("user"), to, &content))?;
        Ok(())
    }

    /// Waits until all that was sent has been seen, and all who saw it have ended their turns.
    fn settle(&self) {
        let _ = try_wait_for(PATIENCE, || {
            let idle = |owner: &Recipient| crate::measure::is_idle(&self.team, owner);
            (self.mail.missing() == 0 && self.owners.iter().all(idle)).then_some(())
        });
    }

    /// Mail at a steady rate, and samples at a steady pace.
    fn flow(&mut self, args: &Args) -> anyhow::Result<Vec<Sample>> {
        let span = Duration::from_secs_f64(args.minutes * 60.0);
        let gap = Duration::from_secs_f64(60.0 / args.rate / self.owners.len() as f64);
        let every = Duration::from_secs_f64(args.every);
        progress(&format!("mail for {} s, one every {gap:?}", span.as_secs()));
        let began = Instant::now();
        let (mut next_mail, mut next_sample) = (began, began + every);
        let mut samples = Vec::new();
        let mut turn = 0;
        while began.elapsed() < span {
            let next = next_mail.min(next_sample);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if next == next_sample {
                samples.push(self.sample(began.elapsed())?);
                next_sample += every;
                continue;
            }
            let owner = self.owners.get(turn % self.owners.len()).cloned();
            self.send(&owner.context("a teammate")?)?;
            turn += 1;
            next_mail += gap;
        }
        Ok(samples)
    }

    fn sample(&mut self, at: Duration) -> anyhow::Result<Sample> {
        let (mut memory, mut descriptors, mut most_aside) = (0, 0, 0);
        for member in &self.members {
            memory += proc::memory(member.id(), "Private_")?;
            let (open, aside) = self.open_files(member.id())?;
            descriptors += open;
            most_aside = aside.max(most_aside);
        }
        let times = self.mail.take_times();
        let bare = self.baseline.measure()?;
        let sample = Sample {
            seconds: at.as_secs_f64(),
            messages: self.mail.sent(),
            memory: memory as f64 / self.members.len() as f64,
            descriptors: descriptors as f64,
            aside: most_aside as f64,
            p50: quantile(&times, 0.5),
            p99: quantile(&times, 0.99),
            bare,
            files: files::sizes(self.team.layout().root())?,
        };
        progress(&format!(
            "{:.0} s: {} messages, {:.2} MB each, {descriptors} descriptors (and {most_aside} at most for inboxes set aside), p50 {:.1} ms, p99 {:.1} ms, bare {:.1} ms, {} compactions",
            sample.seconds,
            sample.messages,
            sample.memory / 1e6,
            sample.p50 * 1e3,
            sample.p99 * 1e3,
            sample.bare * 1e3,
            self.mail.compactions(),
        ));
        Ok(sample)
    }

    /// How many descriptors a process has open, and besides how many on inboxes set aside.
    fn open_files(&self, pid: u32) -> anyhow::Result<(usize, usize)> {
        let inboxes = self.team.layout().inbox_dir();
        let (mut open, mut aside) = (0, 0);
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).context("a teammate is gone")? {
            // The list is of this moment, and one may be closed by now.
            let Ok(target) = std::fs::read_link(entry?.path()) else {
                continue;
            };
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            let is_inbox = target.starts_with(&inboxes) && name.contains(".jsonl");
            // A lock file begins with a dot too.
            match is_inbox && name.starts_with('.') {
                true => aside += 1,
                false => open += 1,
            }
        }
        Ok((open, aside))
    }

    fn end(self, samples: Vec<Sample>) -> anyhow::Result<Outcome> {
        progress("the last messages");
        self.settle();
        let lost = self.mail.missing();
        let seconds = samples.last().map_or(0.0, |sample| sample.seconds);
        Ok(Outcome {
            teammates: self.members.len(),
            seconds,
            sent: self.mail.sent(),
            lost,
            reports: self.lead.stop(),
            compactions: self.mail.compactions(),
            verdicts: verdict::verdicts(&samples, lost),
            samples,
        })
    }
}

/// Nanoseconds of the clock that all processes share, for a message.
fn now() -> u64 {
    clock::nanos()
}
