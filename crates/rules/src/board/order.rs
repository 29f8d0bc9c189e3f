//! Which of several tasks is taken first.
//!
//! Highest priority first; then the task with the longest chain of tasks behind it that wait for each other, since
//! no number of members can shorten that chain once its start is late; then the lowest number. How long a task
//! takes nobody knows, so a chain is as long as its tasks are many.

use super::Board;
use protocol::{Task, TaskId, TaskStatus};
use std::cmp::Reverse;

impl Board {
    /// Sorts tasks of the board into the order in which they are taken.
    pub(super) fn sort_by_urgency(&self, tasks: &mut [&Task]) {
        if tasks.len() > 1 {
            let chains = Chains::of(self);
            tasks.sort_by_cached_key(|task| urgency(task, &chains));
        }
    }

    /// The task among these that is taken first.
    pub(super) fn most_urgent<'a>(&self, mut tasks: Vec<&'a Task>) -> Option<&'a Task> {
        let highest = tasks.iter().map(|task| task.priority).max()?;
        tasks.retain(|task| task.priority == highest);
        if let [only] = tasks.as_slice() {
            return Some(only);
        }
        let chains = Chains::of(self);
        tasks.into_iter().min_by_key(|task| urgency(task, &chains))
    }
}

fn urgency(task: &Task, chains: &Chains) -> impl Ord + use<> {
    let chain = chains.behind(task.id);
    (Reverse(task.priority), Reverse(chain), task.id)
}

/// For each task that is not completed, how many tasks the longest chain behind it has.
///
/// A task on a cycle waits for itself and is never done: it makes no chain longer, and neither do those before it
/// on the way into the cycle. A dependency that does not exist has no task that it could be counted for.
struct Chains {
    /// In the order of their numbers.
    open: Vec<TaskId>,
    behind: Vec<usize>,
}

impl Chains {
    /// Looks at each task and each dependency a fixed number of times. Chains may be thousands of tasks long, so
    /// nothing here calls itself.
    fn of(board: &Board) -> Self {
        let is_open = |task: &&Task| task.status != TaskStatus::Completed;
        let tasks: Vec<&Task> = board.tasks().filter(is_open).collect();
        let open: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        let place = |id: &TaskId| open.binary_search(id).ok();
        // A number that a task names twice counts twice here, and is taken off twice below.
        let waits_for = |task: &Task| task.blocked_by.iter().filter_map(place).collect();
        let waits_for: Vec<Vec<usize>> = tasks.iter().map(|task| waits_for(task)).collect();
        let mut waiting = vec![0_usize; open.len()];
        for before in waits_for.iter().flatten() {
            if let Some(waiting) = waiting.get_mut(*before) {
                *waiting += 1;
            }
        }
        let mut behind = vec![0; open.len()];
        let is_last = |at: &usize| waiting.get(*at) == Some(&0);
        let mut counted: Vec<usize> = (0..open.len()).filter(is_last).collect();
        while let Some(at) = counted.pop() {
            let chain = behind.get(at).map_or(0, |behind| behind + 1);
            for before in waits_for.get(at).into_iter().flatten() {
                if let Some(behind) = behind.get_mut(*before) {
                    *behind = chain.max(*behind);
                }
                if let Some(left) = waiting.get_mut(*before) {
                    *left -= 1;
                    if *left == 0 {
                        counted.push(*before);
                    }
                }
            }
        }
        Self { open, behind }
    }

    fn behind(&self, id: TaskId) -> usize {
        let place = self.open.binary_search(&id).ok();
        let behind = place.and_then(|at| self.behind.get(at));
        behind.copied().unwrap_or(0)
    }
}
