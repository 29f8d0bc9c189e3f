//! Random graphs of tasks, and how fast anybody could work through them.

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

    /// The time of members that cost nothing and take the first ready task whenever they are free, as the
    /// board gives them out. It is above the bound where the tasks do not come out even.
    pub(super) fn without_costs(&self, members: u32) -> Duration {
        let mut open: Vec<usize> = self.0.iter().map(|node| node.waits_for.len()).collect();
        let mut free = members.max(1);
        let mut now = Duration::ZERO;
        let mut running: BinaryHeap<Reverse<(Duration, usize)>> = BinaryHeap::new();
        let mut begun = vec![false; self.0.len()];
        loop {
            for (at, node) in self.0.iter().enumerate() {
                if free > 0 && !begun[at] && open[at] == 0 {
                    begun[at] = true;
                    free -= 1;
                    running.push(Reverse((now + node.time, at)));
                }
            }
            let Some(Reverse((end, done))) = running.pop() else {
                return now;
            };
            now = end;
            free += 1;
            for (at, node) in self.0.iter().enumerate() {
                if node.waits_for.contains(&done) {
                    open[at] -= 1;
                }
            }
        }
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
}
