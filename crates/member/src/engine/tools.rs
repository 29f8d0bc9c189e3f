//! The tools that an agent runs by itself: in the log, the live state, the events and the journal, and for hooks.

use super::permission::as_call;
use crate::runtime::MemberRuntime;
use acp::AgentCall;
use agent::EndedCall;
use hooks::{HookEvent, claude_name};
use llm::CancellationToken;
use protocol::{EngineToolRecord, EngineToolResult, JournalRecord, UserMessage};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Instant;
use tokio::task::JoinSet;
use tracing::{info, warn};

/// How many calls of one prompt are recorded in the journal.
const MAX_RECORDED: usize = 1_000;
/// The longest arguments that are recorded.
const MAX_INPUT_CHARS: usize = 8_000;

/// The tools of one prompt.
#[derive(Default)]
pub(super) struct PromptTools {
    /// When the tools that run began, by their ids.
    began: HashMap<String, Instant>,
    recorded: usize,
    /// The hooks that run after calls.
    hooks: JoinSet<Vec<UserMessage>>,
}

/// A tool that has ended.
pub(super) struct EndedTool {
    pub(super) call: AgentCall,
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl PromptTools {
    pub(super) fn started(&mut self, runtime: &MemberRuntime, call: &AgentCall) {
        info!("> {}", call.title);
        self.began.insert(call.id.clone(), Instant::now());
        if self.recorded < MAX_RECORDED {
            self.recorded += 1;
            runtime.record_engine_tool(call, None);
        }
        let mut inner = runtime.lock();
        let arguments = call.arguments.to_string();
        inner.live.begin_tool(&call.title, &arguments);
        inner.write_state();
    }

    pub(super) fn ended(
        &mut self,
        runtime: &MemberRuntime,
        tool: EndedTool,
        cancel: &CancellationToken,
    ) {
        let EndedTool {
            call,
            text,
            is_error,
        } = &tool;
        let began = self.began.remove(&call.id);
        let took = began.map(|began| began.elapsed()).unwrap_or_default();
        if self.recorded <= MAX_RECORDED {
            // The one that is said not to be recorded is the first that is not.
            if self.recorded == MAX_RECORDED {
                self.recorded += 1;
                warn!("only {MAX_RECORDED} tool calls of one prompt are recorded");
            }
            let result = EngineToolResult {
                text: text.clone(),
                is_error: *is_error,
                millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            };
            runtime.record_engine_tool(call, Some(result));
        }
        let title = call.title.clone();
        runtime.lock().tool_finished(title, text, *is_error, took);
        self.run_hooks(runtime, tool, cancel);
    }

    fn run_hooks(&mut self, runtime: &MemberRuntime, tool: EndedTool, cancel: &CancellationToken) {
        let (tool_use, _) = as_call(&tool.call);
        let names = [claude_name(&tool_use.name), tool_use.name.as_str()];
        if runtime.hooks_for(HookEvent::PostToolUse, &names).is_empty() {
            return;
        }
        let (runtime, cancel) = (runtime.clone(), cancel.clone());
        self.hooks.spawn(async move {
            let call = EndedCall {
                tool_use: &tool_use,
                text: &tool.text,
                is_error: tool.is_error,
            };
            runtime.hooks_after(call, &cancel).await
        });
    }

    /// Waits for the hooks. What they say is given to the agent with its next prompt.
    pub(super) async fn finish(&mut self, runtime: &MemberRuntime) {
        while let Some(said) = self.hooks.join_next().await {
            let said = said.unwrap_or_default();
            runtime.engine.shared().messages.extend(said);
        }
    }
}

impl MemberRuntime {
    fn record_engine_tool(&self, call: &AgentCall, result: Option<EngineToolResult>) {
        let (tool_use, _) = as_call(call);
        let input = tool_use.replayed_input().get();
        let input = match input.chars().count() > MAX_INPUT_CHARS {
            true => Value::String(input.chars().take(MAX_INPUT_CHARS).collect()),
            false => serde_json::from_str(input).unwrap_or_default(),
        };
        let record = EngineToolRecord {
            id: call.id.clone(),
            name: tool_use.name,
            input,
            result,
        };
        let record: JournalRecord = JournalRecord::EngineTool(record);
        let mut inner = self.lock();
        if let Err(error) = inner.session.journal().append_unsynced(&record) {
            warn!("a tool call of the engine is not in the journal: {error}");
        }
    }
}
