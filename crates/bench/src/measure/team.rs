//! How much longer a team takes for a graph of tasks than the graph itself asks for.
//!
//! Real teammates work through a board of random tasks. A server on the loopback interface is their model:
//! it thinks about each task as long as the task takes. What is above max(longest chain, work / members) is
//! the cost of coordination: finding, claiming and completing tasks, wake-ups, journals, syncs, and the
//! shape of the graph, which is shown beside it.

pub(super) mod contestants;
mod graph;
mod ledger;
mod merges;
mod model;

use super::programs::PATIENCE;
use super::report::{Row, Section, Value};
use super::teammates::{launch, start_all};
use super::{Plan, end, progress, quantile};
use agent::Estimator;
use anyhow::{Context as _, ensure};
use graph::{Graph, tasks_for};
use ledger::Ledger;
use model::Model;
use protocol::{Priority, TaskId};
use rules::NewTask;
use std::path::Path;
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{Durability, TeamDir};
use test_support::Worker;
use test_support::llm_server::LlmServer;

/// How far above the bound a team may be.
const MOST: f64 = 1.1;
/// Graphs for each number of members.
const SEEDS: u64 = 3;
/// How many members are at work at the same time, in teams that do not know of each other.
const TOGETHER: u32 = 18;
/// A role that nobody has: the task with it holds the others back until the clock runs.
const NOBODY: &str = "starter";

/// What a run is like.
#[derive(Debug, Clone, Copy)]
struct Shape {
    tasks: usize,
    mean: Duration,
    kills: Option<Kills>,
}

/// How members are killed.
#[derive(Debug, Clone, Copy)]
struct Kills {
    pause: Duration,
    most: usize,
}

/// What came of a run.
struct Outcome {
    makespan: Duration,
    /// What was thrown away by kills.
    redone: Duration,
    kills: usize,
    /// Tokens of coordination per task, behind what a provider keeps.
    coordination: f64,
    ledger: Ledger,
}

const NOTES: [&str; 3] = [
    "makespans are medians over the graphs; teams of few members work at the same time, up to 18 members at once",
    "a kill is SIGKILL to a member at work; it is started again at once, as a lead does, and the task that it had \
     begun is thought about anew",
    "tokens of coordination: those that the provider does not find in its cache, as in `tokens`; the first request \
     of each member is part of them",
];

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "team",
        "real teammates work through a random graph of tasks whose model thinks as long as a task takes, \
         from the first task ready to the last completion known; bare = max(longest chain, work / members), \
         with kills including the work that they threw away; beside it the same graph with members that \
         cost nothing",
    );
    let sizes = match plan.members {
        [] => plan.pick(&[1, 2, 4, 8, 16][..], &[1, 3]),
        sizes => sizes,
    };
    let mean = Duration::from_millis(plan.pick(1_000, 120));
    let runs = all_runs(plan, sizes, mean);
    let done: usize = runs.iter().map(|run| run.shape.tasks).sum();
    let mut finished = Vec::new();
    for together in batches(runs) {
        finished.extend(all_at_once(plan, together)?);
    }
    let faults: usize = finished
        .iter()
        .map(|(_, outcome)| outcome.ledger.faults())
        .sum();
    for with_kills in [false, true] {
        for members in sizes {
            let of = |(run, _): &&(Run, Outcome)| {
                run.members == *members && run.shape.kills.is_some() == with_kills
            };
            let of: Vec<&(Run, Outcome)> = finished.iter().filter(of).collect();
            makespan(&mut section, *members, with_kills, &of);
        }
    }
    section
        .rows
        .extend(sizes.iter().map(|members| tokens(*members, &finished)));
    let what = format!("tasks left open or done twice, of {done}");
    let row = Row::new(what, Value::Count(faults as f64));
    section.rows.push(row.bar("none", faults == 0));
    section.note(format!(
        "{} tasks and 12 for each member if that is more, of {:.1} s on average in three layers, each waiting for up \
         to three of the layer before; two model calls a task, synced as by default, all members on this machine",
        tasks_of(plan, 1),
        mean.as_secs_f64()
    ));
    if plan.members.is_empty() {
        merges::rows(plan, &mut section)?;
        contestants::rows(plan, &mut section)?;
    }
    NOTES.into_iter().for_each(|note| section.note(note));
    Ok(section)
}

fn tasks_of(plan: &Plan<'_>, members: u32) -> usize {
    plan.pick(tasks_for(members), 9)
}

/// Graphs for each size of a team, each with kills and without.
fn all_runs(plan: &Plan<'_>, sizes: &[u32], mean: Duration) -> Vec<Run> {
    let kills = Kills {
        pause: mean * 2,
        most: plan.pick(8, 2),
    };
    let mut runs = Vec::new();
    for members in sizes {
        for kills in [None, Some(kills)] {
            let tasks = tasks_of(plan, *members);
            let shape = Shape { tasks, mean, kills };
            runs.extend((0..plan.pick(SEEDS, 1)).map(|seed| Run::new(*members, seed, shape)));
        }
    }
    runs
}

/// What a team of this size costs in coordination, without kills.
fn tokens(members: u32, finished: &[(Run, Outcome)]) -> Row {
    let of = finished.iter().filter(|(run, _)| run.members == members);
    let costs = of.filter(|(run, _)| run.shape.kills.is_none());
    let costs: Vec<f64> = costs.map(|(_, outcome)| outcome.coordination).collect();
    let what = format!("tokens of coordination per task, {}", people(members));
    Row::new(what, Value::Count(quantile(&costs, 0.5)))
}

fn people(members: u32) -> String {
    format!("{members} member{}", if members == 1 { "" } else { "s" })
}

/// One graph, and how it is worked through.
struct Run {
    members: u32,
    graph: Graph,
    shape: Shape,
}

impl Run {
    fn new(members: u32, seed: u64, shape: Shape) -> Self {
        let seed = u64::from(members) + 1000 * seed;
        Self {
            members,
            graph: Graph::random(seed, shape.tasks, shape.mean),
            shape,
        }
    }
}

/// Groups of runs that do not disturb each other: members wait for their models nearly all of the time.
fn batches(runs: Vec<Run>) -> Vec<Vec<Run>> {
    let mut batches: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let at_work = |batch: &Vec<Run>| batch.iter().map(|run| run.members).sum::<u32>();
        match batches.last_mut() {
            Some(batch) if at_work(batch) + run.members <= TOGETHER => batch.push(run),
            _ => batches.push(vec![run]),
        }
    }
    batches
}

fn all_at_once(plan: &Plan<'_>, runs: Vec<Run>) -> anyhow::Result<Vec<(Run, Outcome)>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = runs
            .into_iter()
            .map(|one| {
                scope.spawn(move || {
                    let outcome = run(plan, &one.graph, one.members, one.shape);
                    outcome
                        .with_context(|| format!("a team of {}", one.members))
                        .map(|outcome| (one, outcome))
                })
            })
            .collect();
        let finished = threads.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        finished.collect()
    })
}

/// The median over the graphs, and how far they are apart.
fn makespan(section: &mut Section, members: u32, with_kills: bool, of: &[&(Run, Outcome)]) {
    let median = |values: &dyn Fn(&(Run, Outcome)) -> f64| {
        let values: Vec<f64> = of.iter().map(|one| values(one)).collect();
        quantile(&values, 0.5)
    };
    let ours = |(_, outcome): &(Run, Outcome)| outcome.makespan.as_secs_f64();
    let bound =
        |(run, outcome): &(Run, Outcome)| run.graph.bound(members, outcome.redone).as_secs_f64();
    let free = |(run, _): &(Run, Outcome)| run.graph.without_costs(members).as_secs_f64();
    let ratio = |one: &(Run, Outcome)| ours(one) / bound(one);
    let killed: usize = of.iter().map(|(_, outcome)| outcome.kills).sum();
    let kills = if with_kills {
        format!(", {killed} kills")
    } else {
        String::new()
    };
    let what = format!("makespan, {}{kills}", people(members));
    let ratios: Vec<f64> = of.iter().map(|one| ratio(one)).collect();
    let known = |(run, _): &(Run, Outcome)| run.graph.with_known_times(members).as_secs_f64();
    section.note(format!(
        "{what}: {:.3}x to {:.3}x the bound over {} graphs; members that cost nothing {:.3}x, and if they knew how \
         long each task takes {:.3}x",
        quantile(&ratios, 0.0),
        quantile(&ratios, 1.0),
        of.len(),
        median(&|one| free(one) / bound(one)),
        median(&|one| known(one) / bound(one)),
    ));
    let row = Row::new(what, Value::Seconds(median(&ours)))
        .bare(Value::Seconds(median(&bound)), median(&ratio))
        .bar(format!("at most {MOST}x"), median(&ratio) <= MOST);
    section.rows.push(if with_kills {
        row
    } else {
        let ratio = median(&|one| ours(one) / free(one));
        let free = Value::Seconds(median(&free));
        row.alternative("members that cost nothing", free, ratio)
    });
}

fn run(plan: &Plan<'_>, graph: &Graph, members: u32, shape: Shape) -> anyhow::Result<Outcome> {
    let with = if shape.kills.is_some() {
        " and kills"
    } else {
        ""
    };
    progress(&format!("a graph of tasks with {}{with}", people(members)));
    let dir = plan.folder("team")?;
    let names: Vec<String> = (0..members).map(|number| format!("m{number:02}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let team = end::create_team(&dir, &known)?;
    let gate = fill_board(&team, graph)?;
    let first = usize::try_from(gate.0)? + 1;
    let model = Model::new(graph, first);
    let server = LlmServer::start();
    let answering = model.clone();
    server.decide("team", move |request| answering.answer(&request));
    let address = server.base_url("team");
    let environment = [
        ("TEAM_MODEL", "anthropic:bench"),
        ("ANTHROPIC_API_KEY", "none"),
        ("ANTHROPIC_BASE_URL", address.as_str()),
        ("TEAM_MAX_ROUNDS", "0"),
    ];
    let mut workers = start_all(&dir, &team, &names, &environment)?;
    let started = Instant::now();
    team::complete(&team, &Actor::user(), gate, None)?;
    let (kills, redone) = watch(
        &model,
        shape.kills,
        started,
        &mut Processes {
            dir: &dir,
            names: &names,
            environment: &environment,
            workers: &mut workers,
        },
    )?;
    let seen = model.seen();
    let last = seen.done.values().max().context("no task was completed")?;
    let makespan = last.duration_since(started);
    let tokens = Estimator::default().tokens(seen.sums.coordination()) as f64;
    drop(seen);
    let ledger = Ledger::of(&team, gate)?;
    drop((workers, server));
    std::fs::remove_dir_all(&dir)?;
    Ok(Outcome {
        makespan,
        redone,
        kills,
        coordination: tokens / shape.tasks as f64,
        ledger,
    })
}

/// Puts the graph on the board, behind one task that nobody can claim.
fn fill_board(team: &TeamDir, graph: &Graph) -> anyhow::Result<TaskId> {
    // What is written before the clock runs need not be synced.
    let quick = TeamDir::open(team.workspace(), end::options(Durability::ProcessDeath))?;
    let create = |subject: String, role: Option<String>, blocked_by: Vec<TaskId>| {
        let new = NewTask {
            subject,
            description: String::new(),
            priority: Priority::default(),
            role,
            blocked_by,
        };
        team::create(&quick, &Actor::user(), &new)
    };
    let gate = create("Begin".to_owned(), Some(NOBODY.to_owned()), Vec::new())?.id;
    let mut ids = Vec::new();
    for (at, node) in graph.0.iter().enumerate() {
        let mut before = vec![gate];
        before.extend(node.waits_for.iter().filter_map(|before| ids.get(*before)));
        ids.push(create(format!("Part {at}"), None, before)?.id);
    }
    Ok(gate)
}

/// The processes of a team that is killed and started again.
struct Processes<'a> {
    dir: &'a Path,
    names: &'a [String],
    environment: &'a [(&'a str, &'a str)],
    workers: &'a mut Vec<Worker>,
}

/// Waits for the last task, and kills members at work meanwhile. Returns how many, and the work thrown away.
fn watch(
    model: &Model,
    plan: Option<Kills>,
    started: Instant,
    processes: &mut Processes<'_>,
) -> anyhow::Result<(usize, Duration)> {
    let (mut kills, mut redone) = (0, Duration::ZERO);
    while !model.wait(plan.map_or(PATIENCE, |plan| plan.pause)) {
        ensure!(
            started.elapsed() < PATIENCE,
            "the tasks are not done after {:?}: {:?}",
            started.elapsed(),
            model.seen().done.keys()
        );
        if plan.is_none_or(|plan| kills >= plan.most) {
            continue;
        }
        // Whoever has been at its task for the longest time loses the most.
        let mut seen = model.seen();
        let oldest = seen.busy.iter().min_by_key(|(_, (_, since))| *since);
        let Some((name, (_, since))) = oldest.map(|(name, busy)| (name.clone(), *busy)) else {
            continue;
        };
        seen.busy.remove(&name);
        drop(seen);
        let at = processes.names.iter().position(|known| *known == name);
        let at = at.with_context(|| format!("{name} is not of the team"))?;
        let worker = processes.workers.get_mut(at).context("no process")?;
        worker.kill9();
        redone += since.elapsed();
        *worker = launch(processes.dir, &name, processes.environment)?;
        kills += 1;
    }
    Ok((kills, redone))
}
