//! What it costs to claim, complete and list, by the number of tasks on the board.

use super::super::end::{self, options};
use super::super::report::{Row, Section, Value};
use super::super::stats::Blocks;
use super::super::{Plan, clock, progress};
use anyhow::Context as _;
use protocol::{Incarnation, Task, TaskId};
use rules::{ClaimLimit, NewTask};
use std::path::PathBuf;
use team::{Actor, Worker};
use teamdir::{Durability, TeamDir};

/// How many tasks are on the boards, in the order of the rows.
const SIZES: [u64; 3] = [10, 1_000, 10_000];
/// How many rounds make up a block.
const BLOCK: u64 = 5;

/// A board of some size, and what was measured on it.
struct Sized {
    size: u64,
    workspace: PathBuf,
    team: TeamDir,
    worker: Worker,
    times: Times,
}

#[derive(Default)]
struct Times {
    next: Blocks,
    claim: Blocks,
    complete: Blocks,
    list: Blocks,
    first: Blocks,
    read_all: Blocks,
    synced: Blocks,
}

/// Picks what a row shows.
type Which = fn(&Times) -> &Blocks;

pub(super) fn measure(plan: &Plan<'_>, section: &mut Section) -> anyhow::Result<()> {
    let sizes = plan.pick(SIZES, [10, 100, 1_000]);
    let boards = sizes.iter().map(|size| Sized::new(plan, *size));
    let mut boards: Vec<Sized> = boards.collect::<anyhow::Result<_>>()?;
    for _ in 0..plan.pick(20, 3) {
        for board in &mut boards {
            board.block()?;
        }
    }
    for _ in 0..plan.pick(10, 2) {
        for board in &mut boards {
            board.synced_block()?;
        }
    }
    let kinds: [(&str, Which); 6] = [
        ("complete a task", |times| &times.complete),
        ("synced: complete a task", |times| &times.synced),
        ("claim a task by number", |times| &times.claim),
        ("claim the next task", |times| &times.next),
        ("list, again", |times| &times.list),
        ("list, first time in a process", |times| &times.first),
    ];
    let first = boards.first().context("a smallest board")?;
    for (what, which) in kinds {
        for board in &boards {
            section.rows.push(board.row(what, first, which));
        }
    }
    section.note("complete = the board's lock, one task and its dependencies read, one replaced");
    section
        .note("a claim checks every file, and reads those that changed: one task for each owner");
    section.note("the next task is searched without the lock first, and then again under it");
    Ok(())
}

impl Sized {
    fn new(plan: &Plan<'_>, size: u64) -> anyhow::Result<Self> {
        progress(&format!("a board of {size} tasks"));
        let workspace = plan.folder("growth")?;
        end::create_team(&workspace, &["alice"])?;
        let team = TeamDir::open(&workspace, options(Durability::ProcessDeath))?;
        for number in 1..=size {
            let new = NewTask {
                subject: format!("task {number}"),
                description: "x".repeat(200),
                // Two dependencies, which are done, as on a board in use.
                blocked_by: if number > 2 {
                    vec![TaskId(1), TaskId(2)]
                } else {
                    Vec::new()
                },
                ..NewTask::default()
            };
            team::create(&team, &Actor::user(), &new)?;
        }
        for done in [1, 2] {
            team::complete(&team, &Actor::user(), TaskId(done), None)?;
        }
        Ok(Self {
            size,
            workspace,
            team,
            worker: Worker {
                me: Actor::member("alice".parse()?, Incarnation(1)),
                role: String::new(),
            },
            times: Times::default(),
        })
    }

    fn block(&mut self) -> anyhow::Result<()> {
        let (mut next, mut claim, mut complete) = (Vec::new(), Vec::new(), Vec::new());
        let (mut list, mut first, mut read_all) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..BLOCK {
            let started = clock::nanos();
            let task = team::claim_next(&self.team, &self.worker)?.context("a task")?;
            next.push(clock::nanos() - started);
            complete.push(self.complete(&self.team, task.id)?);
            self.put_back(task)?;
            let id = TaskId(3 + round % (self.size - 2));
            let started = clock::nanos();
            let task = team::claim(&self.team, &self.worker, id, ClaimLimit::One)?;
            claim.push(clock::nanos() - started);
            complete.push(self.complete(&self.team, id)?);
            self.put_back(task)?;
            list.push(self.list(&self.team)?);
        }
        let fresh = TeamDir::open(&self.workspace, *self.team.options())?;
        first.push(self.list(&fresh)?);
        read_all.push(self.read_all()?);
        let times = &mut self.times;
        times.next.push_nanos(&next);
        times.claim.push_nanos(&claim);
        times.complete.push_nanos(&complete);
        times.list.push_nanos(&list);
        times.first.push_nanos(&first);
        times.read_all.push_nanos(&read_all);
        Ok(())
    }

    fn synced_block(&mut self) -> anyhow::Result<()> {
        let synced = TeamDir::open(&self.workspace, options(Durability::PowerCut))?;
        let mut times = Vec::new();
        for round in 0..BLOCK {
            let id = TaskId(3 + round % (self.size - 2));
            let task = team::claim(&self.team, &self.worker, id, ClaimLimit::One)?;
            times.push(self.complete(&synced, id)?);
            self.put_back(task)?;
        }
        self.times.synced.push_nanos(&times);
        Ok(())
    }

    fn complete(&self, team: &TeamDir, id: TaskId) -> anyhow::Result<u64> {
        let started = clock::nanos();
        team::complete(team, &self.worker.me, id, Some("done"))?;
        Ok(clock::nanos() - started)
    }

    /// Makes a completed task claimable again, which only a benchmark may.
    fn put_back(&self, claimed: Task) -> anyhow::Result<()> {
        let mut task = Task::new(claimed.id, &claimed.subject);
        task.description = claimed.description;
        task.blocked_by = claimed.blocked_by;
        Ok(self.team.lock_board()?.put(&task, task.history.len())?)
    }

    /// The whole board as text.
    fn list(&self, team: &TeamDir) -> anyhow::Result<u64> {
        let started = clock::nanos();
        let text = team::list(team)?.board.to_string();
        let took = clock::nanos() - started;
        let lines = text.lines().count() as u64;
        anyhow::ensure!(lines == self.size, "{lines} lines");
        Ok(took)
    }

    /// What the tutorial does each time: every file read and parsed.
    fn read_all(&self) -> anyhow::Result<u64> {
        let started = clock::nanos();
        let mut tasks: Vec<Task> = Vec::new();
        for entry in std::fs::read_dir(self.team.layout().tasks_dir())? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") {
                tasks.push(serde_json::from_slice(&std::fs::read(path)?)?);
            }
        }
        let took = clock::nanos() - started;
        anyhow::ensure!(tasks.len() as u64 == self.size, "{} tasks", tasks.len());
        Ok(took)
    }

    fn row(&self, what: &str, first: &Self, which: Which) -> Row {
        let (own, small) = (which(&self.times), which(&first.times));
        let what = format!("{what}, of {}", self.size);
        let row = Row::new(what, Value::Seconds(own.p50()));
        let row = row.bare(Value::Seconds(small.p50()), own.ratio(small, 0.5));
        row.beside(
            "reading every file",
            Value::Seconds(self.times.read_all.p50()),
        )
    }
}
