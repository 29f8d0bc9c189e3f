//! Random graphs of tasks, and how fast anybody could work through them.

use protocol::{Actor, Task, TaskId, Timestamp};
use rules::{Board, ClaimLimit, Claimant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// A task: how long it takes, and which tasks before it in the list it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) time: Duration,
    pub(super) waits_for: Vec<usize>,
}

/// Tasks that wait for each other, each only for some before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Graph(pub(super) Vec<Node>);

/// How many tasks each member does on average, if there are not few members.
const PER_MEMBER: usize = 12;
/// How many tasks a graph has at least.
const FEWEST: usize = 48;

/// How many tasks a team of so many members works through. With few tasks a member, such as three, no order of them
/// comes out even, and what is measured is the shape of the graph.
pub(super) fn tasks_for(members: u32) -> usize {
    FEWEST.max(PER_MEMBER * members as usize)
}

impl Graph {
    /// A graph of three layers: a task waits for up to three tasks of the layer before its own, and takes
    /// between half of `mean` and one and a half of it.
    pub(super) fn random(seed: u64, tasks: usize, mean: Duration) -> Self {
        const LAYERS: usize = 3;
        let mut random = fastrand::Rng::with_seed(seed);
        let layer = tasks.div_ceil(LAYERS).max(1);
        let nodes = (0..tasks).map(|at| {
            let begin = at / layer * layer;
            let before = begin.saturating_sub(layer)..begin;
            let count = if before.is_empty() {
                0
            } else {
                random.usize(0..=3)
            };
            let chosen = (0..count).map(|_| random.usize(before.clone()));
            let mut waits_for: Vec<usize> = chosen.collect();
            waits_for.sort_unstable();
            waits_for.dedup();
            let time = mean.mul_f64(0.5 + random.f64());
            Node { time, waits_for }
        });
        Self(nodes.collect())
    }

    pub(super) fn work(&self) -> Duration {
        self.0.iter().map(|node| node.time).sum()
    }

    /// The longest chain of tasks that wait for each other.
    pub(super) fn critical_path(&self) -> Duration {
        let mut ends: Vec<Duration> = Vec::new();
        for node in &self.0 {
            let before = node.waits_for.iter().filter_map(|at| ends.get(*at));
            let begin = before.max().copied().unwrap_or_default();
            ends.push(begin + node.time);
        }
        ends.into_iter().max().unwrap_or_default()
    }

    /// No number of members can be faster, whoever does what.
    pub(super) fn bound(&self, members: u32, redone: Duration) -> Duration {
        let shared = (self.work() + redone) / members.max(1);
        self.critical_path().max(shared)
    }

    /// The time of members that cost nothing and take the task that the board offers whenever they are free. It
    /// is above the bound where the tasks do not come out even.
    pub(super) fn without_costs(&self, members: u32) -> Duration {
        self.makespan(members, |board| Some(board.ready().first()?.id))
    }

    /// The same if they also knew how long each task takes, and took the one with the longest chain behind it, in
    /// time. No order is known that is faster for most graphs; the board does not know these times.
    pub(super) fn with_known_times(&self, members: u32) -> Duration {
        let chains = self.chains();
        self.makespan(members, |board| {
            let ready = board.ready().into_iter().map(|task| task.id);
            let chain = |id: &TaskId| place(*id).and_then(|at| chains.get(at));
            ready.min_by_key(|id| (Reverse(chain(id)), *id))
        })
    }

    /// For each task the time of the longest chain that begins with it.
    fn chains(&self) -> Vec<Duration> {
        let mut chains: Vec<Duration> = self.0.iter().map(|node| node.time).collect();
        for (at, node) in self.0.iter().enumerate().rev() {
            for before in &node.waits_for {
                chains[*before] = chains[*before].max(self.0[*before].time + chains[at]);
            }
        }
        chains
    }

    /// The time of members that cost nothing, each of which takes what `choose` says whenever it is free.
    fn makespan(&self, members: u32, choose: impl Fn(&Board) -> Option<TaskId>) -> Duration {
        let mut board = self.board();
        let (mut free, mut now) = (members.max(1), Duration::ZERO);
        let mut running: BinaryHeap<Reverse<(Duration, TaskId)>> = BinaryHeap::new();
        loop {
            while free > 0
                && let Some(id) = choose(&board)
                && board.claim(id, &anybody(), Timestamp::from_secs(0)).is_ok()
            {
                free -= 1;
                let time = place(id)
                    .and_then(|at| self.0.get(at))
                    .map(|node| node.time);
                running.push(Reverse((now + time.unwrap_or_default(), id)));
            }
            let Some(Reverse((end, id))) = running.pop() else {
                return now;
            };
            now = end;
            free += 1;
            let done = board.complete(id, &Actor::user(), None, Timestamp::from_secs(0));
            debug_assert!(done.is_ok(), "{done:?}");
        }
    }

    /// The board of a team that has this graph to work through.
    fn board(&self) -> Board {
        let task = |(at, node): (usize, &Node)| {
            let mut task = Task::new(number(at), "Part");
            task.blocked_by = node.waits_for.iter().copied().map(number).collect();
            task
        };
        self.0.iter().enumerate().map(task).collect()
    }
}

/// The number on the board of a task of the graph.
const fn number(at: usize) -> TaskId {
    TaskId(at as u64 + 1)
}

/// The task of the graph with this number.
fn place(id: TaskId) -> Option<usize> {
    usize::try_from(id.0.checked_sub(1)?).ok()
}

/// One who may have as many tasks as there are members.
const fn anybody() -> Claimant {
    Claimant {
        actor: Actor::user(),
        role: String::new(),
        limit: ClaimLimit::Many,
        busy_with: None,
        is_elsewhere: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(time: u64, waits_for: &[usize]) -> Node {
        Node {
            time: Duration::from_secs(time),
            waits_for: waits_for.to_vec(),
        }
    }

    #[test]
    fn bounds_are_those_of_the_longest_chain_and_of_the_work() {
        let graph = Graph(vec![
            node(3, &[]),
            node(1, &[]),
            node(2, &[0]),
            node(2, &[1]),
        ]);
        assert_eq!(graph.critical_path(), Duration::from_secs(5));
        assert_eq!(graph.bound(1, Duration::ZERO), Duration::from_secs(8));
        assert_eq!(
            graph.bound(1, Duration::from_secs(2)),
            Duration::from_secs(10)
        );
        assert_eq!(graph.bound(4, Duration::ZERO), Duration::from_secs(5));
        assert_eq!(graph.without_costs(1), Duration::from_secs(8));
        assert_eq!(graph.without_costs(2), Duration::from_secs(5));
    }

    #[test]
    fn a_seed_makes_one_graph_whose_tasks_wait_only_for_tasks_before_them() {
        let make = || Graph::random(7, 40, Duration::from_secs(1));
        let graph = make();
        assert_eq!(graph, make());
        for (at, node) in graph.0.iter().enumerate() {
            assert!(node.waits_for.iter().all(|before| *before < at), "{at}");
        }
        assert!(graph.0.iter().any(|node| node.waits_for.len() > 1));
        for members in [1, 2, 4, 8, 16] {
            let (bound, real) = (
                graph.bound(members, Duration::ZERO),
                graph.without_costs(members),
            );
            // The bound of list scheduling.
            assert!(bound <= real && real <= 2 * bound, "{members}: {real:?}");
        }
    }

    /// Chains of tasks, one after the other, as they are written down for one part of a work after another.
    fn parts(seed: u64, tasks: usize) -> Graph {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut nodes: Vec<Node> = Vec::new();
        while nodes.len() < tasks {
            for step in 0..random.usize(1..=8) {
                let before = nodes.len().checked_sub(1).filter(|_| step > 0);
                let waits_for: Vec<usize> = before.into_iter().collect();
                let time = Duration::from_secs(1).mul_f64(0.5 + random.f64());
                nodes.push(Node { time, waits_for });
            }
        }
        Graph(nodes)
    }

    /// How much longer than the bound members need that cost nothing: medians over graphs of these seeds if they
    /// take the lowest number, what the board offers, and what would be best if the times were known.
    fn medians(members: u32, graph: impl Fn(u64) -> Graph) -> [f64; 3] {
        let by_number = |board: &Board| board.ready().into_iter().map(|task| task.id).min();
        let mut all = [const { Vec::new() }; 3];
        for seed in 0..11 {
            let graph = graph(seed);
            let bound = graph.bound(members, Duration::ZERO);
            let found = [
                graph.makespan(members, by_number),
                graph.without_costs(members),
                graph.with_known_times(members),
            ];
            for (all, found) in all.iter_mut().zip(found) {
                all.push(found.div_duration_f64(bound));
            }
        }
        all.map(|ratios| crate::measure::quantile(&ratios, 0.5))
    }

    #[test]
    fn what_the_board_offers_is_near_the_bound_and_better_than_the_lowest_number() {
        let second = Duration::from_secs(1);
        for members in [1, 2, 4, 8, 16] {
            let tasks = tasks_for(members);
            let layers = medians(members, |seed| Graph::random(seed, tasks, second));
            let parts = medians(members, |seed| parts(seed, tasks));
            println!("{members} members, {tasks} tasks: layers {layers:.3?}, parts {parts:.3?}");
            for [by_number, offered, known] in [layers, parts] {
                assert!(
                    offered <= by_number + 0.005,
                    "{members}: {offered} {by_number}"
                );
                assert!(known <= offered + 0.005, "{members}: {known} {offered}");
                assert!(offered <= 1.07, "{members}: {offered}");
            }
            let [by_number, offered, _] = parts;
            assert!(
                members < 4 || offered < by_number - 0.02,
                "{members}: {offered} {by_number}"
            );
        }
    }
}
