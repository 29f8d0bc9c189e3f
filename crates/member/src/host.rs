//! The runtime as the host of an agent.

mod counting;

use crate::asking::AnswerWatch;
use crate::logging::excerpt;
use crate::mail::given_by;
use crate::open_work::open_work;
use crate::runtime::MemberRuntime;
use crate::user_hooks::HookAnswers;
use agent::{
    Answered, AskedCall, EndedCall, Event, Host, Log, LogError, MayRun, Prompt, Record, Sources,
};
use llm::{BoxFuture, CancellationToken, ToolUse, WaitReason};
use prompts::CurrentPrompt;
use protocol::{Phase, Request, UserMessage, WaitingFor};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use teamdir::now;
use tools::Effect;
use tracing::{info, warn};

/// How often a long reply updates the live state.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// What lead and teammate add to the host.
pub trait Hooks: Send {
    /// How things stand now, for the next request; nothing if there is nothing to say.
    fn reminder(&mut self) -> Option<String>;

    /// What else there is after tool results, behind the mail.
    fn after_tools(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }

    /// What else there is when the model would stop and there is no mail.
    fn when_stopping(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }

    /// Is notified of each event of a turn, before the runtime handles it.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// The turn begins to wait for a person's answer.
    fn asks(&mut self, request: &Request) {
        let _ = request;
    }

    /// A turn or a compaction starts.
    fn turn_started(&mut self) {}

    /// A turn or a compaction has finished by itself, with this text last.
    fn turn_finished(&mut self, text: &str) {
        let _ = text;
    }
}

/// A runtime with the hooks of one agent.
pub struct RuntimeHost<H> {
    pub(crate) runtime: MemberRuntime,
    system: CurrentPrompt,
    pub(crate) hooks: H,
    asked_at: Instant,
    retries: u32,
    /// The text of this call, for the log.
    text: String,
    /// Kept from the answer until the tool has run: to end the watch takes longer than to start the tool.
    pub(crate) answer_watch: Option<AnswerWatch>,
    /// What hooks have said about the calls of this turn, by the ids of their uses.
    pub(crate) said: HashMap<String, HookAnswers>,
    /// What hooks have for the model.
    pub(crate) hook_messages: Vec<UserMessage>,
    /// Whether the first turn of the process has begun.
    pub(crate) has_begun: bool,
}

impl<H: Hooks> RuntimeHost<H> {
    pub fn new(runtime: MemberRuntime, system: CurrentPrompt, hooks: H) -> Self {
        Self {
            runtime,
            system,
            hooks,
            asked_at: Instant::now(),
            retries: 0,
            text: String::new(),
            answer_watch: None,
            said: HashMap::new(),
            hook_messages: Vec::new(),
            has_begun: false,
        }
    }

    /// The hooks.
    pub fn hooks(&mut self) -> &mut H {
        &mut self.hooks
    }

    /// What has changed in the instructions and skills that the model was told of.
    pub(crate) fn news(&mut self) -> Option<UserMessage> {
        self.system.news().map(UserMessage::new)
    }
}

impl<H: Hooks> Log for RuntimeHost<H> {
    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let mut inner = self.runtime.lock();
        let appended = match record {
            Record::Compaction(_) => inner.append_compaction(record),
            // Money was spent on it, and what came before is synced along with it.
            Record::Assistant(_) => inner.session.journal().append(record),
            // A power cut must neither ask again nor run again.
            Record::Asked(_) | Record::Started(_) => inner.session.journal().append(record),
            // After a power cut the mail counts as undelivered and the tool as interrupted.
            Record::User(_)
            | Record::Result(_)
            | Record::Cleared(_)
            | Record::Ended(_)
            | Record::Session(_) => inner.session.journal().append_unsynced(record),
        };
        appended.map_err(LogError::new)?;
        inner.mark_delivered(&given_by(record));
        if let Record::User(user) = record {
            for message in &user.messages {
                self.system.given(&message.text);
            }
        }
        Ok(())
    }

    fn next_archive(&self) -> Result<String, LogError> {
        let inner = self.runtime.lock();
        let name = inner.team.next_archive(inner.session.guard());
        let path = inner.team.layout().archive(self.runtime.owner(), name);
        drop(inner);
        Ok(self.runtime.shown(&path))
    }

    fn records_path(&self) -> String {
        let inner = self.runtime.lock();
        let path = inner.team.layout().transcript(self.runtime.owner());
        drop(inner);
        self.runtime.shown(&path)
    }
}

impl<H: Hooks> Sources for RuntimeHost<H> {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        let mut messages: Vec<UserMessage> = self.news().into_iter().collect();
        messages.append(&mut self.hook_messages);
        messages.extend(self.runtime.mail_for_model());
        messages.extend(self.hooks.after_tools());
        messages
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        let mut messages = self.runtime.take_engine_messages();
        messages.extend(self.runtime.mail_for_model());
        if messages.iter().any(|message| !message.text.is_empty()) {
            return messages;
        }
        messages.extend(self.hooks.when_stopping());
        messages
    }
}

impl<H: Hooks> Host for RuntimeHost<H> {
    fn prompt(&mut self) -> Prompt {
        let system = self.system.at(now());
        let prompt = Prompt {
            reminder: self.hooks.reminder(),
            shared_system: system.shared,
            system: system.text.clone(),
        };
        self.asked_at = Instant::now();
        self.retries = 0;
        self.text.clear();
        let mut inner = self.runtime.lock();
        // The start of a turn has already written this phase.
        if !inner.live.is_asking() {
            inner.set_phase_with(Phase::Working, None, None, Some("model"));
        }
        prompt
    }

    fn open_work(&mut self) -> Option<String> {
        open_work(self.runtime.team(), &self.runtime.me())
    }

    fn may_run(&mut self, tool_use: &ToolUse, effect: Option<Effect>) -> MayRun {
        self.decide_first(tool_use, effect)
    }

    fn ask<'a>(
        &'a mut self,
        call: AskedCall<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Answered> {
        Box::pin(self.ask_about(call, cancel))
    }

    fn before_call<'a>(
        &'a mut self,
        tool_use: &'a ToolUse,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.hooks_before_call(tool_use, cancel))
    }

    fn after_call<'a>(
        &'a mut self,
        call: EndedCall<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()> {
        Box::pin(self.hooks_after_call(call, cancel))
    }

    fn before_stop<'a>(
        &'a mut self,
        text: &'a str,
        times: u32,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<UserMessage>> {
        Box::pin(self.hooks_before_stop(text, times, cancel))
    }

    fn event(&mut self, event: Event) {
        self.hooks.event(&event);
        if let Event::Compacted { .. } = &event {
            self.system.compacted();
        }
        if let Event::ToolFinished { .. } = &event {
            self.answer_watch = None;
        }
        let mut inner = self
            .runtime
            .inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            Event::Text(text) => {
                self.text.push_str(&text);
                inner.show_progress();
            }
            Event::Thinking(_) => inner.show_progress(),
            Event::Waiting(waiting) => {
                self.retries = waiting.failed_tries;
                self.text.clear();
                warn!("{waiting}");
                let reason = Some(waiting.to_string());
                let what = waiting_for(&waiting.reason);
                inner.set_phase(Phase::Waiting, Some(what), reason);
            }
            Event::Switched(switch) => {
                self.text.clear();
                inner.switched(switch);
            }
            Event::ImagesHidden { model } => warn!("{}", images_hidden(&model)),
            Event::Replied { model, usage } => {
                let text = std::mem::take(&mut self.text);
                if !text.trim().is_empty() {
                    info!("{text}");
                }
                let took = self.asked_at.elapsed();
                inner.replied(model, usage, took, self.retries);
            }
            Event::ToolStarted {
                name, arguments, ..
            } => {
                info!("> {name} {}", excerpt(&arguments));
                inner.live.begin_tool(&name, &arguments);
                inner.write_state();
            }
            Event::ToolFinished {
                name,
                text,
                is_error,
                took,
                ..
            } => inner.tool_finished(name, &text, is_error, took),
            Event::Compacting => info!("compacting the conversation"),
            Event::Compacted {
                archive,
                summarised,
            } => inner.compacted(archive, summarised),
        }
    }
}

/// What people are told when a model does not see an image.
pub fn images_hidden(model: &str) -> String {
    format!("{model} takes no images: it reads their type and size instead")
}

fn waiting_for(reason: &WaitReason) -> WaitingFor {
    match reason {
        WaitReason::Budget => WaitingFor::Budget,
        WaitReason::Turn => WaitingFor::Turn,
        WaitReason::RateLimit | WaitReason::Overloaded => WaitingFor::RateLimit,
        WaitReason::ServerError(_)
        | WaitReason::ErrorInReply
        | WaitReason::CannotConnect
        | WaitReason::StreamCut
        | WaitReason::Silence
        | WaitReason::Unreadable
        | WaitReason::Empty => WaitingFor::Server,
    }
}
