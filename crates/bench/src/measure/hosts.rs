//! How many teammates one machine can run.

use super::report::{Row, Section, Value};
use super::teammates::{polling, start_all};
use super::{Plan, end, proc, progress};
use protocol::{Recipient, Sender};
use std::time::{Duration, Instant};
use teamdir::{Durability, TeamDir};
use test_support::try_wait_for;

/// How long mail may take to reach them all.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "hosts",
        "real teammates with the offline model on this machine at once, each sent one message that \
         it takes and answers; `room` is by arithmetic: free memory by the memory of one, shared \
         pages counted in parts",
    );
    let count = plan.pick(500, 10);
    let dir = plan.folder("hosts")?;
    let names: Vec<String> = (0..count).map(|number| format!("m{number:03}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    end::create_team(&dir, &known)?;
    let team = TeamDir::open(&dir, end::options(Durability::ProcessDeath))?;
    let free = proc::available_memory()?;
    progress(&format!("starting {count} teammates"));
    let began = Instant::now();
    let environment = [("TEAM_MODEL", "offline"), ("TEAM_FSYNC", "off")];
    let members = start_all(&dir, &team, &names, &environment)?;
    let started = began.elapsed().as_secs_f64();
    let sizes = members
        .iter()
        .map(|member| proc::memory(member.id(), "Pss:"));
    let sizes = sizes.collect::<anyhow::Result<Vec<u64>>>()?;
    let each = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    progress(&format!("a message to each of {count} teammates"));
    let (reached, time) = reach_all(&team, &names)?;
    section.rows.extend([
        Row::new("teammates at once", Value::Count(members.len() as f64))
            .bar("all reached by mail", reached == count),
        Row::new(
            "starting one, on average",
            Value::Seconds(started / count as f64),
        ),
        Row::new("a message to each, until all have it", Value::Seconds(time)),
        Row::new("memory of one, on average", Value::Bytes(each)),
        Row::new(
            "room for, by memory (computed)",
            Value::Count(free as f64 / each),
        ),
    ]);
    let polling = polling(&team)?;
    section.note(format!(
        "{} are notified of mail; {polling} poll every 0.2 s, because a user has no more inotify \
         instances (fs.inotify.max_user_instances)",
        count - polling
    ));
    Ok(section)
}

/// Sends a message to each, and waits until all have taken theirs. Returns how many have.
fn reach_all(team: &TeamDir, names: &[String]) -> anyhow::Result<(usize, f64)> {
    let from = Sender::new("user");
    let owners: Vec<Recipient> = names
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()?;
    let began = Instant::now();
    for owner in &owners {
        team.send(end::message(&from, owner, "hello"))?;
    }
    let mut waiting: Vec<&Recipient> = owners.iter().collect();
    let _ = try_wait_for(PATIENCE, || {
        waiting.retain(|owner| {
            let journal = std::fs::read(team.layout().transcript(owner)).unwrap_or_default();
            !journal.windows(5).any(|bytes| bytes == b"hello")
        });
        waiting.is_empty().then_some(())
    });
    Ok((owners.len() - waiting.len(), began.elapsed().as_secs_f64()))
}
