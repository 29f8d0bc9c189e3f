//! Runs the hooks that people wrote for what happens to a member, and does what they say.
//!
//! A hook that fails is reported in the log and the event log, and blocks nothing. The result of a call is in the
//! journal before a hook hears of it, so that neither a hook that hangs nor a kill meanwhile loses it.

mod events;
mod outside;

pub(crate) use outside::pass_on;
pub use outside::{TaskHooks, TaskRefused};

use crate::runtime::MemberRuntime;
use hooks::{Decision, Hook, HookContext, HookError, HookEvent, HookOrigin, Reply};
use llm::CancellationToken;
use processes::mark_of;
use protocol::{EventKind, Recipient, TextBlock, UserMessage};
use serde_json::{Map, Value, json};
use teamdir::new_request_id;
use tools::CommandAccess;
use tracing::{debug, info, warn};

/// How much of a command is shown where its hook has failed.
const SHOWN_CHARS: usize = 100;

/// What all hooks for one event answer together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookAnswers {
    pub(crate) block: Option<String>,
    pub(crate) ask: Option<String>,
    pub(crate) allow: Option<String>,
    /// What the model is to read.
    pub(crate) context: Vec<String>,
    /// The arguments of the call, if a hook has changed them.
    pub(crate) input: Option<Value>,
    /// The tools that the call is for have changed since they were accepted. No hook says this, but it is found
    /// out at the same time.
    pub(crate) changed_tools: Option<mcp::ChangedTools>,
    /// A hook wants the member to stop.
    pub(crate) stops: bool,
}

impl HookAnswers {
    /// Takes in the reply of one more hook. Returns whether the others need not be asked.
    fn add(&mut self, reply: Reply) -> bool {
        match reply.decision {
            Some(Decision::Block(reason)) => self.block = Some(reason),
            Some(Decision::Ask(reason)) => self.ask = Some(reason),
            Some(Decision::Allow(reason)) => self.allow = Some(reason),
            None => {}
        }
        self.context.extend(reply.context);
        self.stops |= reply.stops;
        if reply.updated_input.is_some() {
            self.input = reply.updated_input;
        }
        self.block.is_some()
    }

    /// What the model is to read, as messages.
    pub(crate) fn messages(&mut self, event: HookEvent) -> Vec<UserMessage> {
        let texts = std::mem::take(&mut self.context).into_iter();
        texts.map(|text| hook_message(event, text)).collect()
    }
}

/// A text of a hook for the model.
pub(crate) fn hook_message(event: HookEvent, text: String) -> UserMessage {
    let block = TextBlock::new(text).with("event", event.as_str());
    UserMessage::new(block.render("hook"))
}

impl MemberRuntime {
    /// The hooks for an event about something with these names.
    pub(crate) fn hooks_for(&self, event: HookEvent, names: &[&str]) -> Vec<Hook> {
        let asking = self.asking();
        let all = asking.iter().flat_map(|asking| &asking.settings.hooks);
        let fitting = all.filter(|hook| hook.event == event && hook.matcher.matches(names));
        fitting.cloned().collect()
    }

    /// Runs the hooks for an event one after the other, until one of them blocks it. `fields` are what the event
    /// is about.
    pub(crate) async fn run_hooks(
        &self,
        event: HookEvent,
        names: &[&str],
        fields: impl FnOnce() -> Value,
        cancel: &CancellationToken,
    ) -> HookAnswers {
        let mut said = HookAnswers::default();
        let hooks = self.hooks_for(event, names);
        if hooks.is_empty() {
            return said;
        }
        let input = self.hook_input(event, fields()).to_string();
        for hook in hooks {
            debug!("runs a {event} hook: {}", hook.command);
            let context = self.hook_context(&hook);
            match hooks::run(&hook, format!("{input}\n"), context, cancel).await {
                Ok(reply) => {
                    if let Some(message) = &reply.message {
                        info!("a {event} hook says: {message}");
                    }
                    if said.add(reply) {
                        break;
                    }
                }
                Err(error) => self.hook_failed(&hook, &error),
            }
        }
        said
    }

    /// Where a hook runs: in the member's sandbox, or outside if the user wrote it.
    pub(crate) fn hook_context(&self, hook: &Hook) -> HookContext {
        let (team, owner) = (self.team(), self.owner());
        let confined = self.confinement().filter(|_| match hook.origin {
            HookOrigin::User => false,
            HookOrigin::Workspace => true,
        });
        let id = new_request_id();
        HookContext {
            folder: self.folder(),
            project: team.workspace().to_path_buf(),
            surroundings: match confined {
                Some(confinement) => confinement.surroundings(CommandAccess::Full),
                None => hooks::outside(),
            },
            mark: format!("{}.hook.{id}", mark_of(team, owner)),
            scratch: team
                .layout()
                .member_outputs(owner)
                .join(format!("hook-{id}.txt")),
        }
    }

    /// What a hook reads: what Claude Code's have, and who it is about.
    pub(crate) fn hook_input(&self, event: HookEvent, fields: Value) -> Value {
        let (owner, incarnation) = (self.owner(), self.incarnation());
        let layout = self.team().layout();
        let (role, task) = match owner {
            Recipient::Lead => ("lead".to_owned(), None),
            Recipient::Member(name) => (
                self.role_of(name).unwrap_or_default(),
                self.lock().live.state().task,
            ),
        };
        let mut input = Map::new();
        let common = json!({
            "session_id": format!("{owner}-{incarnation}"),
            "transcript_path": layout.transcript(owner),
            "cwd": self.folder(),
            "permission_mode": "default",
            "hook_event_name": event,
            "member": owner,
            "role": role,
            "incarnation": incarnation,
            "task_id": task,
        });
        for object in [common, fields] {
            if let Value::Object(fields) = object {
                input.extend(fields);
            }
        }
        Value::Object(input)
    }

    /// Reports a hook that has failed.
    pub(crate) fn hook_failed(&self, hook: &Hook, error: &HookError) {
        let event = hook.event;
        let reason = error.to_string();
        warn!("a {event} hook failed: {reason}: {}", hook.command);
        let mut inner = self.lock();
        let (member, incarnation) = inner.who();
        inner.event(EventKind::HookFailed {
            member,
            incarnation,
            hook: event.to_string(),
            command: hook.command.chars().take(SHOWN_CHARS).collect(),
            reason,
        });
    }
}
