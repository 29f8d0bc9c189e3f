//! What members cost that have nothing to do, and what mail for one costs all the others.

use super::end::{self, End as _};
use super::end::{Kind, Medium, OurEnd, message};
use super::report::{Row, Section, Value};
use super::stats::{quantile, seconds};
use super::worker::{self, Job};
use super::{Plan, bare, clock, progress};
use anyhow::Context as _;
use protocol::{Recipient, Sender};
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamdir::{TeamDir, WatchMode};
use test_support::Worker;

const MEMBERS: usize = 100;
/// The alternative: every process is notified of every change.
const FOLDER: &str = "watches on the whole inbox folder";
/// How long new processes get to become idle.
const SETTLE: Duration = Duration::from_secs(2);
/// The pause between two messages to one of them.
const PAUSE: Duration = Duration::from_millis(5);

/// What mail for one member cost.
struct Herd {
    /// Processor seconds of all others together, for each message.
    others: f64,
    /// The sender's time for one message.
    send: f64,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "idle",
        "100 member processes wait for mail; alternative = 99 processes that watch the whole \
         inbox folder",
    );
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number:03}")).collect();
    progress("starting 100 members");
    let (team, dir) = team(plan, &names)?;
    let (members, modes) = start_members(&dir, &names)?;
    std::thread::sleep(SETTLE);
    let time = Duration::from_secs(plan.pick(10, 3));
    progress(&format!("100 idle members for {} s", time.as_secs()));
    let before = worker::totals(&members)?;
    std::thread::sleep(time);
    let after = worker::totals(&members)?;
    let each_minute = 60.0 / time.as_secs_f64() / MEMBERS as f64;
    let switches = (after.0 - before.0) as f64 * each_minute;
    let cpu = seconds(after.1 - before.1) * each_minute;
    let messages = plan.pick(200, 50);
    let ours = herd(&team, &names, &members, messages)?;
    drop(members);
    progress("the same with watches on the whole folder");
    let watched = watched_folder(plan, &names, messages)?;

    section.rows.extend([
        Row::new(
            "context switches of one, per minute",
            Value::Count(switches),
        ),
        Row::new("processor time of one, per minute", Value::Seconds(cpu)),
        Row::new(
            "one message: all 99 others, processor",
            Value::Seconds(ours.others),
        )
        .beside(FOLDER, Value::Seconds(watched.others)),
        Row::new("one message: the send, p50", Value::Seconds(ours.send))
            .beside(FOLDER, Value::Seconds(watched.send)),
    ]);
    section.note(modes);
    section.note(format!(
        "{messages} messages to one member, one every 5 ms; not synced, syncs change nothing here"
    ));
    section.note("the tutorial's 5 s poll makes 12 wake-ups of one per minute, by arithmetic");
    Ok(section)
}

fn team(plan: &Plan<'_>, names: &[String]) -> anyhow::Result<(TeamDir, PathBuf)> {
    let dir = plan.folder("idle")?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let team = end::create_team(&dir, &names)?;
    Ok((team, dir))
}

/// Starts a process for each name, and says how they learn of mail.
fn start_members(dir: &Path, names: &[String]) -> anyhow::Result<(Vec<Worker>, String)> {
    let mut members = Vec::new();
    for name in names {
        let medium = Medium::new(Kind::Ours, dir, name, name);
        members.push(worker::start(&Job::Member(medium))?);
    }
    let mut notified = 0;
    let mut reasons = Vec::new();
    for member in &mut members {
        worker::expect_ready(member)?;
        match worker::answer::<Option<String>>(member)? {
            None => notified += 1,
            Some(reason) => reasons.push(reason),
        }
    }
    let polling = reasons.len();
    let why = reasons
        .pop()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    Ok((
        members,
        format!("{notified} members are notified, {polling} poll{why}"),
    ))
}

/// Sends to the first member, and sums up what that costs all others.
fn herd(
    team: &TeamDir,
    names: &[String],
    workers: &[Worker],
    messages: u32,
) -> anyhow::Result<Herd> {
    let to: Recipient = names.first().context("a member")?.parse()?;
    let others = workers.get(1..).unwrap_or_default();
    let from = Sender::new("lead");
    let before = worker::totals(others)?.1;
    let mut sends = Vec::new();
    for number in 0..messages {
        std::thread::sleep(PAUSE);
        let started = clock::nanos();
        team.send(message(&from, &to, &number.to_string()))?;
        sends.push(seconds(clock::nanos() - started));
    }
    std::thread::sleep(10 * PAUSE);
    let after = worker::totals(others)?.1;
    Ok(Herd {
        others: seconds(after - before) / f64::from(messages),
        send: quantile(&sends, 0.5),
    })
}

/// One member, and others that watch the folder all inboxes are in.
fn watched_folder(plan: &Plan<'_>, names: &[String], messages: u32) -> anyhow::Result<Herd> {
    let (team, dir) = team(plan, names)?;
    let (mut workers, _) = start_members(&dir, names.get(..1).unwrap_or_default())?;
    for name in names.iter().skip(1) {
        let folder = team.layout().inbox_dir();
        let name = format!("{name}.jsonl");
        workers.push(worker::start_ready(&Job::Watcher { folder, name })?);
    }
    std::thread::sleep(SETTLE);
    herd(&team, names, &workers, messages)
}

/// The worker that is a member and waits for mail.
pub(super) fn wait_for_mail(medium: &Medium) -> anyhow::Result<()> {
    let mut end = OurEnd::open(medium)?;
    let reason = match end.watch_mode() {
        Some(WatchMode::Polling(reason)) => Some(reason.to_string()),
        Some(WatchMode::Notified) | None => None,
    };
    worker::say_ready();
    worker::say(&reason)?;
    loop {
        end.next(None)?;
    }
}

/// The worker that is woken by every change in a folder and filters for one name.
pub(super) fn watch(folder: &Path, name: &str) -> anyhow::Result<()> {
    let notices = bare::watch(folder)?;
    worker::say_ready();
    let mut meant = 0_u64;
    loop {
        for event in notices.read_events()? {
            if event.name.is_some_and(|found| found == name) {
                meant += 1;
                worker::say(&meant)?;
            }
        }
    }
}
