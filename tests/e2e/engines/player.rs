//! The model of an agent of others, played by a function: it does what the newest order in its conversation says.

use crate::harness::{Workspace, say};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use test_support::llm_server::{CapturedRequest, Gate, ServerReply, Wire};

/// What the model is to do. The words stand in the prompts that its agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Greet,
    /// Make a file, and complete the first task with the tools of the team.
    Paint,
    /// Make a file which nobody is to allow.
    Refuse,
    /// Make a file.
    Ask,
    /// Run a command that does not end, but only once.
    Nap,
    /// Begin to answer, and never end.
    Hang,
}

const ORDERS: [Order; 6] = [
    Order::Greet,
    Order::Paint,
    Order::Refuse,
    Order::Ask,
    Order::Nap,
    Order::Hang,
];

impl Order {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Greet => "ORDER-greet",
            Self::Paint => "ORDER-paint",
            Self::Refuse => "ORDER-refuse",
            Self::Ask => "ORDER-ask",
            Self::Nap => "ORDER-nap",
            Self::Hang => "ORDER-hang",
        }
    }
}

/// The names that agents have for their shell.
const SHELLS: [&str; 8] = [
    "Bash",
    "bash",
    "shell",
    "shell_command",
    "exec_command",
    "developer__shell",
    "run_shell_command",
    "Shell",
];
/// The tools with which agents look for those tools that they have not told the model of.
const SEARCHES: [&str; 2] = ["ToolSearch", "tool_search"];

/// A command that does not end. Some agents do not run a plain `sleep`.
const NAP: &str = "python3 -c 'import time; open(\"napping\", \"w\").close(); time.sleep(4321)'";

/// The model, and what it was asked.
#[derive(Clone)]
pub(super) struct Player {
    folder: PathBuf,
    requests: Arc<Mutex<Vec<String>>>,
    pub(super) hanging: Gate,
}

impl Player {
    /// A model that answers carol from now on.
    pub(super) fn start(workspace: &Workspace) -> Self {
        let player = Self {
            folder: workspace.path().to_path_buf(),
            requests: Arc::default(),
            hanging: Gate::new(),
        };
        // Agents send fields that the rules for our own requests do not know.
        workspace.server.accept_foreign("carol");
        let own = player.clone();
        workspace
            .server
            .decide("carol", move |request| own.answer(&request));
        player
    }

    /// The bodies of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn answer(&self, request: &CapturedRequest) -> ServerReply {
        let body = request.body().to_string();
        self.requests.lock().unwrap().push(body);
        let names = tool_names(request.body());
        let Some(shell) = names.iter().find(|name| SHELLS.contains(&name.as_str())) else {
            // A title for the session, or the like.
            return say("Done.");
        };
        let Some((order, results)) = newest_order(request.messages()) else {
            return say("Done.");
        };
        match (order, results) {
            (Order::Greet, _) => say("Hello from the model."),
            (Order::Paint, 0) => run(shell, "touch painted"),
            (Order::Paint, results) => complete_task(&names, results),
            (Order::Refuse, 0) => run(shell, "touch refused"),
            (Order::Ask, 0) => run(shell, "touch asked"),
            (Order::Nap, 0) if fs::metadata(self.folder.join("napping")).is_err() => {
                run(shell, NAP)
            }
            (Order::Hang, 0) => {
                // In the middle of the text: some agents hear of nothing before an answer has begun.
                let place = match request.wire() {
                    Wire::Anthropic | Wire::OpenAi | Wire::Responses => 2,
                    Wire::Gemini => 1,
                };
                say("Never.").gate(place, &self.hanging)
            }
            (Order::Refuse | Order::Ask | Order::Nap | Order::Hang, _) => say("Done."),
        }
    }
}

/// The names of all tools, those in groups with the name of the group in front.
fn tool_names(body: &Value) -> Vec<String> {
    fn collect(tools: &Value, group: &str, names: &mut Vec<String>) {
        for tool in tools.as_array().into_iter().flatten() {
            let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
            let full = format!("{group}{}", name.unwrap_or_default());
            if tool["tools"].is_array() || tool["functionDeclarations"].is_array() {
                collect(&tool["tools"], &format!("{full}/"), names);
                collect(&tool["functionDeclarations"], &full, names);
            } else {
                names.push(full);
            }
        }
    }
    let mut names = Vec::new();
    collect(&body["tools"], "", &mut names);
    names
}

/// The newest order, and how many tools have given a result since.
fn newest_order(messages: &[Value]) -> Option<(Order, usize)> {
    let mut results = 0;
    for message in messages.iter().rev() {
        let text = message.to_string();
        let is_answer = ["assistant", "model"].contains(&message["role"].as_str().unwrap_or(""));
        let newest = ORDERS
            .into_iter()
            .filter_map(|order| Some((text.rfind(order.word())?, order)))
            .max_by_key(|(place, _)| *place);
        match newest {
            Some((_, order)) if !is_answer => return Some((order, results)),
            Some(_) | None => results += results_in(message, &text),
        }
    }
    None
}

/// How many results of tools a message has.
fn results_in(message: &Value, text: &str) -> usize {
    let parts = ["\"tool_result\"", "\"functionResponse\""].map(|part| text.matches(part).count());
    let is_whole = message["role"] == "tool"
        || message["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_output"));
    parts.iter().sum::<usize>().max(usize::from(is_whole))
}

/// A call of the agent's shell, with the arguments that any of the shells knows.
fn run(shell: &str, command: &str) -> ServerReply {
    let input = match shell {
        // Codex has a sandbox of its own, which does not work inside of another one.
        "exec_command" => json!({"cmd": command, "sandbox_permissions": "require_escalated",
            "justification": "It changes a file."}),
        "shell_command" => {
            json!({"command": command, "sandbox_permissions": "require_escalated",
            "justification": "It changes a file."})
        }
        "shell" => json!({"command": command}),
        "run_shell_command" => {
            json!({"command": command, "description": "Makes a file", "is_background": false})
        }
        _ => json!({"command": command, "description": "Makes a file"}),
    };
    ServerReply::calls([(shell, input)])
}

/// Completes the first task. Where the agent has hidden the team's tools, they are looked for first.
fn complete_task(names: &[String], results: usize) -> ServerReply {
    let update = names.iter().find(|name| name.ends_with("task_update"));
    let search = names.iter().find(|name| SEARCHES.contains(&name.as_str()));
    let completed = json!({"task_id": 1, "status": "completed", "result": "Painted."});
    match (results, update, search) {
        (1, None, Some(search)) => {
            let input = json!({"query": "select:mcp__team__task_update"});
            ServerReply::calls([(search.as_str(), input)])
        }
        (1, Some(update), _) => ServerReply::calls([(update.as_str(), completed)]),
        (2, update, Some(_)) => {
            let update = update.map_or("mcp__team__task_update", String::as_str);
            ServerReply::calls([(update, completed)])
        }
        (_, _, _) => say("Done."),
    }
}
