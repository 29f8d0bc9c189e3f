//! The runtime as the host of an agent.

use crate::inner::Inner;
use crate::logging::excerpt;
use crate::mail::given_by;
use crate::open_work::open_work;
use crate::recovered::add;
use crate::runtime::MemberRuntime;
use agent::{Answered, AskedCall, Event, Host, Log, LogError, MayRun, Prompt, Record, Sources};
use llm::{BoxFuture, CancellationToken, Switch, ToolUse, Turn, Usage, WaitReason};
use prompts::CurrentPrompt;
use protocol::{EventKind, JsonLine, Money, Phase, Request, UserMessage, WaitingFor};
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
        let journal = inner.session.journal();
        let appended = match record {
            // Money was spent on these, and what came before is synced along with them.
            Record::Assistant(_) | Record::Compaction(_) => journal.append(record),
            // A power cut must neither ask again nor run again.
            Record::Asked(_) | Record::Started(_) => journal.append(record),
            // After a power cut the mail counts as undelivered and the tool as interrupted.
            Record::User(_) | Record::Result(_) | Record::Cleared(_) | Record::Ended(_) => {
                journal.append_unsynced(record)
            }
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

    fn archive(&mut self, turns: &[Turn]) -> Result<String, LogError> {
        let lines = turns.iter().map(JsonLine::encode);
        let lines = lines
            .collect::<Result<Vec<_>, _>>()
            .map_err(LogError::new)?;
        let inner = self.runtime.lock();
        let kept = inner.team.archive(inner.session.guard(), &lines);
        let path = kept.map_err(LogError::new)?;
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
        messages.extend(self.runtime.mail_for_model());
        messages.extend(self.hooks.after_tools());
        messages
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        let items = self.runtime.mail_for_model();
        if items.iter().any(|item| !item.text.is_empty()) {
            return items;
        }
        let mut messages = items;
        messages.extend(self.hooks.when_stopping());
        messages
    }
}

impl<H: Hooks> Host for RuntimeHost<H> {
    fn prompt(&mut self) -> Prompt {
        let prompt = Prompt {
            reminder: self.hooks.reminder(),
            system: self.system.text(now()).to_owned(),
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
        self.first_decision(tool_use, effect)
    }

    fn ask<'a>(
        &'a mut self,
        call: AskedCall<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Answered> {
        Box::pin(self.ask_person(call, cancel))
    }

    fn event(&mut self, event: Event) {
        self.hooks.event(&event);
        if let Event::Compacted { .. } = &event {
            self.system.compacted();
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

impl MemberRuntime {
    /// Counts a reply to a helper of this member. `asked` is its model, if that is not the member's.
    pub(crate) fn helper_replied(
        &self,
        asked: Option<&str>,
        model: String,
        usage: Option<Usage>,
        took: Duration,
    ) {
        let mut inner = self.lock();
        let cost = inner.cost_of(asked, usage);
        inner.count_reply(model, usage, took, (0, cost));
    }

    /// Shows which tool a helper of this member runs.
    pub(crate) fn helper_runs(&self, tool: &str) {
        let mut inner = self.lock();
        inner.live.set_activity(Some(&format!("explore: {tool}")));
        inner.write_state();
    }
}

impl Inner {
    /// Shows from time to time that a reply goes on.
    fn show_progress(&mut self) {
        if self.live.state().phase == Phase::Waiting {
            self.set_phase(Phase::Working, None, None);
            self.live.set_activity(Some("model"));
            self.write_state();
        } else if self.live.progress(PROGRESS_EVERY) {
            self.write_state();
        }
    }

    fn end_activity(&mut self) {
        if self.live.state().phase == Phase::Waiting {
            self.set_phase(Phase::Working, None, None);
        }
        self.live.set_activity(None);
        self.write_state();
    }

    fn replied(&mut self, model: String, usage: Option<Usage>, took: Duration, retries: u32) {
        let cost = self.cost_of(None, usage);
        self.count_reply(model, usage, took, (retries, cost));
        self.end_activity();
    }

    /// What a call costs of the model that was asked, or of the member's.
    fn cost_of(&self, asked: Option<&str>, usage: Option<Usage>) -> Option<Money> {
        let models = self.models.as_ref()?;
        let asked = asked.unwrap_or(&models.current);
        (models.price)(asked, &usage.unwrap_or_default())
    }

    fn count_reply(
        &mut self,
        model: String,
        usage: Option<Usage>,
        took: Duration,
        (retries, cost): (u32, Option<Money>),
    ) {
        add(self.live.tally(), usage);
        let usage = usage.unwrap_or_default();
        let (member, incarnation) = self.who();
        self.event(EventKind::Model {
            member,
            incarnation,
            model,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            millis: millis(took),
            retries,
            cost,
        });
    }

    /// Another model is asked: its calls have its own price, and people can see which one it is.
    pub(crate) fn switched(&mut self, switch: Switch) {
        warn!("{switch}");
        let Switch { from, to, reason } = switch;
        if let Some(models) = &mut self.models {
            models.current.clone_from(&to);
            let is_first = models.first == to;
            self.live.set_model((!is_first).then(|| to.clone()));
        }
        let (member, incarnation) = self.who();
        self.event(EventKind::ModelSwitched {
            member,
            incarnation,
            from,
            to,
            reason: reason.map(|reason| reason.to_string()),
        });
        self.set_phase_with(Phase::Working, None, None, Some("model"));
    }

    fn compacted(&mut self, archive: String, summarised: bool) {
        info!("the whole conversation is in {archive}");
        let (member, incarnation) = self.who();
        self.event(EventKind::Compaction {
            member,
            incarnation,
            archive,
            summarised,
        });
    }

    fn tool_finished(&mut self, name: String, text: &str, is_error: bool, took: Duration) {
        let head = if is_error { "  failed: " } else { "  " };
        info!("{head}{}", excerpt(text));
        let (member, incarnation) = self.who();
        self.event(EventKind::Tool {
            member,
            incarnation,
            name,
            millis: millis(took),
            ok: !is_error,
        });
        self.end_activity();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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
