//! What real teammates cost that have nothing to do.

use super::end::{Kind, Medium};
use super::report::{Row, Section, Value};
use super::worker::{self, Job};
use super::{Plan, proc, programs, progress};
use protocol::{EventLine, Phase, Recipient};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use teamdir::TeamDir;
use test_support::{Worker, wait_until};

const MEMBERS: usize = 100;
/// How many are started at once.
const AT_ONCE: usize = 8;
/// What a user could run instead: its polling interval, and its name.
const POLLERS: [(&str, &str, &str); 2] = [
    (
        "tutorial",
        "5",
        "tutorial's mailbox in Python, polls every 5 s",
    ),
    ("sqlite", "0.001", "SQLite in Python, polls every 1 ms"),
];
/// How many of each of those.
const EACH: usize = 5;
/// How long new processes get to become idle.
const SETTLE: Duration = Duration::from_secs(3);
/// How long a process may take to be ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a member, and waits until it is idle.
pub(super) fn start(
    dir: &Path,
    team: &TeamDir,
    name: &str,
    environment: &[(&str, &str)],
) -> anyhow::Result<Worker> {
    let worker = launch(dir, name, environment)?;
    let owner: Recipient = name.parse()?;
    wait_until("a member is idle", PATIENCE, || is_idle(team, &owner));
    Ok(worker)
}

/// Starts a member.
pub(super) fn launch(
    dir: &Path,
    name: &str,
    environment: &[(&str, &str)],
) -> anyhow::Result<Worker> {
    let mut command = Command::new(programs::beside("teammate")?);
    command.arg("--dir").arg(dir).args(["--name", name]);
    programs::clean(&mut command);
    command.envs(environment.iter().copied());
    command.envs([programs::grant(dir)?]);
    Ok(Worker::spawn(command.stderr(Stdio::inherit()))?)
}

/// Starts members, a few at a time, and waits until all are idle.
pub(crate) fn start_all(
    dir: &Path,
    team: &TeamDir,
    names: &[String],
    environment: &[(&str, &str)],
) -> anyhow::Result<Vec<Worker>> {
    let mut members = Vec::new();
    for few in names.chunks(AT_ONCE) {
        for name in few {
            members.push(launch(dir, name, environment)?);
        }
        for name in few {
            let owner: Recipient = name.parse()?;
            wait_until("a member is idle", PATIENCE, || is_idle(team, &owner));
        }
    }
    Ok(members)
}

/// Whether a member says that it is idle.
pub(crate) fn is_idle(team: &TeamDir, owner: &Recipient) -> bool {
    let state = team.live_state(owner);
    state.is_ok_and(|state| state.is_some_and(|state| state.phase == Phase::Idle))
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "teammates",
        "100 real teammates with the offline model and work-finding on, idle; bare = a process that \
         sleeps",
    );
    let dir = plan.folder("teammates")?;
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number:03}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let team = super::end::create_team(&dir, &known)?;
    progress("starting 100 teammates");
    let members = start_all(&dir, &team, &names, &[("TEAM_MODEL", "offline")])?;
    let sleepers = sleepers(plan)?;
    let mut others = Vec::new();
    if Kind::Tutorial.missing().is_none() {
        for (kind, poll, name) in POLLERS {
            others.push((name, pollers(plan, kind, poll)?));
        }
    }
    std::thread::sleep(SETTLE);
    let time = Duration::from_secs(plan.pick(60, 5));
    progress(&format!("100 idle teammates for {} s", time.as_secs()));
    let groups: Vec<&[Worker]> = [&members, &sleepers]
        .into_iter()
        .map(Vec::as_slice)
        .collect();
    let groups = [groups, others.iter().map(|(_, group)| &group[..]).collect()].concat();
    let costs = costs(&groups, time)?;
    let [ours, bare, rest @ ..] = &costs[..] else {
        anyhow::bail!("the costs of ours and of sleepers");
    };
    let row = |what: &str, of: fn(&Cost) -> Value| {
        let row = Row::new(what, of(ours));
        let row = row.bare(of(bare), of(ours).number() / of(bare).number());
        let rest = others.iter().zip(rest);
        rest.fold(row, |row, ((name, _), cost)| row.beside(name, of(cost)))
    };
    section.rows.extend([
        row("wake-ups of one, per minute", |cost| {
            Value::Count(cost.switches)
        })
        .bar("at most 2", ours.switches <= 2.0),
        row("processor time of one, per minute", |cost| {
            Value::Seconds(cost.cpu)
        }),
        row("private memory of one, most", |cost| {
            Value::Bytes(cost.memory)
        })
        .bar("at most 3 MB", ours.memory <= 3e6),
    ]);
    let polling = polling(&team)?;
    section.note(format!(
        "{} are notified, {polling} poll because no inotify instance is left",
        MEMBERS - polling
    ));
    section.note("in the tutorial itself teammates are threads of one process, and die together");
    Ok(section)
}

/// What one process of a group costs that does nothing.
struct Cost {
    switches: f64,
    cpu: f64,
    memory: f64,
}

/// What groups of processes cost in the same span of time.
fn costs(groups: &[&[Worker]], time: Duration) -> anyhow::Result<Vec<Cost>> {
    let all = || -> anyhow::Result<Vec<(u64, u64)>> {
        groups.iter().map(|group| worker::totals(group)).collect()
    };
    let before = all()?;
    std::thread::sleep(time);
    let after = all()?;
    let mut costs = Vec::new();
    for ((group, before), after) in groups.iter().zip(before).zip(after) {
        let per_minute = 60.0 / time.as_secs_f64() / group.len() as f64;
        costs.push(Cost {
            switches: (after.0 - before.0) as f64 * per_minute,
            cpu: (after.1 - before.1) as f64 / 1e9 * per_minute,
            memory: private_memory(group)?,
        });
    }
    Ok(costs)
}

/// Processes that do nothing at all.
fn sleepers(plan: &Plan<'_>) -> anyhow::Result<Vec<Worker>> {
    let dir = plan.folder("sleepers")?;
    let arguments = ["sleep", "100000"].map(str::to_owned).to_vec();
    let job = Job::Exec { dir, arguments };
    (0..EACH).map(|_| worker::start(&job)).collect()
}

/// Processes in Python that poll for mail.
fn pollers(plan: &Plan<'_>, kind: &str, poll: &str) -> anyhow::Result<Vec<Worker>> {
    let dir = plan.folder("pollers")?;
    let one = |number: usize| {
        let medium = Medium::new(Kind::Tutorial, &dir, &format!("m{number}"), "lead");
        let role = ["idle", poll].map(str::to_owned).to_vec();
        worker::start_ready(&Job::python(kind, &medium, role))
    };
    (0..EACH).map(one).collect()
}

/// The most memory that one of the processes has for itself, in bytes.
fn private_memory(workers: &[Worker]) -> anyhow::Result<f64> {
    let mut most = 0;
    for worker in workers {
        most = most.max(proc::memory(worker.id(), "Private_")?);
    }
    Ok(most as f64)
}

/// How many members said that they poll.
pub(super) fn polling(team: &TeamDir) -> anyhow::Result<usize> {
    let text = std::fs::read(team.layout().events())?;
    let lines = text.split(|byte| *byte == b'\n');
    let is_polling = |line: &&[u8]| match EventLine::decode(line) {
        EventLine::Known(event) => matches!(event.kind, protocol::EventKind::Polling { .. }),
        EventLine::Unknown(_) | EventLine::Corrupt { .. } => false,
    };
    Ok(lines.filter(is_polling).count())
}
