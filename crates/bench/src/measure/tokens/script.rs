//! The model of the team: it answers by fixed rules.

use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use test_support::llm_server::{CapturedRequest, ServerReply};

/// How many lines the file has that each task reads.
const LINES: usize = 60;
const MEMBERS: [&str; 3] = ["alice", "bob", "carol"];

/// The work to be done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) tasks: usize,
}

impl Work {
    /// Writes what the tasks read.
    pub(super) fn prepare(self, dir: &Path) -> std::io::Result<()> {
        let line = |number| format!("{number}: a line of the file that a task is about\n");
        let text: String = (0..LINES).map(line).collect();
        std::fs::write(dir.join("source.txt"), text)
    }
}

/// The rules.
pub(super) struct Script {
    work: Work,
    /// How often the lead has asked.
    lead_asked: AtomicUsize,
}

/// The agent that asks: its name is in the system prompt.
pub(crate) fn agent(request: &CapturedRequest) -> String {
    let system = request.system_text();
    between(&system, "You are '", "'")
        .unwrap_or("nobody")
        .to_owned()
}

/// The task that a member was told last, as it was claimed or as it was held when its process started.
pub(in crate::measure) fn told_task(text: &str) -> Option<String> {
    let place = |(start, end)| Some((text.rfind(start)?, between(text, start, end)?));
    let told = [("<auto-claimed>Task #", ":"), ("Your task: #", ":")].into_iter();
    let last = told.filter_map(place).max_by_key(|(place, _)| *place);
    last.map(|(_, task)| task.to_owned())
}

impl Script {
    pub(super) fn new(work: Work) -> Self {
        Self {
            work,
            lead_asked: AtomicUsize::new(0),
        }
    }

    pub(super) fn answer(&self, request: &CapturedRequest) -> ServerReply {
        if agent(request) == "lead" {
            self.lead()
        } else {
            teammate(request)
        }
    }

    /// The lead puts all tasks on the board, starts everybody, and then listens.
    fn lead(&self) -> ServerReply {
        if self.lead_asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return ServerReply::text("Noted.");
        }
        let tasks = (1..=self.work.tasks).map(|number| {
            json!({
                "subject": format!("Write part {number}"),
                "description": format!("Read source.txt and write what matters to part-{number}.txt."),
            })
        });
        let tasks: Vec<Value> = tasks.collect();
        let tasks = ("task_create", json!({"tasks": tasks}));
        let spawns = MEMBERS.map(|name| {
            let member = json!({
                "name": name, "role": "coder", "prompt": "Do the tasks on the board.",
            });
            ("spawn_teammate", member)
        });
        ServerReply::calls(std::iter::once(tasks).chain(spawns))
    }
}

/// A teammate reads, writes and tries, says what came of it, and ends its turn.
fn teammate(request: &CapturedRequest) -> ServerReply {
    let said = request.last_text();
    if let Some(id) = between(&said, "type=\"shutdown_request\" request_id=\"", "\"") {
        let answer = json!({"request_id": id, "approve": true});
        return ServerReply::calls([("shutdown_response", answer)]);
    }
    let call = last_call(request);
    if call == Some("task_update") {
        return ServerReply::text("It is done.");
    }
    // What is told of a task stays where it was told, before the results of its tools.
    let conversation = Value::Array(request.messages().to_vec()).to_string();
    let told = if call.is_some() { &conversation } else { &said };
    let Some(task) = told_task(told) else {
        return ServerReply::text("Nothing is left to do.");
    };
    let path = format!("part-{task}.txt");
    let call = match call {
        Some("read_file") => {
            let content = "What matters, in a few words of its own.\n".repeat(20);
            ("write_file", json!({"path": path, "content": content}))
        }
        Some("write_file") => ("bash", json!({"command": format!("wc -l {path}")})),
        Some("bash") => {
            let task: u64 = task.parse().unwrap_or(0);
            let result = format!("{path} has 20 lines.");
            let update = json!({"task_id": task, "status": "completed", "result": result});
            ("task_update", update)
        }
        _ => ("read_file", json!({"path": "source.txt"})),
    };
    ServerReply::calls([call])
}

/// The tool whose result stands in the last message.
fn last_call(request: &CapturedRequest) -> Option<&str> {
    let messages = request.messages();
    let last = messages.last()?["content"].as_array()?;
    let is_result = |block: &&Value| block["type"] == "tool_result";
    last.iter().find(is_result)?;
    let before = messages.get(messages.len().checked_sub(2)?)?;
    let blocks = before["content"].as_array()?;
    let call = blocks.iter().rfind(|block| block["type"] == "tool_use")?;
    call["name"].as_str()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.rsplit_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}
