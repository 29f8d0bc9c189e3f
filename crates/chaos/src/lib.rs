//! A team does checked work while faults of every kind are injected.
//!
//! # Theory of operation
//!
//! Members are real `teammate` processes, the lead is a real `team-lead run`, and the model of all of
//! them is a server on the loopback interface that speaks the wire format of a provider (`TeamModel`). It
//! carries out what it reads: orders to send a message, tasks, plans. Each message and each task has an
//! id ([`tags`]).
//!
//! A [`Plan`] derived from the seed says which fault is injected when: kills, stops, full disks, outages
//! of the server, garbage in inboxes. The operator gives work, the restarter restarts dead processes.
//!
//! After the last fault the team finishes its work and is shut down. Then the files are read, and a
//! [`Ledger`] says whether every message that was reported as sent is in its recipient's journal and was
//! shown to its model once, every task was completed once, nothing is pending and no process is left.
//!
//! **Not promised:** the same seed gives the same faults and the same work at the same times; which
//! system call a kill hits is up to the kernel.

mod disk;
mod faults;
mod foreign;
mod gather;
mod history;
pub mod ledger;
mod operator;
pub mod plan;
mod programs;
mod quiesce;
mod replay;
mod restarter;
pub mod tags;
mod team_model;
mod world;

pub use ledger::Ledger;
pub use plan::Plan;
pub use programs::Programs;
pub use replay::{Mail, MemberHistory, Replay, Work};

use anyhow::Context as _;
use disk::Home;
use faults::FaultInjector;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use operator::Operator;
use programs::{Runner, wait};
use restarter::Restarter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use team_model::TeamModel;
use teamdir::{Options, TeamDir};
use test_support::llm_server::LlmServer;
use test_support::try_wait_for;
use trust::{FolderId, Store};
use world::{World, name};

/// How often due faults are injected and dead processes are looked for.
const TICK: Duration = Duration::from_millis(50);
/// How often the progress is reported.
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// How long a team may take to finish its work on a busy machine.
const QUIESCE_LIMIT: Duration = Duration::from_secs(300);
/// How long the lead may take to end the team.
const LEAVE_LIMIT: Duration = Duration::from_secs(180);
/// How long a process may take to end once nothing keeps it.
const GONE_LIMIT: Duration = Duration::from_secs(20);

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Setup {
    pub programs: Programs,
    /// How many members, the lead not counted.
    pub members: usize,
    /// How long faults are injected.
    pub time: Duration,
    /// Determines the faults and the work.
    pub seed: u64,
    /// Where the folder of the run goes; by default the folder for temporary files.
    pub dir: Option<PathBuf>,
    /// Ends the faults early when it is set. The team still finishes its work and is counted.
    pub stop: Arc<AtomicBool>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub ledger: Ledger,
    /// Where all files were kept, if the ledger is not balanced.
    pub kept: Option<PathBuf>,
}

/// Runs a team under faults. `say` gets a line of progress every few seconds.
///
/// # Errors
///
/// If the run could not take place. What is wrong with the team is in the ledger.
pub fn run(setup: &Setup, say: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Outcome> {
    let home = Home::new(setup.dir.as_deref(), setup.time)?;
    let model = Arc::new(TeamModel::new(setup.seed));
    let server = LlmServer::start();
    let shared = Arc::clone(&model);
    server.decide("team", move |request| shared.answer(&request));
    let address = server.base_url("team");
    let runner = Runner::new(&setup.programs, home.workspace(), home.runtime(), address);
    let ended = run_in(setup, &home, runner, model, say);
    drop(server);
    let facts = ended?;
    let ledger = Ledger::of(&facts);
    let kept = if ledger.is_balanced() {
        None
    } else {
        Some(home.keep()?)
    };
    Ok(Outcome { ledger, kept })
}

fn run_in(
    setup: &Setup,
    home: &Home,
    runner: Runner,
    model: Arc<TeamModel>,
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<ledger::Facts> {
    // The models here send as many messages as they are ordered to.
    let limits = "[limits]\nmembers = 200\nmessages_per_minute = 1000000\n";
    std::fs::write(home.workspace().join("team.toml"), limits)?;
    let team = TeamDir::create(home.workspace(), "default", Options::default())?;
    // As `team-lead` does when it creates a team.
    let record = Store::new(Some(runner.state().join("team-lead"))).lock(home.workspace())?;
    record.made(FolderId::of(team.layout().root())?)?;
    let world = World::new(runner, team, setup.members, model);
    let ended = run_team(setup, home, &world, say);
    let orphans = sweep(&world);
    let stranded = ended?;
    let mut facts = gather::gather(&world)?;
    facts.orphans = orphans;
    facts.stranded.extend(stranded);
    facts.left_out.extend(home.left_out.clone());
    Ok(facts)
}

/// Runs the team from its first member to its end. Returns what was left undone.
fn run_team(
    setup: &Setup,
    home: &Home,
    world: &World,
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<String>> {
    let mut restarter = Restarter::new(world, setup.seed)?;
    start_members(world)?;
    say(&format!("{} members run", setup.members));
    let end = Instant::now() + setup.time;
    let goes_on = || Instant::now() < end && !setup.stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| Operator::new(world, setup.seed).work_while(goes_on));
        let plan = Plan::new(setup.seed, setup.members, setup.time);
        let mut injector = FaultInjector::new(world, plan, home.filler());
        let mut said = Instant::now();
        while goes_on() {
            injector.tick();
            restarter.restart_dead();
            if said.elapsed() > REPORT_EVERY {
                said = Instant::now();
                say(&progress(world, end));
            }
            thread::sleep(TICK);
        }
        injector.stop();
    });
    say("no more faults are injected");
    let mut stranded = quiesce::settle(world, &mut restarter, QUIESCE_LIMIT, &|text| say(text));
    say("all work is done; the lead ends the team");
    stranded.extend(restarter.end_team(LEAVE_LIMIT));
    Ok(stranded)
}

/// Starts all members. The lead restarts every second one when it dies.
fn start_members(world: &World) -> anyhow::Result<()> {
    let start = |number: usize| {
        let name = name(number);
        let model = format!("anthropic:{name}");
        let policy = if number.is_multiple_of(2) {
            "on-failure"
        } else {
            "never"
        };
        let args = [
            "spawn",
            &name,
            "worker",
            "--model",
            &model,
            "--restart",
            policy,
        ];
        world
            .runner
            .command(&args)
            .spawn()
            .with_context(|| format!("start {name}"))
    };
    let numbers: Vec<usize> = (0..world.members).collect();
    for group in numbers.chunks(4) {
        let starts: Vec<_> = group.iter().map(|number| start(*number)).collect();
        for start in starts {
            let code = wait(&mut start?, Duration::from_secs(180));
            anyhow::ensure!(code == Some(0), "a member could not be started: {code:?}");
        }
    }
    Ok(())
}

fn progress(world: &World, end: Instant) -> String {
    let left = end.saturating_duration_since(Instant::now()).as_secs();
    let open: usize = world.model.open().values().sum();
    let notes = world.notes();
    let kills = notes.faults.members_killed + notes.faults.leads_killed;
    format!(
        "{left} s left: {kills} kills, {} messages and {} tasks given, {open} orders open, {} requests to the model",
        notes.attempts.len(),
        notes.tasks.len(),
        world.model.requests()
    )
}

/// Waits until no process of the run is left, kills those that are, and returns them.
fn sweep(world: &World) -> Vec<String> {
    let gone = || world.runner.processes().is_empty().then_some(());
    if try_wait_for(GONE_LIMIT, gone).is_some() {
        return Vec::new();
    }
    let left = world.runner.processes();
    for (pid, _) in &left {
        // It may have ended by now.
        let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    }
    left.iter()
        .map(|(pid, line)| format!("{pid} {line}"))
        .collect()
}
