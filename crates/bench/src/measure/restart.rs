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
         only say their version; with syncs: and the append and two replaced files that a restart syncs",
    );
    let dir = plan.folder("restart")?;
    end::create_team(&dir, &[])?;
    let team = TeamDir::open(&dir, end::options(Durability::PowerCut))?;
    let server = LlmServer::start();
    server.always(MEMBER, ServerReply::text("ok"));
    let address = server.base_url(MEMBER);
    verb(&dir, &address, &["spawn", MEMBER, "coder"])?;
    let bare_dir = plan.folder("bare-restart")?;
    let [mut ours, mut bare, mut synced] = std::array::from_fn(|_| Blocks::default());
    let (blocks, each) = plan.pick((10, 3), (2, 1));
    for _ in 0..blocks {
        let times = (0..each).map(|_| one_restart(&dir, &team, &server));
        ours.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        for (syncs, blocks) in [(None, &mut bare), (Some(&*bare_dir), &mut synced)] {
            let times = (0..each).map(|_| two_execs(syncs));
            blocks.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        }
    }
    verb(&dir, &address, &["kill", MEMBER])?;
    for (at, name) in [(0.5, "p50"), (0.99, "p99")] {
        let value = |blocks: &Blocks| Value::Seconds(blocks.quantile(at));
        let row = |what: String, bare: &Blocks| {
            Row::new(what, value(&ours)).bare(value(bare), ours.ratio(bare, at))
        };
        let what = format!("restart to working, {name}");
        section.rows.push(row(what.clone(), &bare));
        if name == "p50" {
            let ratio = ours.ratio(&synced, at);
            let row = row(format!("{what}, bare with syncs"), &synced);
            section.rows.push(row.bar("at most 5x", ratio <= 5.0));
        }
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

/// Runs both programs, with the syncs of a restart in this folder if there is one: the notice to the lead, and
/// the roster, which each of the two programs replaces.
fn two_execs(syncs: Option<&Path>) -> anyhow::Result<f64> {
    let began = Instant::now();
    if let Some(dir) = syncs {
        super::bare::append(&dir.join("inbox"), &[b'x'; 300], true)?;
    }
    for program in ["team-lead", "teammate"] {
        let mut command = Command::new(beside(program)?);
        command.arg("--version");
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(status.success(), "{program} --version failed");
        if let Some(dir) = syncs {
            super::deaths::replace(dir)?;
        }
    }
    Ok(began.elapsed().as_secs_f64())
}
