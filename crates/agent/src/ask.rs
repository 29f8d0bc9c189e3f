//! One call of the model, with a conversation that is short enough.

use std::time::Duration;

use crate::context::{ClearingRules, plan_clearing, plan_compaction};
use llm::{
    Block, CancellationToken, ModelError, ProviderToolUse, Reply, Request, Role, StopReason, Turn,
};
use protocol::{ClearedRecord, MessageSource, UserMessage, UserRecord};

use crate::agent::Agent;
use crate::compaction::Asking;
use crate::host::{Event, Host, Prompt};
use crate::outcome::{Halt, TurnError};
use crate::record::Record;
use crate::reminder;
use tracing::{Instrument, debug, debug_span};

/// The turns of a conversation while a request holds them. They go back without the question when this
/// is dropped, however the call ends.
struct Lent<'a> {
    request: &'a mut Request,
    turns: &'a mut Vec<Turn>,
    question: Question,
}

/// Where a question stands that is not part of the conversation.
enum Question {
    None,
    InLastTurn,
    InOwnTurn,
}

impl<'a> Lent<'a> {
    fn new(
        request: &'a mut Request,
        turns: &'a mut Vec<Turn>,
        prompt: Prompt,
        question: Option<&str>,
    ) -> Self {
        std::mem::swap(&mut request.turns, turns);
        request.system = prompt.system;
        request.shared.system = prompt.shared_system;
        let last = request.turns.last_mut();
        let ends_with_model = last.as_ref().map(|turn| turn.role) == Some(Role::Assistant);
        request.resume = ends_with_model && question.is_none();
        let question = match (last, question) {
            (_, None) => Question::None,
            (Some(turn), Some(question)) if turn.role == Role::User => {
                turn.blocks.push(Block::text(question));
                Question::InLastTurn
            }
            (_, Some(question)) => {
                request.turns.push(Turn::user(question));
                Question::InOwnTurn
            }
        };
        Self {
            request,
            turns,
            question,
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        match self.question {
            Question::None => {}
            Question::InLastTurn => {
                let last = self.request.turns.last_mut();
                last.and_then(|turn| turn.blocks.pop());
            }
            Question::InOwnTurn => {
                self.request.turns.pop();
            }
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
        self.remind(&prompt, host)?;
        match self.call(prompt, None, host, cancel).await {
            Err(error) if is_too_long(&error) => self.learn_window(&error),
            Ok(reply) if reply.stop == StopReason::ContextWindowExceeded => {}
            outcome => return Ok(outcome?),
        }
        self.compact_refused(host, cancel).await?;
        let prompt = host.prompt();
        self.remind(&prompt, host)?;
        let reply = self.call(prompt, None, host, cancel).await?;
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
        self.compact_with(Asking::new(plan), host, cancel).await?;
        Ok(host.prompt())
    }

    /// Gives the model the reminder as a message of the conversation, if it has changed since the last
    /// one and there is other input to answer.
    ///
    /// A message that stays where it was put keeps the start of all later requests the same, and so in
    /// the provider's cache; a text that is sent with each request and then taken away is paid for each
    /// time. Text behind tool results makes models end their turn without a word, so a change in the
    /// middle of a turn waits for mail or the next turn. That loses nothing: what the agent has to act
    /// on comes as mail, and what it changed itself is in the results of its tools.
    ///
    /// The first request of a process has the whole reminder in any case, since much may have changed while
    /// no process ran. A compaction puts it into the new conversation itself. Later ones have only the lines
    /// that have changed, if that is shorter.
    fn remind(&mut self, prompt: &Prompt, host: &mut dyn Host) -> Result<(), Halt> {
        let now = prompt.reminder.as_deref();
        let before = self.conversation.reminder();
        let now = now.filter(|text| !text.trim().is_empty());
        let Some(text) = now.or(before.map(|_| reminder::NOTHING)) else {
            // That there is nothing to tell is known too.
            self.reminded.get_or_insert_default();
            return Ok(());
        };
        let is_known = self.reminded.as_deref() == Some(text);
        let is_place = self.conversation.ends_with_input() || self.reminded.is_none();
        if is_known || !is_place || self.conversation.is_paused() {
            return Ok(());
        }
        let before = self.reminded.as_deref().unwrap_or_default();
        let told = reminder::changes(before, text);
        let message = UserMessage::with_source(MessageSource::Reminder, told);
        let messages = vec![message];
        self.commit(Record::User(UserRecord { messages }), host)?;
        self.reminded = Some(text.to_owned());
        Ok(())
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
        self.tools_bytes + prompt.system.len()
    }

    /// One call of the model: for the next turn, or for the answer to a question that is not part of
    /// the conversation. Nobody is shown such an answer.
    pub(crate) async fn call(
        &mut self,
        prompt: Prompt,
        question: Option<&str>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let bytes = self.conversation.bytes() + self.fixed_bytes(&prompt);
        let turns = &mut self.conversation.turns;
        let lent = Lent::new(&mut self.request, turns, prompt, question);
        let mut sink = |event| match shown(event) {
            Some(Event::Text(_) | Event::Thinking(_)) if question.is_some() => {}
            Some(event) => host.event(event),
            None => {}
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
        show_provider_tools(&reply, host);
        Ok(reply)
    }

    /// A server that refuses a request may say how large its model's window is.
    fn learn_window(&mut self, error: &ModelError) {
        if let ModelError::ContextTooLong {
            limit: Some(limit), ..
        } = error
            && *limit < self.limits.window
        {
            self.limits = self.limits.in_window(*limit);
        }
    }
}

pub(crate) fn is_too_long(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::ContextTooLong { .. } | ModelError::RequestTooLarge { .. }
    )
}

/// Shows what the provider's own tools did. They are over when the reply comes.
fn show_provider_tools(reply: &Reply, host: &mut dyn Host) {
    for tool_use in reply.provider_tools() {
        let ProviderToolUse {
            id,
            name,
            arguments,
            text,
            is_error,
        } = tool_use;
        host.event(Event::ToolStarted {
            id: id.clone(),
            name: name.clone(),
            arguments,
        });
        host.event(Event::ToolFinished {
            id,
            name,
            text,
            is_error,
            took: Duration::ZERO,
        });
    }
}

fn shown(event: llm::Event) -> Option<Event> {
    match event {
        llm::Event::TextDelta(text) => Some(Event::Text(text)),
        llm::Event::ThinkingDelta(text) => Some(Event::Thinking(text)),
        llm::Event::Waiting(waiting) => Some(Event::Waiting(waiting)),
        llm::Event::Switched(switch) => Some(Event::Switched(switch)),
        llm::Event::ImagesHidden { model } => Some(Event::ImagesHidden { model }),
        // The host is notified of the tool when it starts. What is learned of a server is for those who
        // chose the model, and what was spent for those who count it.
        llm::Event::ToolUseStarted { .. } | llm::Event::Learned(_) | llm::Event::Cost { .. } => {
            None
        }
    }
}
