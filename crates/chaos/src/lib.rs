//! A team at checked work while everything goes wrong.
//!
//! # Theory of operation
//!
//! Members are real `teammate` processes, the lead is a real `team-lead run`, and the model of all of
//! them is a server on the loopback interface that speaks the wire format of a provider (`Brain`). It
//! carries out what it reads: orders to write to somebody, tasks, plans. Each message and each task
//! bears an id ([`words`]).
//!
//! A [`Plan`] made of the seed says which blow falls when: kills, stops, full disks, outages of the
//! server, garbage in inboxes. Another part of the run gives work, a third brings back the dead.
//!
//! After the last blow the team comes to rest and is shut down. Then the files are read, and a
//! [`Ledger`] says whether every message that was reported as sent is in its reader's journal and was
//! said to its model once, every task was done once, nothing was left lying and nothing runs.
//!
//! **Not promised:** the same seed gives the same blows and the same work at the same times; which
//! system call a kill hits is the system's choice.

mod disk;
mod faults;
mod foreign;
mod gather;
pub mod ledger;
mod operator;
mod picture;
pub mod plan;
mod programs;
mod quiesce;
mod restarter;
pub mod words;
mod worker_model;
mod world;

pub use ledger::Ledger;
pub use plan::Plan;
pub use programs::Programs;

use anyhow::Context as _;
use disk::Home;
use faults::Striker;
use operator::Boss;
use programs::{Office, wait};
use restarter::Nurse;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{Options, TeamDir};
use test_support::llm_server::LlmServer;
use test_support::try_wait_for;
use worker_model::Brain;
use world::{World, name};

/// How often blows and the dead are looked after.
const TICK: Duration = Duration::from_millis(50);
/// How often a line is said about how things are.
const SAY_EVERY: Duration = Duration::from_secs(5);
/// How long a team may take to come to rest on a busy machine.
const REST_LIMIT: Duration = Duration::from_secs(300);
/// How long the lead may take to end the team.
const LEAVE_LIMIT: Duration = Duration::from_secs(180);
/// How long a process may take to vanish once nothing holds it.
const GONE_LIMIT: Duration = Duration::from_secs(20);

/// What team, and for how long.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The programs to be tried.
    pub programs: Programs,
    /// How many members, the lead not counted.
    pub members: usize,
    /// How long blows fall.
    pub time: Duration,
    /// What decides on blows and work.
    pub seed: u64,
    /// Where the folder of the run goes; the place for temporary files if it is not said.
    pub dir: Option<PathBuf>,
    /// Ends the blows early when it is set. The team then comes to rest and is counted all the same.
    pub stop: Arc<AtomicBool>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The balance.
    pub ledger: Ledger,
    /// Where everything can be looked at, if the balance is not even.
    pub kept: Option<PathBuf>,
}

/// Runs a team under blows. `say` is told every few seconds how things are.
///
/// # Errors
///
/// If the run could not take place. What is wrong with the team is in the ledger.
pub fn run(setup: &Setup, say: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Outcome> {
    let home = Home::new(setup.dir.as_deref(), setup.time)?;
    let brain = Arc::new(Brain::new(setup.seed));
    let server = LlmServer::start();
    let mind = Arc::clone(&brain);
    server.decide("team", move |request| mind.answer(&request));
    let address = server.base_url("team");
    let office = Office::new(&setup.programs, home.workspace(), home.runtime(), address);
    let ended = run_in(setup, &home, office, brain, say);
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
    office: Office,
    brain: Arc<Brain>,
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<ledger::Facts> {
    // Models exchange as much as they are told to here.
    let limits = "[limits]\nmembers = 200\nmessages_per_minute = 1000000\n";
    std::fs::write(home.workspace().join("team.toml"), limits)?;
    let team = TeamDir::create(home.workspace(), "default", Options::default())?;
    let world = World::new(office, team, setup.members, brain);
    let ended = live(setup, home, &world, say);
    let orphans = sweep(&world);
    let stranded = ended?;
    let mut facts = gather::gather(&world)?;
    facts.orphans = orphans;
    facts.stranded.extend(stranded);
    facts.left_out.extend(home.left_out.clone());
    Ok(facts)
}

/// The life of the team, from its first member to its last. Returns what was left lying.
fn live(
    setup: &Setup,
    home: &Home,
    world: &World,
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<String>> {
    let mut nurse = Nurse::new(world, setup.seed)?;
    spec(world)?;
    say(&format!("{} members are there", setup.members));
    let end = Instant::now() + setup.time;
    let goes_on = || Instant::now() < end && !setup.stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| Boss::new(world, setup.seed).work_while(goes_on));
        let plan = Plan::new(setup.seed, setup.members, setup.time);
        let mut striker = Striker::new(world, plan, home.balloon());
        let mut said = Instant::now();
        while goes_on() {
            striker.go_on();
            nurse.tend();
            if said.elapsed() > SAY_EVERY {
                said = Instant::now();
                say(&progress(world, end));
            }
            thread::sleep(TICK);
        }
        striker.stop();
    });
    say("no more blows");
    let mut stranded = quiesce::settle(world, &mut nurse, REST_LIMIT, &|words| say(words));
    say("at rest; the lead ends the team");
    stranded.extend(nurse.dismiss(LEAVE_LIMIT));
    Ok(stranded)
}

/// Starts all members. Every second one is brought back by the lead when it dies.
fn spec(world: &World) -> anyhow::Result<()> {
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
            .office
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
    let open: usize = world.brain.open().values().sum();
    let notes = world.notes();
    let kills = notes.blows.members_killed + notes.blows.leads_killed;
    format!(
        "{left} s left: {kills} kills, {} messages and {} tasks given, {open} orders open, {} requests to the model",
        notes.tries.len(),
        notes.tasks.len(),
        world.brain.requests()
    )
}

/// Waits until no process of the run is left, and ends those that are. Returns which.
fn sweep(world: &World) -> Vec<String> {
    let gone = || world.office.processes().is_empty().then_some(());
    if try_wait_for(GONE_LIMIT, gone).is_some() {
        return Vec::new();
    }
    let left = world.office.processes();
    for (pid, _) in &left {
        let pid = i32::try_from(*pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    let words = left.iter().map(|(pid, line)| format!("{pid} {line}"));
    words.collect()
}
