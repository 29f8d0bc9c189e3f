//! One call of the model, with a conversation that is short enough.

use crate::context::{ClearingRules, plan_clearing, plan_compaction};
use llm::{Block, CancellationToken, ModelError, Reply, Request, Role, StopReason, Turn};
use protocol::ClearedRecord;

use crate::agent::Agent;
use crate::host::{Event, Host, Prompt};
use crate::outcome::{Halt, TurnError};
use crate::record::Record;
use tracing::{Instrument, debug, debug_span};

/// The turns of a conversation while a request holds them. They go back without the reminder when this
/// is dropped, however the call ends.
struct Lent<'a> {
    request: &'a mut Request,
    turns: &'a mut Vec<Turn>,
}

impl<'a> Lent<'a> {
    fn new(request: &'a mut Request, turns: &'a mut Vec<Turn>, prompt: Prompt) -> Self {
        std::mem::swap(&mut request.turns, turns);
        request.system = prompt.system;
        let last = request.turns.last_mut();
        request.resume = last.as_ref().map(|turn| turn.role) == Some(Role::Assistant);
        let reminder = prompt.reminder.filter(|text| !text.trim().is_empty());
        request.has_reminder = match (last, reminder) {
            (Some(turn), Some(reminder)) if turn.role == Role::User => {
                turn.blocks.push(Block::text(reminder));
                true
            }
            (Some(_) | None, Some(_) | None) => false,
        };
        Self { request, turns }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if std::mem::take(&mut self.request.has_reminder)
            && let Some(turn) = self.request.turns.last_mut()
        {
            turn.blocks.pop();
        }
        std::mem::swap(&mut self.request.turns, self.turns);
    }
}

impl Agent {
    /// Asks the model, with a conversation that is short enough. If the model finds it too long all
    /// the same, it is compacted and asked once more.
    pub(crate) async fn ask(
        &mut self,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Reply, Halt> {
        let prompt = self.prompt_for_short_conversation(host, cancel).await?;
        match self.call(prompt, host, cancel).await {
            Err(error) if is_too_long(&error) => self.learn_window(&error),
            Ok(reply) if reply.stop == StopReason::ContextWindowExceeded => {}
            outcome => return Ok(outcome?),
        }
        self.compact_now(None, host, cancel).await?;
        let prompt = host.prompt();
        let reply = self.call(prompt, host, cancel).await?;
        match reply.stop {
            StopReason::ContextWindowExceeded => Err(Halt::Failed(TurnError::WindowFull)),
            _ => Ok(reply),
        }
    }

    /// Makes the conversation shorter if it has to be, and returns the prompt.
    async fn prompt_for_short_conversation(
        &mut self,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Prompt, Halt> {
        let prompt = host.prompt();
        if self.conversation.is_paused() {
            // A paused reply goes on from exactly what it has seen.
            return Ok(prompt);
        }
        let fixed = self.fixed_bytes(&prompt);
        self.clear_old_results(fixed, host)?;
        let bytes = self.conversation.bytes();
        let plan = plan_compaction(bytes, fixed, &self.limits, &self.estimator);
        let Some(plan) = plan else {
            return Ok(prompt);
        };
        self.compact_with(plan, None, host, cancel).await?;
        Ok(host.prompt())
    }

    /// Clears old tool results if the window fills. `fixed` is the size of the request besides the
    /// conversation.
    fn clear_old_results(&mut self, fixed: usize, host: &mut dyn Host) -> Result<(), Halt> {
        let rules = ClearingRules {
            limits: &self.limits,
            estimator: &self.estimator,
            is_kept: &|tool| self.registry.keeps_results(tool),
            records: &host.records_path(),
        };
        let bytes = self.conversation.bytes() + fixed;
        let results = plan_clearing(self.conversation.turns(), bytes, &rules);
        if results.is_empty() {
            return Ok(());
        }
        self.commit(Record::Cleared(ClearedRecord { results }), host)
    }

    fn fixed_bytes(&self, prompt: &Prompt) -> usize {
        let reminder = prompt.reminder.as_ref().map_or(0, String::len);
        self.tools_bytes + prompt.system.len() + reminder
    }

    /// One call of the model for the next turn.
    async fn call(
        &mut self,
        prompt: Prompt,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let bytes = self.conversation.bytes() + self.fixed_bytes(&prompt);
        let lent = Lent::new(&mut self.request, &mut self.conversation.turns, prompt);
        let mut sink = |event| {
            if let Some(event) = shown(event) {
                host.event(event);
            }
        };
        let span = debug_span!("model_call", model = self.model.name(), bytes);
        let call = async {
            debug!("asking the model");
            let reply = tokio::select! {
                reply = self.model.complete(lent.request, &mut sink, cancel) => reply?,
                () = cancel.cancelled() => return Err(ModelError::Cancelled),
            };
            debug!(stop = ?reply.stop, "the model replied");
            Ok(reply)
        };
        let reply = call.instrument(span).await?;
        drop(lent);
        if let Some(usage) = &reply.usage {
            self.estimator.observe(bytes, usage);
        }
        host.event(Event::Replied {
            model: reply.model.clone(),
            usage: reply.usage,
        });
        Ok(reply)
    }

    /// A server that refuses a request may say how large its model's window is.
    fn learn_window(&mut self, error: &ModelError) {
        if let ModelError::ContextTooLong {
            limit: Some(limit), ..
        } = error
            && *limit < self.limits.window
        {
            self.limits = crate::context::Limits::for_window(*limit);
        }
    }
}

pub(crate) fn is_too_long(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::ContextTooLong { .. } | ModelError::RequestTooLarge { .. }
    )
}

fn shown(event: llm::Event) -> Option<Event> {
    match event {
        llm::Event::TextDelta(text) => Some(Event::Text(text)),
        llm::Event::ThinkingDelta(text) => Some(Event::Thinking(text)),
        llm::Event::Waiting(waiting) => Some(Event::Waiting(waiting)),
        // The host is notified of the tool when it starts.
        llm::Event::ToolUseStarted { .. } => None,
    }
}
