//! The turn: ask, run tools, ask again.

use std::sync::Arc;

use crate::context::{Estimator, Limits};
use llm::{Block, CancellationToken, Model, Reply, Request, SharedStart, StopReason, ToolSpec};
use protocol::{AssistantRecord, EndedRecord, MessageSource, UserMessage, UserRecord};
use tools::{Background, FinishedTask, Registry, ToolContext, render_finished};

use crate::conversation::Conversation;
use crate::host::{Host, LogError};
use crate::outcome::{Halt, Outcome};
use crate::record::Record;
use crate::settings::Settings;

const CONTINUE: &str =
    "Your reply was cut off at its limit of tokens. Go on exactly where it stopped.";
const CONTINUE_WITHOUT_TEXT: &str = "Your reply reached its limit of tokens while you were still \
     thinking, and nothing of it was said. Think less this time, and answer in smaller steps.";
/// How many replies in a row may be cut off before the turn ends with what there is.
pub(crate) const MAX_CUTS: u32 = 16;
const NOTHING_SAID: &str = "You ended your turn without a word. If everything is done, say in a \
     sentence or two what came of it; otherwise go on.";

/// A model with tools and a conversation.
pub struct Agent {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) context: ToolContext,
    background: Option<Background>,
    /// Completions that were taken but are not in the log yet.
    finished: Vec<FinishedTask>,
    pub(crate) limits: Limits,
    pub(crate) max_rounds: u32,
    /// Everything of a request that does not change. The turns are lent to it while it is sent.
    pub(crate) request: Request,
    pub(crate) tools_bytes: usize,
    pub(crate) estimator: Estimator,
    pub(crate) conversation: Conversation,
    /// The whole of the last reminder of which this process has told the model, or what has changed in it.
    pub(crate) reminded: Option<String>,
}

/// The state of a turn between its rounds.
#[derive(Default)]
struct Progress {
    rounds: u32,
    /// Whether the model was asked to continue after an empty reply.
    was_prompted: bool,
    /// How often the host has kept the turn going when the model would have stopped.
    kept_going: u32,
}

/// What the model has said in a reply without tool uses.
struct Said {
    /// All parts of the reply so far.
    text: String,
    /// Whether the last of them has no text.
    is_part_empty: bool,
}

/// What the turn does after a reply.
pub(crate) enum Next {
    AskAgain,
    /// The model stops, unless there is something else for it.
    Stop(String),
    /// The turn ends, even if there is mail.
    End(String),
    /// The model cannot bring its reply to an end.
    CutOff(String),
}

impl Agent {
    /// An agent that goes on with a conversation.
    pub fn new(
        model: Arc<dyn Model>,
        registry: Arc<Registry>,
        context: ToolContext,
        settings: Settings,
        conversation: Conversation,
    ) -> Self {
        let tools: Vec<ToolSpec> = registry.definitions().map(spec).collect();
        let tools_bytes = tools.iter().map(spec_bytes).sum();
        let shared = SharedStart {
            tools: registry.shared(),
            system: 0,
        };
        Self {
            model,
            registry,
            context,
            background: None,
            finished: Vec::new(),
            limits: settings.limits,
            max_rounds: settings.max_rounds,
            request: Request {
                tools,
                shared,
                max_tokens: settings.max_tokens,
                tuning: settings.tuning,
                ..Request::default()
            },
            tools_bytes,
            estimator: Estimator::default(),
            conversation,
            reminded: None,
        }
    }

    /// The same agent, which reports finished background commands to its model. To wake it when
    /// it is idle, wait for [`Background::finished`] and run a turn without input.
    #[must_use]
    pub fn with_background(mut self, background: Background) -> Self {
        self.background = Some(background);
        self
    }

    /// The same agent, which reports in its next turn the background commands that ended with an
    /// earlier process.
    #[must_use]
    pub fn with_lost_commands(mut self, ids: &[String]) -> Self {
        self.finished.extend(ids.iter().map(FinishedTask::lost));
        self
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Lets the model work until it stops. Without input it answers what waits for an answer: what a
    /// killed or interrupted process left, background commands that are over, and what the sources
    /// have for a model that would stop. If there is nothing, the model is not asked.
    ///
    /// When `cancel` is cancelled, the turn ends within a second. A turn whose future is dropped is
    /// like one whose process was killed, and the next one goes on.
    pub async fn run_turn(
        &mut self,
        input: Vec<UserMessage>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Outcome {
        let outcome = self.turn(input, host, cancel).await;
        outcome.unwrap_or_else(Outcome::from)
    }

    async fn turn(
        &mut self,
        input: Vec<UserMessage>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Halt> {
        self.answer_interrupted(host)?;
        if self.conversation.waits_for().is_some() {
            match self.run_reply_tools(String::new(), host, cancel).await? {
                Next::End(text) if input.is_empty() => return Ok(Outcome::Finished { text }),
                Next::CutOff(text) => return self.end_cut_off(text, host),
                Next::AskAgain | Next::Stop(_) | Next::End(_) => {}
            }
        }
        self.inject(input, host)?;
        if !self.conversation.is_waiting() {
            let messages = host.when_stopping();
            self.inject(messages, host)?;
        }
        if !self.conversation.is_waiting() {
            let text = String::new();
            return Ok(Outcome::Finished { text });
        }
        let mut progress = Progress::default();
        loop {
            if cancel.is_cancelled() {
                return Err(Halt::Interrupted);
            }
            if self.max_rounds > 0 && progress.rounds >= self.max_rounds {
                return self.end_by_limit(host);
            }
            progress.rounds += 1;
            let reply = self.ask(host, cancel).await?;
            match self.take_reply(reply, &mut progress, host, cancel).await? {
                Next::AskAgain => {}
                Next::End(text) => return Ok(Outcome::Finished { text }),
                Next::CutOff(text) => return self.end_cut_off(text, host),
                Next::Stop(text) => {
                    let messages = host.when_stopping();
                    self.inject(messages, host)?;
                    let mut kept_going = 0;
                    if !self.conversation.is_waiting() {
                        let kept = host.before_stop(&text, progress.kept_going, cancel).await;
                        let Some(message) = kept else {
                            return Ok(Outcome::Finished { text });
                        };
                        self.inject(vec![message], host)?;
                        kept_going = progress.kept_going + 1;
                    }
                    // What comes now is new work, with a limit of its own.
                    progress = Progress {
                        kept_going,
                        ..Progress::default()
                    };
                }
            }
        }
    }

    /// Records a reply and does what it asks for.
    async fn take_reply(
        &mut self,
        mut reply: Reply,
        progress: &mut Progress,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Next, Halt> {
        if let StopReason::Refusal {
            category,
            explanation,
        } = &reply.stop
        {
            let text = refusal(&reply, category.as_deref(), explanation.as_deref());
            // Nothing of a refused reply may be run, and its tool uses would lack results.
            reply.blocks = vec![Block::text(&text)];
            self.record_reply(reply, host)?;
            return Ok(Next::Stop(text));
        }
        // The parts of a reply that was cut off are one text.
        let mut text = self.conversation.partial_reply().text.clone();
        let part = reply.text();
        text.push_str(&part);
        let stop = reply.stop.clone();
        self.record_reply(reply, host)?;
        if self.conversation.open_uses().next().is_some() {
            return self.run_reply_tools(part, host, cancel).await;
        }
        let said = Said {
            text,
            is_part_empty: part.trim().is_empty(),
        };
        self.after_text(&stop, said, progress, host)
    }

    /// What follows a reply without tool uses.
    fn after_text(
        &mut self,
        stop: &StopReason,
        said: Said,
        progress: &mut Progress,
        host: &mut dyn Host,
    ) -> Result<Next, Halt> {
        let text = said.text;
        match stop {
            StopReason::Paused => Ok(Next::AskAgain),
            StopReason::MaxTokens if self.conversation.partial_reply().cuts >= MAX_CUTS => {
                Ok(Next::CutOff(text))
            }
            StopReason::MaxTokens => {
                let request = match said.is_part_empty {
                    true => CONTINUE_WITHOUT_TEXT,
                    false => CONTINUE,
                };
                let source = MessageSource::Continuation;
                self.inject(vec![UserMessage::with_source(source, request)], host)?;
                Ok(Next::AskAgain)
            }
            // Models do this after tool results. Asked the same again, they would say nothing again.
            StopReason::EndTurn if text.trim().is_empty() && !progress.was_prompted => {
                progress.was_prompted = true;
                self.inject(vec![UserMessage::new(NOTHING_SAID)], host)?;
                Ok(Next::AskAgain)
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::Refusal { .. }
            | StopReason::ContextWindowExceeded
            | StopReason::Other(_) => Ok(Next::Stop(text)),
        }
    }

    fn record_reply(&mut self, reply: Reply, host: &mut dyn Host) -> Result<(), Halt> {
        let record = Record::Assistant(AssistantRecord {
            blocks: reply.blocks,
            stop: reply.stop,
            usage: reply.usage,
        });
        self.commit(record, host)
    }

    /// Gives these messages to the model, and reports finished background commands.
    pub(crate) fn inject(
        &mut self,
        mut messages: Vec<UserMessage>,
        host: &mut dyn Host,
    ) -> Result<(), Halt> {
        messages.retain(|message| match &message.source {
            // An empty one is recorded too, or it would be offered for ever.
            Some(source) => !self.conversation.was_given(source),
            None => !message.text.trim().is_empty(),
        });
        self.keep_one_portion(&mut messages);
        if let Some(background) = &self.background {
            self.finished.extend(background.take_finished());
        }
        if let Some(text) = render_finished(&self.finished) {
            let ids = self.finished.iter().map(|command| command.id.clone());
            let source = MessageSource::Commands(ids.collect());
            messages.push(UserMessage::with_source(source, text));
        }
        if messages.is_empty() {
            return Ok(());
        }
        self.commit(Record::User(UserRecord { messages }), host)?;
        self.finished.clear();
        Ok(())
    }

    /// Leaves out the mail that would make the request too large. Its source offers it again when the
    /// model has answered what it has now.
    fn keep_one_portion(&self, messages: &mut Vec<UserMessage>) {
        let mut bytes = self.conversation.unanswered_bytes();
        let mut is_full = false;
        messages.retain(|message| {
            if let Some(MessageSource::Mail(_)) = &message.source {
                let with_it = bytes + message.text.len();
                is_full |= bytes > 0 && with_it > self.limits.portion();
                if is_full {
                    return false;
                }
            }
            bytes += message.text.len();
            true
        });
    }

    /// Ends the turn with a reply that has no end. A later process does not try the same again.
    fn end_cut_off(&mut self, text: String, host: &mut dyn Host) -> Result<Outcome, Halt> {
        let reason = "the reply was cut off".to_owned();
        self.commit(Record::Ended(EndedRecord { reason }), host)?;
        Ok(Outcome::CutOff { text })
    }

    /// Ends the turn so that no later process takes it up again.
    fn end_by_limit(&mut self, host: &mut dyn Host) -> Result<Outcome, Halt> {
        let reason = "round limit".to_owned();
        self.commit(Record::Ended(EndedRecord { reason }), host)?;
        let rounds = self.max_rounds;
        let text = format!(
            "Stopped after {rounds} rounds without coming to an end. The work so far is kept; say \
             \"go on\" to continue."
        );
        Ok(Outcome::RoundLimit { text })
    }

    /// Appends a record to the log, and only then takes it in.
    pub(crate) fn commit(&mut self, record: Record, host: &mut dyn Host) -> Result<(), Halt> {
        Ok(self.keep(record, host)?)
    }

    pub(crate) fn keep(&mut self, record: Record, host: &mut dyn Host) -> Result<(), LogError> {
        host.append(&record)?;
        self.conversation.apply(record);
        Ok(())
    }
}

fn spec(definition: &tools::Definition) -> ToolSpec {
    ToolSpec {
        name: definition.name.clone().into_owned(),
        description: definition.description.clone().into_owned(),
        input_schema: definition.schema.raw().into(),
    }
}

fn spec_bytes(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.input_schema.get().len()
}

/// What is said in place of a refused reply.
fn refusal(reply: &Reply, category: Option<&str>, explanation: Option<&str>) -> String {
    let mut text = reply.text();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("[The model refused to go on");
    for part in [category, explanation].into_iter().flatten() {
        text.push_str(": ");
        text.push_str(part);
    }
    text.push_str(".]");
    text
}
