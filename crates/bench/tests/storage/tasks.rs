//! A board worked through by processes that are killed at random.

use crate::support::{LIMIT, TestTeam, is_long, unsynced};
use protocol::{AgentName, Event, EventKind, Incarnation, Party, Task, TaskId, TaskStatus};
use rules::NewTask;
use std::collections::BTreeMap;
use std::time::Duration;
use team::Actor;
use test_support::{Rng, TempTeam, Worker, try_wait_for};

const WORKERS: u64 = 8;

/// A member, and how much of what it said was counted.
struct TaskWorker {
    name: AgentName,
    process: Worker,
}

impl TaskWorker {
    fn start(team: &TestTeam, name: &str, seed: u64) -> Self {
        let name = AgentName::new(name).unwrap();
        let seed = seed.to_string();
        let process = team.start(&["finish-tasks", "--name", name.as_str(), "--seed", &seed]);
        Self { name, process }
    }

    /// How many tasks it has said to be done since it was last asked.
    fn count_done(&mut self) -> u64 {
        let lines = std::iter::from_fn(|| self.process.try_line());
        lines.filter(|line| line.starts_with("done")).count() as u64
    }

    /// Kills the process, and does what whoever notices a death does.
    fn kill(&mut self, team: &TestTeam) -> usize {
        self.process.kill9();
        let roster = team.team.roster().unwrap();
        let incarnation = roster.member(&self.name).unwrap().incarnation;
        let back = team::release_all(&team.team, &self.name, incarnation, "killed");
        back.unwrap().len()
    }
}

/// Tasks that wait for up to two of those before them.
fn fill(team: &TestTeam, count: u64, rng: &mut Rng) {
    for number in 1..=count {
        let mut new = NewTask {
            subject: format!("task {number}"),
            ..NewTask::default()
        };
        for _ in 0..rng.below(3) {
            // Near enough to make chains, far enough to leave work for all.
            let back = 1 + rng.below(120);
            if back < number {
                new.blocked_by.push(TaskId(number - back));
            }
        }
        team::create(&team.team, &Actor::user(), &new).unwrap();
    }
}

/// The place of each event of this kind in the log, which is in the order of the changes: it is
/// written under the board's lock. A kill may have left one out.
fn places(team: &TestTeam, wanted: &str) -> BTreeMap<TaskId, Vec<usize>> {
    let text = std::fs::read(team.team.layout().events()).unwrap();
    let text = String::from_utf8_lossy(&text);
    let mut places: BTreeMap<TaskId, Vec<usize>> = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            continue;
        };
        if let EventKind::Task { task, action, .. } = event.kind
            && action == wanted
        {
            places.entry(task).or_default().push(place);
        }
    }
    places
}

/// Completed once, by the incarnation that claimed it last.
fn assert_done_once(task: &Task) {
    assert_eq!(task.status, TaskStatus::Completed, "{task:?}");
    let actions = |wanted: &str| -> Vec<(usize, Party)> {
        let lines = task.history.iter().enumerate();
        let found = lines.filter(|(_, line)| line.action == wanted);
        found
            .map(|(place, line)| (place, line.by.clone()))
            .collect()
    };
    let completed = actions("completed");
    assert_eq!(completed.len(), 1, "{task:?}");
    let (place, by) = &completed[0];
    assert_eq!(place + 1, task.history.len(), "{task:?}");
    assert_eq!(task.owner.0.as_ref(), Some(by), "{task:?}");
    let claimed = actions("claimed");
    assert_eq!(claimed.last(), Some(&(place - 1, by.clone())), "{task:?}");
    let incarnation = task.owner_incarnation.unwrap_or(Incarnation(0));
    let result = format!("by {by} in incarnation {incarnation}");
    assert_eq!(task.result.as_ref(), Some(&result), "{task:?}");
    // Each claim but the last one ended in a release.
    assert_eq!(claimed.len(), actions("released").len() + 1, "{task:?}");
}

fn assert_order(team: &TestTeam, tasks: &[Task]) {
    let (claims, completions) = (places(team, "claimed"), places(team, "completed"));
    for task in tasks {
        for dependency in &task.blocked_by {
            let claimed = claims.get(&task.id).into_iter().flatten().min();
            let completed = completions.get(dependency).into_iter().flatten().max();
            if let (Some(claimed), Some(completed)) = (claimed, completed) {
                assert!(completed < claimed, "{dependency} before {}", task.id);
            }
        }
    }
}

#[test]
fn every_task_is_done_once_and_in_order_whoever_is_killed() {
    let (count, every) = if is_long() { (5_000, 10) } else { (500, 25) };
    let names: Vec<String> = (0..=WORKERS).map(|n| format!("w{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let team = TestTeam::of(TempTeam::new(&names, unsynced()));
    let mut rng = Rng::new(6);
    fill(&team, count, &mut rng);
    // One who holds a task and dies, so that there is a death with a claim in any case.
    let mut holder = TaskWorker {
        name: AgentName::new(names[0]).unwrap(),
        process: team.start(&["finish-tasks", "--name", names[0], "--seed", "0", "--hold"]),
    };
    assert!(holder.process.line(LIMIT).starts_with("claimed"));
    assert_eq!(holder.kill(&team), 1, "its task came back");
    let mut workers: Vec<TaskWorker> = names[1..]
        .iter()
        .map(|name| TaskWorker::start(&team, name, rng.next_u64()))
        .collect();
    let (mut done, mut next_kill) = (0, every);
    loop {
        done += workers.iter_mut().map(TaskWorker::count_done).sum::<u64>();
        // By progress and not by time: a slow machine gets as many kills as a fast one.
        if done >= next_kill {
            next_kill = done + 1 + rng.below(2 * every);
            let _ = try_wait_for(Duration::from_micros(rng.below(5_000)), || None::<()>);
            let victim = usize::try_from(rng.below(WORKERS)).unwrap();
            workers[victim].kill(&team);
            workers[victim] = TaskWorker::start(&team, names[1 + victim], rng.next_u64());
        }
        let ended = workers.iter_mut().map(|worker| worker.process.try_wait());
        let ended: Vec<_> = ended.collect();
        assert!(ended.iter().flatten().all(|status| status.success()));
        if ended.iter().all(Option::is_some) {
            break;
        }
        let _ = try_wait_for(Duration::from_millis(1), || None::<()>);
    }
    let tasks = team.team.tasks().unwrap().into_iter();
    let tasks: Vec<Task> = tasks.map(|task| Task::clone(&task.unwrap())).collect();
    assert_eq!(tasks.len() as u64, count);
    tasks.iter().for_each(assert_done_once);
    assert_order(&team, &tasks);
}
