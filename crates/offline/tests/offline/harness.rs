//! An agent with its conversation and simulated tools.

use llm::{Block, Request, Role, ToolResult, ToolSpec, Turn};
use offline::OfflineModel;
use protocol::{MAIL_TAG, decode_line};
use serde_json::{Value, json};

pub(crate) const LEAD: &[&str] = &[
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "spawn_teammate",
    "list_teammates",
    "send_message",
    "read_inbox",
    "broadcast",
    "shutdown_request",
    "shutdown_response",
    "plan_approval",
    "task_create",
    "task_update",
    "task_list",
    "task_get",
    "background_run",
    "check_background",
    "compact",
];

pub(crate) const TEAMMATE: &[&str] = &[
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "send_message",
    "read_inbox",
    "shutdown_response",
    "plan_approval",
    "idle",
    "claim_task",
    "task_create",
    "task_update",
    "task_list",
    "task_get",
    "background_run",
    "check_background",
    "compact",
];

/// A call as `tool {input}`.
pub(crate) fn call(tool: &str, input: Value) -> (String, Value) {
    (tool.to_owned(), input)
}

pub(crate) struct Agent {
    pub(crate) request: Request,
    tasks: i64,
}

/// What the model answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    Call {
        id: String,
        tool: String,
        input: Value,
    },
    Text(String),
}

impl Agent {
    pub(crate) fn lead() -> Self {
        Self::new("You are 'lead', who leads the team 'default'.", LEAD)
    }

    pub(crate) fn teammate(name: &str, role: &str) -> Self {
        Self::new(
            &format!("You are '{name}', role: {role}\nWorkspace: /w"),
            TEAMMATE,
        )
    }

    pub(crate) fn new(system: &str, tools: &[&str]) -> Self {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}).into(),
        };
        let request = Request {
            system: system.to_owned(),
            tools: tools.iter().map(spec).collect(),
            max_tokens: 100,
            ..Request::default()
        };
        Self { request, tasks: 0 }
    }

    pub(crate) fn user_says(&mut self, text: &str) {
        self.request.turns.push(Turn::user(text));
    }

    pub(crate) fn mail(&mut self, messages: Value) {
        self.user_says(&as_mail(&messages));
    }

    /// Asks for the next turn and appends it.
    pub(crate) fn step(&mut self) -> Reply {
        self.request
            .validate()
            .expect("the test builds valid requests");
        let reply = OfflineModel.reply(&self.request);
        assert_eq!(reply, OfflineModel.reply(&self.request), "it is a function");
        assert!(reply.usage.is_some());
        let reply_kind = match reply.tool_uses().next() {
            Some(used) => {
                let known = self.request.tools.iter().any(|tool| tool.name == used.name);
                assert!(known, "{} is not offered", used.name);
                Reply::Call {
                    id: used.id.clone(),
                    tool: used.name.clone(),
                    input: input(used),
                }
            }
            None => Reply::Text(reply.text()),
        };
        self.request.turns.push(Turn::assistant(reply.blocks));
        reply_kind
    }

    pub(crate) fn answer(&mut self, result: ToolResult) {
        self.request.turns.push(Turn::results([result]));
    }

    /// Runs to the end of the turn with tools that work.
    pub(crate) fn turn(&mut self) -> (Vec<(String, Value)>, String) {
        self.turn_with(|_, _| None)
    }

    /// Runs to the end of the turn; `play` may give a result of its own.
    pub(crate) fn turn_with(
        &mut self,
        mut play: impl FnMut(&str, &Value) -> Option<Result<String, String>>,
    ) -> (Vec<(String, Value)>, String) {
        let mut calls = Vec::new();
        loop {
            match self.step() {
                Reply::Text(text) => return (calls, text),
                Reply::Call { id, tool, input } => {
                    let played = play(&tool, &input);
                    let result = played.unwrap_or_else(|| Ok(self.default_result(&tool, &input)));
                    calls.push((tool, input));
                    assert!(calls.len() < 500, "endless: {calls:?}");
                    self.answer(match result {
                        Ok(text) => ToolResult::ok(id, text),
                        Err(text) => ToolResult::error(id, text),
                    });
                }
            }
        }
    }

    /// The result of a tool that works.
    fn default_result(&mut self, tool: &str, input: &Value) -> String {
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        match tool {
            "spawn_teammate" => format!("Spawned '{}' (role: {})", text("name"), text("role")),
            "send_message" => format!("Sent message to {}", text("to")),
            "broadcast" => "Broadcast to 2 teammates".into(),
            "list_teammates" => "Team: default\n  alice (coder): idle\n  bob (tester): working\n  carl (x): shutdown".into(),
            "read_inbox" => "There is no unread mail.".into(),
            "shutdown_request" => format!("Shutdown request 1a2b3c4d sent to '{}' (status: pending)", text("teammate")),
            "shutdown_response" => "Shutdown approved".into(),
            "plan_approval" if input.get("plan").is_some() => {
                "Plan submitted (request_id=0badcafe). Waiting for lead approval.".into()
            }
            "plan_approval" => "Plan decided for 'bob'".into(),
            "task_create" => {
                self.tasks += 1;
                json!({"id": self.tasks, "subject": text("subject"), "description": "", "status": "pending", "blockedBy": [], "owner": ""}).to_string()
            }
            "task_update" => json!({"id": input["task_id"], "status": "pending"}).to_string(),
            "task_list" => "[ ] #1: Setup project".into(),
            "background_run" => format!("Background task 00c0ffee started: {}", text("command")),
            "write_file" => format!("Wrote {} bytes to {}", text("content").len(), text("path")),
            "bash" => "ok".into(),
            "read_file" => "some lines".into(),
            "compact" => "Compressing...".into(),
            _ => "(done)".into(),
        }
    }

    /// Clears all but the last results, as the agent does.
    pub(crate) fn clear_old_results(&mut self, keep: usize) {
        let mut results: Vec<&mut ToolResult> = self
            .request
            .turns
            .iter_mut()
            .filter(|turn| turn.role == Role::User)
            .flat_map(|turn| &mut turn.blocks)
            .filter_map(|block| match block {
                Block::ToolResult(result) => Some(result),
                _ => None,
            })
            .collect();
        let old = results.len().saturating_sub(keep);
        for result in results
            .iter_mut()
            .take(old)
            .filter(|result| result.content.len() > 100)
        {
            result.content = "[Previous: used a tool]".to_owned();
        }
    }
}

/// Messages as a model is given them.
pub(crate) fn as_mail(messages: &Value) -> String {
    let messages = messages.as_array().expect("a list");
    let blocks = messages.iter().map(|message| {
        let line = decode_line(message.to_string().as_bytes());
        line.mail_block().expect("a message").render(MAIL_TAG)
    });
    blocks.collect::<Vec<_>>().join("\n")
}

pub(crate) fn message(kind: &str, from: &str, content: &str) -> Value {
    json!({"type": kind, "from": from, "content": content, "timestamp": 1.5, "id": "m1"})
}

fn input(used: &llm::ToolUse) -> Value {
    let arguments = used.arguments().expect("the arguments have no flaw");
    arguments.read().expect("the arguments are JSON")
}
