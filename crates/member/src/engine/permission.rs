//! What an agent asks permission for, decided as a call of this member.

use crate::asking::Asker;
use crate::runtime::MemberRuntime;
use acp::{Question, ToolKind, Verdict};
use agent::{Answered, AskedCall, MayRun};
use llm::{CancellationToken, ToolUse};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tools::Effect;
use tracing::{info, warn};

impl MemberRuntime {
    /// Decides about a tool of an agent: by the plan gate, hooks and rules, and by a person where they say so.
    pub(crate) async fn decide_for_engine(
        &self,
        question: Question,
        turn_waits: &Notify,
        cancel: &CancellationToken,
    ) -> Verdict {
        let (tool_use, effect) = as_call(&question);
        let said = self.hooks_before(&tool_use, cancel).await;
        if said.input.is_some() {
            warn!(
                "a hook wants other arguments for {}, which an engine cannot take",
                question.title
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
                info!("refused {}: {error}", question.title);
                return Verdict::Reject;
            }
            MayRun::Ask(request_id) => request_id,
        };
        let call = AskedCall {
            tool_use: &tool_use,
            effect: Some(effect),
            request_id: &request_id,
        };
        match asker.ask_person(call, cancel).await {
            Answered::Run { .. } => Verdict::Allow,
            Answered::NotRun(output) => {
                info!("refused {}: {}", question.title, output.text);
                Verdict::Reject
            }
            Answered::StillWaiting => {
                // The agent asks again, under another number, when it comes back to it.
                if let Err(error) = team::withdraw_ask(self.team(), &request_id) {
                    warn!("request {request_id} stays pending: {error}");
                }
                Verdict::Cancel
            }
        }
    }
}

/// The tool of an agent as the tool of ours that does the same, so that the same rules decide about it.
fn as_call(question: &Question) -> (ToolUse, Effect) {
    let arguments = &question.arguments;
    let command = command_of(arguments);
    let path = ["file_path", "filePath", "path", "abs_path", "absolute_path"]
        .into_iter()
        .find_map(|key| arguments[key].as_str());
    let (name, arguments, effect) = match (question.kind, command, path) {
        (ToolKind::Executes, None, _) => {
            let command = question.title.clone();
            ("bash", json!({ "command": command }), Effect::Execute)
        }
        (ToolKind::Executes | ToolKind::Other, Some(command), _) => {
            ("bash", json!({ "command": command }), Effect::Execute)
        }
        (ToolKind::Changes, _, Some(path)) => {
            ("edit_file", json!({ "path": path }), Effect::Mutate)
        }
        (ToolKind::Changes, _, None) => (
            "edit_file",
            json!({ "path": question.title }),
            Effect::Mutate,
        ),
        (ToolKind::Reads, _, Some(path)) => ("read_file", json!({ "path": path }), Effect::Read),
        (ToolKind::Fetches, _, _) => (
            "web_fetch",
            json!({ "url": arguments["url"] }),
            Effect::Read,
        ),
        (ToolKind::Reads | ToolKind::Other, _, _) => {
            let name = question.title.as_str();
            (name, arguments.clone(), Effect::Execute)
        }
    };
    let tool_use = ToolUse::new(&question.tool_id, name, &arguments.to_string());
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
        let question = Question {
            ask: 1,
            tool_id: "t".into(),
            title: "the title".into(),
            kind,
            arguments,
        };
        let (tool_use, effect) = as_call(&question);
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
