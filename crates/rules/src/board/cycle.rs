//! Cycles among dependencies, found without recursion: chains may be thousands of tasks long.

use super::Board;
use protocol::{Task, TaskId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl Board {
    /// A cycle on the board, if there is one; only a foreign program can have created it. The first task is
    /// repeated at the end.
    pub fn cycle(&self) -> Option<Vec<TaskId>> {
        let mut open: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut dependents: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
        for task in self.tasks() {
            let known = task.blocked_by.iter().filter(|id| self.get(**id).is_ok());
            let known: BTreeSet<TaskId> = known.copied().collect();
            open.insert(task.id, known.len());
            for id in known {
                dependents.entry(id).or_default().push(task.id);
            }
        }
        let free = open.iter().filter(|(_, count)| **count == 0);
        let mut free: Vec<TaskId> = free.map(|(id, _)| *id).collect();
        while let Some(id) = free.pop() {
            open.remove(&id);
            for dependent in dependents.get(&id).into_iter().flatten() {
                if let Some(count) = open.get_mut(dependent) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(*dependent);
                    }
                }
            }
        }
        self.follow_cycle(*open.keys().next()?, &open)
    }

    /// The shortest path from one of `starts` along the dependencies to `goal`, both included.
    pub(super) fn path(&self, starts: &[TaskId], goal: TaskId) -> Option<Vec<TaskId>> {
        let mut came_from: BTreeMap<TaskId, Option<TaskId>> = BTreeMap::new();
        let mut queue = VecDeque::new();
        for start in starts {
            if came_from.insert(*start, None).is_none() {
                queue.push_back(*start);
            }
        }
        while let Some(id) = queue.pop_front() {
            if id == goal {
                let back = |at: &TaskId| came_from.get(at).copied().flatten();
                let mut path: Vec<_> = std::iter::successors(Some(id), back).collect();
                path.reverse();
                return Some(path);
            }
            for next in self.get(id).ok().map_or(&[][..], blocked_by) {
                if !came_from.contains_key(next) {
                    came_from.insert(*next, Some(id));
                    queue.push_back(*next);
                }
            }
        }
        None
    }

    /// Follows dependencies within `tied`, whose tasks each depend on another of them, until one repeats.
    fn follow_cycle(&self, start: TaskId, tied: &BTreeMap<TaskId, usize>) -> Option<Vec<TaskId>> {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let mut at = start;
        while seen.insert(at) {
            path.push(at);
            let next = self.get(at).ok()?.blocked_by.iter();
            at = *next.into_iter().find(|id| tied.contains_key(id))?;
        }
        path.push(at);
        let begin = path.iter().position(|id| *id == at)?;
        Some(path.split_off(begin))
    }
}

fn blocked_by(task: &Task) -> &[TaskId] {
    &task.blocked_by
}
