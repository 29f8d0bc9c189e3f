//! The events that hooks are run for, each with what it is about and what follows from the hooks' words.

use super::{HookAnswers, hook_message};
use crate::host::{Hooks, RuntimeHost};
use crate::runtime::MemberRuntime;
use agent::EndedCall;
use hooks::{HookEvent, claude_input, claude_name};
use llm::{CancellationToken, ToolUse};
use protocol::{PermissionAsk, Recipient, TaskId, UserMessage};
use serde_json::{Value, json};
use teamdir::TeamDir;

/// How often hooks may keep one turn going.
const MOST_CONTINUATIONS: u32 = 8;
/// The tools that put a task on the board, change one, and end the turn.
const CREATES_TASKS: &str = "task_create";
const CHANGES_TASKS: &str = "task_update";
const ENDS_TURN: &str = "idle";

impl<H: Hooks> RuntimeHost<H> {
    /// Runs the hooks before a call, and keeps what they say about it. Returns the arguments that they want
    /// instead.
    pub(crate) async fn hooks_before_call(
        &mut self,
        tool_use: &ToolUse,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let runtime = self.runtime.clone();
        let mut said = runtime.hooks_before(tool_use, cancel).await;
        if said.block.is_none() {
            said.changed_tools = runtime.changed_tools(tool_use, &said, cancel).await;
        }
        let messages = said.messages(HookEvent::PreToolUse);
        self.hook_messages.extend(messages);
        let arguments = said.input.as_ref().map(Value::to_string);
        if said == HookAnswers::default() {
            self.said.remove(&tool_use.id);
        } else {
            self.said.insert(tool_use.id.clone(), said);
        }
        arguments
    }

    pub(crate) async fn hooks_after_call(
        &mut self,
        call: EndedCall<'_>,
        cancel: &CancellationToken,
    ) {
        self.said.remove(&call.tool_use.id);
        let runtime = self.runtime.clone();
        let said = runtime.hooks_after(call, cancel).await;
        self.hook_messages.extend(said);
    }

    /// What keeps the model from stopping, if hooks want that.
    pub(crate) async fn hooks_before_stop(
        &mut self,
        text: &str,
        times: u32,
        cancel: &CancellationToken,
    ) -> Option<UserMessage> {
        let runtime = self.runtime.clone();
        let (event, reason) = runtime.hooks_against_stop(text, times, cancel).await?;
        (times < MOST_CONTINUATIONS).then(|| hook_message(event, reason))
    }

    /// The input of a turn as the model gets it after the hooks have seen it. What they keep from the model
    /// stays in the journal as mail, and counts as given.
    pub(crate) async fn hooks_before_turn(
        &mut self,
        mut input: Vec<UserMessage>,
        cancel: &CancellationToken,
    ) -> Vec<UserMessage> {
        let runtime = self.runtime.clone();
        if !std::mem::replace(&mut self.has_begun, true) {
            let source = match runtime.incarnation().0 > 1 {
                true => "resume",
                false => "startup",
            };
            let event = HookEvent::SessionStart;
            let fields = || json!({ "source": source });
            let mut said = runtime.run_hooks(event, &[source], fields, cancel).await;
            self.hook_messages.extend(said.messages(event));
        }
        let texts: Vec<&str> = input.iter().map(|message| message.text.as_str()).collect();
        let prompt = texts.join("\n");
        if prompt.trim().is_empty() {
            return input;
        }
        let event = HookEvent::UserPromptSubmit;
        let fields = || json!({ "prompt": prompt });
        let mut said = runtime.run_hooks(event, &[], fields, cancel).await;
        if let Some(reason) = &said.block {
            for message in input.iter_mut().filter(|message| !message.text.is_empty()) {
                message.text = hook_message(event, format!("Kept from you: {reason}")).text;
            }
        }
        self.hook_messages.extend(said.messages(event));
        input.append(&mut self.hook_messages);
        input
    }
}

impl MemberRuntime {
    /// What hooks say before a call.
    pub(crate) async fn hooks_before(
        &self,
        tool_use: &ToolUse,
        cancel: &CancellationToken,
    ) -> HookAnswers {
        let name = tool_use.name.as_str();
        let arguments = arguments(tool_use);
        let names = [claude_name(name), name];
        let fields = || call_fields(tool_use, &arguments);
        let event = HookEvent::PreToolUse;
        let said = self.run_hooks(event, &names, fields, cancel).await;
        if said.block.is_some() {
            return said;
        }
        let more = match (task_event(name, &arguments), name) {
            (Some((event, id)), _) => {
                let owner = self.owner().as_str();
                let fields = || task_fields(self.team(), owner, &arguments, id);
                self.run_hooks(event, &[], fields, cancel).await
            }
            (None, ENDS_TURN) => {
                let kept = self.hooks_against_stop("", 0, cancel).await;
                HookAnswers {
                    block: kept.map(|(_, reason)| reason),
                    ..HookAnswers::default()
                }
            }
            (None, _) => HookAnswers::default(),
        };
        HookAnswers {
            block: more.block,
            ..said
        }
    }

    /// What hooks have for the model after a call.
    pub(crate) async fn hooks_after(
        &self,
        call: EndedCall<'_>,
        cancel: &CancellationToken,
    ) -> Vec<UserMessage> {
        let name = call.tool_use.name.as_str();
        let names = [claude_name(name), name];
        let fields = || {
            let arguments = arguments(call.tool_use);
            let mut fields = call_fields(call.tool_use, &arguments);
            fields["tool_response"] = json!({
                "content": call.text,
                "is_error": call.is_error,
            });
            fields
        };
        let event = HookEvent::PostToolUse;
        let mut said = self.run_hooks(event, &names, fields, cancel).await;
        let blocked = said.block.take();
        let mut messages = said.messages(event);
        messages.extend(blocked.map(|reason| hook_message(event, reason)));
        messages
    }

    /// Why hooks do not want the turn to end, if they do not.
    pub(crate) async fn hooks_against_stop(
        &self,
        text: &str,
        times: u32,
        cancel: &CancellationToken,
    ) -> Option<(HookEvent, String)> {
        let fields = || {
            json!({
                "stop_hook_active": times > 0,
                "last_assistant_message": text,
            })
        };
        let said = self.run_hooks(HookEvent::Stop, &[], fields, cancel).await;
        if said.stops {
            return None;
        }
        if let Some(reason) = said.block {
            return Some((HookEvent::Stop, reason));
        }
        let Recipient::Member(name) = self.owner() else {
            return None;
        };
        let event = HookEvent::TeammateIdle;
        let fields = || json!({ "teammate_name": name, "team_name": self.team_name() });
        let said = self.run_hooks(event, &[], fields, cancel).await;
        let reason = said.block.filter(|_| !said.stops);
        reason.map(|reason| (event, reason))
    }

    /// What hooks answer in a person's place.
    pub(crate) async fn hooks_about_permission(
        &self,
        tool_use: &ToolUse,
        ask: &PermissionAsk,
        cancel: &CancellationToken,
    ) -> HookAnswers {
        let name = tool_use.name.as_str();
        let names = [claude_name(name), name];
        let fields = || {
            let mut fields = call_fields(tool_use, &ask.arguments);
            fields["reason"] = ask.why.clone().into();
            fields
        };
        let event = HookEvent::PermissionRequest;
        self.run_hooks(event, &names, fields, cancel).await
    }

    fn team_name(&self) -> Option<String> {
        team_name(self.team())
    }
}

fn team_name(team: &TeamDir) -> Option<String> {
    let roster = team.roster().ok()?;
    Some(roster.team_name.0.clone())
}

/// The event that a call of a tool of the team is, if it creates or completes a task, and the task.
pub(super) fn task_event(tool: &str, arguments: &Value) -> Option<(HookEvent, Option<TaskId>)> {
    match tool {
        CREATES_TASKS => Some((HookEvent::TaskCreated, None)),
        CHANGES_TASKS if arguments["status"] == "completed" => {
            let id = arguments["task_id"].as_u64();
            Some((HookEvent::TaskCompleted, id.map(TaskId)))
        }
        _ => None,
    }
}

/// What a hook about a task reads. One that is about to be created has no number yet.
pub(super) fn task_fields(
    team: &TeamDir,
    owner: &str,
    arguments: &Value,
    id: Option<TaskId>,
) -> Value {
    let known = id.and_then(|id| team.task(id).ok());
    let text = |key: &str, known: Option<&String>| match arguments[key].as_str() {
        Some(text) => text.to_owned(),
        None => known.cloned().unwrap_or_default(),
    };
    json!({
        "task_id": id,
        "task_subject": text("subject", known.as_ref().map(|task| &task.subject)),
        "task_description": text("description", known.as_ref().map(|task| &task.description)),
        "teammate_name": owner,
        "team_name": team_name(team),
    })
}

fn arguments(tool_use: &ToolUse) -> Value {
    serde_json::from_str(tool_use.replayed_input().get()).unwrap_or_default()
}

/// What a hook about a call reads.
fn call_fields(tool_use: &ToolUse, arguments: &Value) -> Value {
    json!({
        "tool_name": claude_name(&tool_use.name),
        "tool_input": claude_input(&tool_use.name, arguments),
        "tool_use_id": tool_use.id,
    })
}
