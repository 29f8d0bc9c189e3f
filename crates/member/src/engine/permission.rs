//! What an agent asks permission for, decided as a call of this member.

use crate::asking::Asker;
use crate::runtime::MemberRuntime;
use acp::{AgentCall, Question, ToolKind, Verdict};
use agent::{Answered, AskedCall, MayRun};
use hooks::HookEvent;
use llm::{CancellationToken, ToolUse};
use protocol::{RequestId, Subject};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use teamdir::RequestError;
use tokio::sync::Notify;
use tools::Effect;
use tracing::{info, warn};

impl MemberRuntime {
    /// Decides about a tool of an agent: by the plan gate, hooks and rules, and by a person where they say so.
    pub(crate) async fn decide_for_engine(
        &self,
        question: Question,
        turn_waits: &Notify,
        is_withdrawn: &AtomicBool,
        cancel: &CancellationToken,
    ) -> Verdict {
        let (tool_use, effect) = as_call(&question.call);
        let mut said = self.hooks_before(&tool_use, cancel).await;
        let context = said.messages(HookEvent::PreToolUse);
        self.engine.shared().messages.extend(context);
        if said.input.is_some() {
            warn!(
                "a hook wants other arguments for {}, which an engine cannot take",
                question.call.title
            );
            return Verdict::Reject;
        }
        let mut asker = Asker {
            runtime: self,
            said: &said,
            begins: &mut |_| turn_waits.notify_one(),
            answer_watch: &mut None,
        };
        let request_id = match asker.first_decision(&tool_use, Some(effect)) {
            MayRun::Yes(_) => return Verdict::Allow,
            MayRun::No(error) => {
                info!("refused {}: {error}", question.call.title);
                return Verdict::Reject;
            }
            MayRun::Ask(new) => self.asked_before(&tool_use).unwrap_or(new),
        };
        self.keep_ask(&request_id);
        let call = AskedCall {
            tool_use: &tool_use,
            effect: Some(effect),
            request_id: &request_id,
        };
        match asker.ask_person(call, cancel).await {
            Answered::Run { .. } => {
                self.forget_ask(&request_id);
                Verdict::Allow
            }
            Answered::NotRun(output) => {
                info!("refused {}: {}", question.call.title, output.text);
                self.forget_ask(&request_id);
                Verdict::Reject
            }
            // An agent that has died comes back to it; whoever ends the prompt ends the request.
            Answered::StillWaiting if !is_withdrawn.load(Ordering::Relaxed) => Verdict::Cancel,
            Answered::StillWaiting => {
                self.withdraw_engine_ask(&request_id, "its engine needs no answer any more");
                self.forget_ask(&request_id);
                Verdict::Cancel
            }
        }
    }

    /// The request of an agent that died before it got the answer, if this is the same call.
    fn asked_before(&self, tool_use: &ToolUse) -> Option<RequestId> {
        let asked = self.engine.shared().asked.clone();
        let arguments: Value = serde_json::from_str(tool_use.replayed_input().get()).ok()?;
        asked.into_iter().find(|id| {
            let Ok(request) = self.team().request(id) else {
                return false;
            };
            match &request.subject {
                Subject::Permission(ask) => ask.tool == tool_use.name && ask.arguments == arguments,
                Subject::Question(_) | Subject::Plan { .. } | Subject::Shutdown { .. } => false,
            }
        })
    }

    fn keep_ask(&self, id: &RequestId) {
        let mut shared = self.engine.shared();
        if !shared.asked.contains(id) {
            shared.asked.push(id.clone());
        }
        drop(shared);
        self.write_kept();
    }

    fn forget_ask(&self, id: &RequestId) {
        self.engine.shared().asked.retain(|asked| asked != id);
        self.write_kept();
    }

    /// Ends everything that the agent asked: it does not come back to it.
    pub(super) fn withdraw_engine_asks(&self, why: &str) {
        let asked = std::mem::take(&mut self.engine.shared().asked);
        if asked.is_empty() {
            return;
        }
        for id in asked {
            self.withdraw_engine_ask(&id, why);
        }
        self.write_kept();
    }

    fn withdraw_engine_ask(&self, id: &RequestId, why: &str) {
        match team::withdraw_ask(self.team(), id) {
            Ok(true) => info!("request {id} is withdrawn: {why}"),
            Ok(false) | Err(RequestError::Unknown(_)) => {}
            Err(error) => warn!("request {id} stays pending: {error}"),
        }
    }
}

/// The tool of an agent as the tool of ours that does the same, so that the same rules decide about it.
pub(super) fn as_call(call: &AgentCall) -> (ToolUse, Effect) {
    let arguments = &call.arguments;
    let command = command_of(arguments);
    let path = ["file_path", "filePath", "path", "abs_path", "absolute_path"]
        .into_iter()
        .find_map(|key| arguments[key].as_str());
    let (name, arguments, effect) = match (call.kind, command, path) {
        (ToolKind::Executes, None, _) => {
            let command = call.title.clone();
            ("bash", json!({ "command": command }), Effect::Execute)
        }
        (ToolKind::Executes | ToolKind::Other, Some(command), _) => {
            ("bash", json!({ "command": command }), Effect::Execute)
        }
        (ToolKind::Changes, _, Some(path)) => {
            ("edit_file", json!({ "path": path }), Effect::Mutate)
        }
        (ToolKind::Changes, _, None) => {
            ("edit_file", json!({ "path": call.title }), Effect::Mutate)
        }
        (ToolKind::Reads, _, Some(path)) => ("read_file", json!({ "path": path }), Effect::Read),
        (ToolKind::Fetches, _, _) => (
            "web_fetch",
            json!({ "url": arguments["url"] }),
            Effect::Read,
        ),
        (ToolKind::Reads | ToolKind::Other, _, _) => {
            let name = call.title.as_str();
            (name, arguments.clone(), Effect::Execute)
        }
    };
    let tool_use = ToolUse::new(&call.id, name, &arguments.to_string());
    (tool_use, effect)
}

/// The command among the arguments: a text, or the words of one, perhaps behind a shell.
fn command_of(arguments: &Value) -> Option<String> {
    let words = match &arguments["command"] {
        Value::String(command) => return Some(command.clone()),
        Value::Array(words) => words,
        _ => return None,
    };
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, "-c" | "-lc", script] => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolKind, arguments: Value) -> (String, Value, Effect) {
        let call = AgentCall {
            id: "t".into(),
            title: "the title".into(),
            kind,
            arguments,
        };
        let (tool_use, effect) = as_call(&call);
        let arguments = serde_json::from_str(tool_use.replayed_input().get()).unwrap();
        (tool_use.name, arguments, effect)
    }

    #[test]
    fn tools_of_agents_are_judged_as_ours() {
        let shell = json!({"command": ["bash", "-lc", "ls -l"]});
        let expected = (
            "bash".to_owned(),
            json!({"command": "ls -l"}),
            Effect::Execute,
        );
        assert_eq!(call(ToolKind::Executes, shell), expected);
        // goose does not say what kind its shell is.
        assert_eq!(call(ToolKind::Other, json!({"command": "ls -l"})), expected);
        let edit = call(ToolKind::Changes, json!({"filePath": "/w/a"}));
        assert_eq!(
            edit,
            (
                "edit_file".to_owned(),
                json!({"path": "/w/a"}),
                Effect::Mutate
            )
        );
        let other = call(ToolKind::Other, json!({"x": 1}));
        assert_eq!((other.0.as_str(), other.2), ("the title", Effect::Execute));
    }
}
