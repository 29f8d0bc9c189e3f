//! What the models of a team reply.

use super::{LIMIT, Workspace};
use serde_json::{Value, json};
use test_support::llm_server::ServerReply;
use test_support::wait_until;

impl Workspace {
    /// Queues replies of a member's model, one for each request.
    pub(crate) fn script(&self, name: &str, replies: impl IntoIterator<Item = ServerReply>) {
        for reply in replies {
            self.server.enqueue(name, reply);
        }
    }

    /// Queues a reply of the lead's model.
    pub(crate) fn reply(&self, reply: ServerReply) {
        self.server.enqueue("lead", reply);
    }

    /// Writes a script for `script:` models, one turn a line, and returns the value for `--model`.
    pub(crate) fn script_file(&self, name: &str, turns: &[Value]) -> String {
        let lines: String = turns.iter().map(|turn| format!("{turn}\n")).collect();
        let file = format!("{name}.script");
        self.write(&file, &lines);
        format!("script:{}", self.path().join(file).display())
    }

    /// All requests to the lead's model, as text.
    pub(crate) fn lead_requests(&self) -> Vec<String> {
        let requests = self.server.requests("lead");
        requests.iter().map(|r| r.body().to_string()).collect()
    }

    /// Waits until a request to the lead's model contains a text.
    #[track_caller]
    pub(crate) fn wait_for_lead_request(&self, text: &str) {
        let what = format!("a request of the lead with {text:?}");
        wait_until(&what, LIMIT, || {
            self.lead_requests()
                .iter()
                .any(|request| request.contains(text))
        });
    }

    /// How often a text stands in the last request of a member.
    pub(crate) fn count_in_last_request(&self, name: &str, text: &str) -> usize {
        let body = self.server.last_request(name).raw_body().to_vec();
        String::from_utf8_lossy(&body).matches(text).count()
    }
}

/// A reply that calls one tool.
pub(crate) fn call(tool: &str, input: Value) -> ServerReply {
    ServerReply::calls([(tool, input)])
}

/// A reply that says something and ends the turn.
pub(crate) fn say(text: &str) -> ServerReply {
    ServerReply::text(text)
}

/// A reply that starts a teammate.
pub(crate) fn spawn_teammate(name: &str, prompt: &str, model: &str) -> ServerReply {
    let input = json!({"name": name, "role": "coder", "prompt": prompt, "model": model});
    call("spawn_teammate", input)
}

/// A reply that runs a shell command.
pub(crate) fn bash(command: &str) -> ServerReply {
    call("bash", json!({"command": command}))
}

/// A turn of a script in which `agent` runs a shell command.
pub(crate) fn script_bash(agent: &str, command: &str) -> Value {
    json!({"agent": agent, "calls": [{"name": "bash", "input": {"command": command}}]})
}
