//! The model of the members: it thinks about a task as long as the task takes, and completes it.

use super::graph::Graph;
use crate::measure::tokens;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use test_support::llm_server::{CapturedRequest, ServerReply};

/// What the server knows of the run.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Who is at which task, and since when.
    pub(super) busy: BTreeMap<String, (usize, Instant)>,
    /// When the board had taken a task as completed, by the next request of whoever did it.
    pub(super) done: BTreeMap<usize, Instant>,
    pub(super) sums: tokens::Sums,
}

/// Shared between the connections of the server and the measurement.
#[derive(Clone)]
pub(super) struct Model {
    graph: Arc<Graph>,
    /// The number of the first task of the graph on the board.
    first: usize,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Model {
    pub(super) fn new(graph: &Graph, first: usize) -> Self {
        Self {
            graph: Arc::new(graph.clone()),
            first,
            seen: Arc::default(),
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all tasks are completed, or so long.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let all = self.graph.0.len();
        let is_open = |seen: &mut Seen| seen.done.len() < all;
        let waited = self.seen.1.wait_timeout_while(self.seen(), limit, is_open);
        let (seen, _) = waited.unwrap_or_else(PoisonError::into_inner);
        seen.done.len() >= all
    }

    pub(super) fn answer(&self, request: &CapturedRequest) -> ServerReply {
        let agent = tokens::agent(request);
        self.seen().sums.add(request);
        if let Some((task, result)) = completed(request) {
            // A member that was killed on the way does not know what came of it.
            if !result.contains("completed") {
                return complete(task);
            }
            self.note_completion(&agent, task);
            return ServerReply::text("It is done.");
        }
        let Some(task) = self.open_task(request) else {
            return ServerReply::text("Nothing is left to do.");
        };
        let node = task.checked_sub(self.first);
        let Some(node) = node.and_then(|at| self.graph.0.get(at)) else {
            return ServerReply::text("This task is not of the graph.");
        };
        self.seen().busy.insert(agent, (task, Instant::now()));
        std::thread::sleep(node.time);
        complete(task)
    }

    /// The task that a member was told last, unless it is done.
    fn open_task(&self, request: &CapturedRequest) -> Option<usize> {
        let said = tokens::told_task(&request.last_text());
        // A member that was started again is told no more than it has in its conversation.
        let before = || tokens::told_task(&Value::Array(request.messages().to_vec()).to_string());
        let task = said.or_else(before)?.parse().ok()?;
        let is_done = self.seen().done.contains_key(&task);
        (!is_done).then_some(task)
    }

    fn note_completion(&self, agent: &str, task: usize) {
        let now = Instant::now();
        let mut seen = self.seen();
        seen.busy.remove(agent);
        seen.done.entry(task).or_insert(now);
        drop(seen);
        self.seen.1.notify_all();
    }
}

fn complete(task: usize) -> ServerReply {
    let update = json!({"task_id": task, "status": "completed", "result": "done"});
    ServerReply::calls([("task_update", update)])
}

/// The task whose completion stands in the last message, and what came of it.
fn completed(request: &CapturedRequest) -> Option<(usize, String)> {
    let messages = request.messages();
    let last = messages.last()?["content"].as_array()?;
    let result = last.iter().find(|block| block["type"] == "tool_result")?;
    let before = messages.get(messages.len().checked_sub(2)?)?;
    let is_update = |block: &&Value| block["name"] == "task_update";
    let call = before["content"].as_array()?.iter().find(is_update)?;
    let task = usize::try_from(call["input"]["task_id"].as_u64()?).ok()?;
    Some((task, result["content"].to_string()))
}
