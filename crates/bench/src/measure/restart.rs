//! How long a teammate takes from the command that brings it back until it works again.

use super::programs::{PATIENCE, Victim, beside, team_lead, verb, wait_for_phase};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, end, progress};
use protocol::{Phase, Recipient, Sender};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use teamdir::{Durability, Liveness, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{wait_for, wait_until};

const MEMBER: &str = "alice";

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress("restarts of a teammate");
    let mut section = Section::new(
        "restart",
        "from `team-lead restart` of a killed teammate, which has mail, until its first request with \
         that mail is at the model's server, syncs on; bare = fork and exec of both programs, which \
         only say their version",
    );
    let dir = plan.folder("restart")?;
    end::create_team(&dir, &[])?;
    let team = TeamDir::open(&dir, end::options(Durability::PowerCut))?;
    let server = LlmServer::start();
    server.always(MEMBER, ServerReply::text("ok"));
    let address = server.base_url(MEMBER);
    verb(&dir, &address, &["spawn", MEMBER, "coder"])?;
    let (mut ours, mut bare) = (Blocks::default(), Blocks::default());
    let (blocks, each) = plan.pick((10, 3), (2, 1));
    for _ in 0..blocks {
        let times = (0..each).map(|_| one_restart(&dir, &team, &server));
        ours.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        let times = (0..each).map(|_| two_execs());
        bare.push(times.collect::<anyhow::Result<Vec<_>>>()?);
    }
    verb(&dir, &address, &["kill", MEMBER])?;
    for (at, name) in [(0.5, "p50"), (0.99, "p99")] {
        let value = |blocks: &Blocks| Value::Seconds(blocks.quantile(at));
        let row = Row::new(format!("restart to working, {name}"), value(&ours));
        section
            .rows
            .push(row.bare(value(&bare), ours.ratio(&bare, at)));
    }
    section.note(format!("{} restarts", blocks * each));
    Ok(section)
}

fn one_restart(dir: &Path, team: &TeamDir, server: &LlmServer) -> anyhow::Result<f64> {
    let owner: Recipient = MEMBER.parse()?;
    wait_for_phase(team, &owner, Phase::Idle);
    Victim::of(team, &owner)?.kill()?;
    wait_until("the member is gone", PATIENCE, || {
        matches!(team.liveness(&owner), Ok(Liveness::Gone(_)))
    });
    team.send(end::message(&Sender::new("user"), &owner, "Go on."))?;
    let before = server.last_arrival(MEMBER).map_or(0, |(count, _)| count);
    let mut command = team_lead(dir, &server.base_url(MEMBER), &["restart", MEMBER])?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let arrived = wait_for("the request", PATIENCE, || {
        let (count, arrived) = server.last_arrival(MEMBER)?;
        (count > before).then_some(arrived)
    });
    anyhow::ensure!(child.wait()?.success(), "team-lead restart failed");
    Ok((arrived - began).as_secs_f64())
}

fn two_execs() -> anyhow::Result<f64> {
    let began = Instant::now();
    for program in ["team-lead", "teammate"] {
        let mut command = Command::new(beside(program)?);
        command.arg("--version");
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(status.success(), "{program} --version failed");
    }
    Ok(began.elapsed().as_secs_f64())
}
