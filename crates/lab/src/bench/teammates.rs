//! What real teammates cost that have nothing to do.

use super::report::{Row, Section, Value};
use super::{Plan, clock, proc, progress};
use anyhow::Context as _;
use protocol::{EventLine, Phase, Recipient};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use teamdir::TeamDir;
use test_support::{Worker, wait_until};

const MEMBERS: usize = 100;
/// How long new processes get to come to rest.
const REST: Duration = Duration::from_secs(3);
/// How long a process may take to be ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// The `teammate` program that was built beside this one.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("teammate");
    anyhow::ensure!(
        beside.exists(),
        "{} is not there: build it with `cargo build --release --bins`",
        beside.display()
    );
    Ok(beside)
}

/// Starts a member, and waits until it is idle.
pub(super) fn start(
    dir: &Path,
    team: &TeamDir,
    name: &str,
    environment: &[(&str, &str)],
) -> anyhow::Result<Worker> {
    let mut command = Command::new(program()?);
    command.arg("--dir").arg(dir).args(["--name", name]);
    for variable in [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "MODEL_ID",
        "TEAM_MODEL",
    ] {
        command.env_remove(variable);
    }
    command.envs(environment.iter().copied());
    let worker = Worker::spawn(command.stderr(Stdio::inherit()))?;
    let owner: Recipient = name.parse()?;
    wait_until("a member is idle", PATIENCE, || is_idle(team, &owner));
    Ok(worker)
}

/// Whether a member says that it is idle.
pub(super) fn is_idle(team: &TeamDir, owner: &Recipient) -> bool {
    let state = team.live_state(owner);
    state.is_ok_and(|state| state.is_some_and(|state| state.phase == Phase::Idle))
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "teammates",
        "100 real teammates with the offline model and work-finding on, idle",
    );
    let dir = plan.folder("teammates")?;
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number:03}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let team = super::end::create_team(&dir, &known)?;
    progress("starting 100 teammates");
    let mut members = Vec::new();
    for name in &names {
        members.push(start(&dir, &team, name, &[("TEAM_MODEL", "offline")])?);
    }
    std::thread::sleep(REST);
    let time = Duration::from_secs(plan.pick(60, 5));
    progress(&format!("100 idle teammates for {} s", time.as_secs()));
    let before = totals(&members)?;
    std::thread::sleep(time);
    let after = totals(&members)?;
    let per_minute = 60.0 / time.as_secs_f64() / MEMBERS as f64;
    let switches = (after.0 - before.0) as f64 * per_minute;
    let cpu = (after.1 - before.1) as f64 / 1e9 * per_minute;
    let memory = private_memory(&members)?;
    section.rows.extend([
        Row::new("wake-ups of one, per minute", Value::Count(switches))
            .bar("at most 2", switches <= 2.0),
        Row::new("processor time of one, per minute", Value::Seconds(cpu)),
        Row::new("private memory of one, most", Value::Bytes(memory))
            .bar("at most 3 MB", memory <= 3e6),
    ]);
    let polling = polling(&team)?;
    section.note(format!(
        "{} are notified, {polling} poll because no inotify instance is left",
        MEMBERS - polling
    ));
    Ok(section)
}

fn totals(workers: &[Worker]) -> anyhow::Result<(u64, u64)> {
    let mut sums = (0, 0);
    for worker in workers {
        sums.0 += proc::switches(worker.id())?;
        sums.1 += clock::cpu_nanos(worker.id())?;
    }
    Ok(sums)
}

/// The most memory that one of the processes has for itself, in bytes.
fn private_memory(workers: &[Worker]) -> anyhow::Result<f64> {
    let mut most = 0;
    for worker in workers {
        let path = format!("/proc/{}/smaps_rollup", worker.id());
        let rollup = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let private = rollup.lines().filter(|line| line.starts_with("Private_"));
        let kilobytes = private.filter_map(|line| line.split_ascii_whitespace().nth(1));
        let sum: u64 = kilobytes
            .filter_map(|number| number.parse::<u64>().ok())
            .sum();
        most = most.max(sum * 1024);
    }
    Ok(most as f64)
}

/// How many members said that they poll.
fn polling(team: &TeamDir) -> anyhow::Result<usize> {
    let text = std::fs::read(team.layout().events())?;
    let lines = text.split(|byte| *byte == b'\n');
    let is_polling = |line: &&[u8]| match EventLine::decode(line) {
        EventLine::Known(event) => matches!(event.kind, protocol::EventKind::Polling { .. }),
        EventLine::Unknown(_) | EventLine::Corrupt { .. } => false,
    };
    Ok(lines.filter(is_polling).count())
}
