//! The agent of another program in the place of a member's model.
//!
//! To everything around it an engine is a [`Model`]: a request's last turn becomes a prompt of the agent's session,
//! and what the agent says until its end becomes the reply. So mail, tasks, reports, budget, idle times and
//! restarts are those of any member. The agent's own tools run inside its process, in the member's sandbox; what
//! it asks permission for is decided by the member's rules and, where they say so, by a person.
//!
//! **A turn is not done twice.** The input of a prompt is in the journal before it is sent, and the reply is there
//! before anything else is done. A process that finds input without a reply sends it again and says that it was
//! interrupted. The session of the agent is gone on with where the agent can do that; where not, the first prompt
//! of the new session says what was said before.

mod budget;
mod confine;
mod kept;
mod permission;
mod process;
mod prompt;
mod state;
mod tools;

use crate::runtime::MemberRuntime;
use acp::{EngineChoice, PromptEnd, Question, Received, SessionEvent, Verdict};
use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    StopReason, Usage,
};
use process::Running;
pub(crate) use state::EngineState;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tools::{EndedTool, PromptTools};
use tracing::{info, warn};

pub use process::EngineError;

/// How often an agent that dies in the middle of a prompt is started again before the turn fails.
const MAX_TRIES: u32 = 3;
/// The pause before the second try; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// What is set about the engine of a member.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// As people chose it, such as `acp:claude`.
    pub engine: String,
    /// What the agent is told first: who it is, and what the team expects.
    pub introduction: String,
    /// Whether an earlier process may have sent the input that waits for an answer.
    pub was_interrupted: bool,
    /// Whether nothing was said before, so that no earlier session counts.
    pub is_new: bool,
    /// Is notified when the turn begins to wait for a person, and when a prompt begins.
    pub turn_waits: Arc<Notify>,
}

/// The agent of another program as a model.
struct EngineModel {
    runtime: MemberRuntime,
    options: EngineOptions,
    choice: EngineChoice,
    name: String,
    was_interrupted: AtomicBool,
    is_new: AtomicBool,
}

/// How a prompt ended.
enum Attempt {
    Replied(Reply),
    /// The agent has died.
    Died(String),
    Failed(ModelError),
}

impl MemberRuntime {
    /// The engine as a model, if its program is there and its sandbox lets it work.
    pub(crate) fn engine(&self, options: EngineOptions) -> Result<Arc<dyn Model>, EngineError> {
        let choice: EngineChoice = options.engine.parse()?;
        self.check_engine(&choice)?;
        Ok(Arc::new(EngineModel {
            runtime: self.clone(),
            name: choice.to_string(),
            choice,
            was_interrupted: AtomicBool::new(options.was_interrupted),
            is_new: AtomicBool::new(options.is_new),
            options,
        }))
    }
}

impl Model for EngineModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.turn(request, events, cancel))
    }
}

impl EngineModel {
    async fn turn(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let mut running = self.runtime.engine.running.lock().await;
        let mut was_interrupted = self.was_interrupted.swap(false, Ordering::Relaxed);
        let mut pause = FIRST_PAUSE;
        let mut reason = String::new();
        for attempt in 1..=MAX_TRIES {
            if attempt > 1 {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            let is_new = self.is_new.swap(false, Ordering::Relaxed);
            let agent = match self
                .runtime
                .ensure_running(&self.choice, running.take(), is_new)
                .await
            {
                Ok(agent) => running.insert(agent),
                Err(error) if error.is_final() => {
                    self.runtime.withdraw_engine_asks("its engine cannot work");
                    return Err(ModelError::Engine {
                        reason: error.to_string(),
                        is_temporary: false,
                    });
                }
                Err(error) => {
                    reason = error.to_string();
                    warn!("{reason}");
                    continue;
                }
            };
            self.book_open_cost(events);
            let text = prompt::compose(
                request,
                (!agent.is_introduced).then_some(self.options.introduction.as_str()),
                was_interrupted,
            );
            agent.is_introduced = true;
            match self.prompt(agent, &text, events, cancel).await {
                Attempt::Replied(reply) => return Ok(reply),
                Attempt::Failed(ModelError::Cancelled) => {
                    // The next prompt waits a moment for the end of this one.
                    self.was_interrupted.store(true, Ordering::Relaxed);
                    return Err(ModelError::Cancelled);
                }
                Attempt::Failed(error) => {
                    *running = None;
                    return Err(error);
                }
                Attempt::Died(how) => {
                    *running = None;
                    was_interrupted = true;
                    warn!("{} {how}; its prompt is sent again", self.name);
                    reason = format!("{} {how}", self.name);
                }
            }
        }
        Err(self.gave_up(reason))
    }

    /// Books what an earlier process was about to book when it was killed.
    fn book_open_cost(&self, events: &mut EventSink<'_>) {
        if let Some(cost) = self.runtime.unbooked_cost() {
            let nanos = cost.as_nanos();
            events(Event::Cost { nanos });
            self.runtime.charge_ended();
        }
    }

    fn gave_up(&self, reason: String) -> ModelError {
        let why = "its engine died several times";
        self.runtime.withdraw_engine_asks(why);
        ModelError::Engine {
            reason,
            is_temporary: true,
        }
    }

    /// Sends a prompt and waits for its end.
    async fn prompt(
        &self,
        agent: &mut Running,
        text: &str,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Attempt {
        let Some(line) = agent.session.prompt(text) else {
            return Attempt::Died("is still busy with another prompt".to_owned());
        };
        self.options.turn_waits.notify_one();
        agent.connection.send(line);
        let mut said = Said::default();
        let (decided, mut decisions) = unbounded_channel();
        let mut asks: HashMap<u64, Asking> = HashMap::new();
        // Dropped with the turn: then the agent is told to stop, and nobody is asked any more.
        let mut guard = process::PromptGuard::new(agent, cancel.child_token());
        loop {
            let received = tokio::select! {
                received = guard.agent.connection.receive() => match received {
                    Received::Line(line) => guard.agent.session.line(&line),
                    Received::Gone { how, errors } => {
                        guard.is_over = true;
                        return Attempt::Died(died(&how, &errors));
                    }
                },
                () = cancel.cancelled() => return Attempt::Failed(ModelError::Cancelled),
                Some((ask, verdict)) = decisions.recv() => {
                    asks.remove(&ask);
                    let line = guard.agent.session.decide(ask, verdict);
                    line.map(SessionEvent::Send).into_iter().collect()
                }
            };
            for event in received {
                match event {
                    SessionEvent::Asked(question) => {
                        let asking = Asking {
                            cancel: guard.asking.child_token(),
                            is_withdrawn: Arc::default(),
                        };
                        asks.insert(question.ask, asking.clone());
                        self.decide(*question, asking, decided.clone());
                    }
                    SessionEvent::AskWithdrawn(ask) => {
                        if let Some(asking) = asks.remove(&ask) {
                            asking.is_withdrawn.store(true, Ordering::Relaxed);
                            asking.cancel.cancel();
                        }
                    }
                    SessionEvent::Ended(end) => {
                        guard.is_over = true;
                        return self.ended(end, said).await;
                    }
                    SessionEvent::Failed(failure) => {
                        guard.is_over = true;
                        return Attempt::Failed(ModelError::Engine {
                            reason: failure.to_string(),
                            is_temporary: true,
                        });
                    }
                    SessionEvent::Send(line) => guard.agent.connection.send(line),
                    other => self.note(other, &mut said, events, &guard.asking),
                }
            }
        }
    }

    /// Decides about a question of the agent while its prompt goes on.
    fn decide(&self, question: Question, asking: Asking, decided: UnboundedSender<(u64, Verdict)>) {
        let runtime = self.runtime.clone();
        let waits = Arc::clone(&self.options.turn_waits);
        tokio::spawn(async move {
            let ask = question.ask;
            let Asking {
                cancel,
                is_withdrawn,
            } = asking;
            let verdict = runtime
                .decide_for_engine(question, &waits, &is_withdrawn, &cancel)
                .await;
            let _ = decided.send((ask, verdict));
        });
    }

    /// Takes in what the agent says and does.
    fn note(
        &self,
        event: SessionEvent,
        said: &mut Said,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) {
        match event {
            SessionEvent::Text(text) => {
                said.add(&text);
                events(Event::TextDelta(text));
            }
            SessionEvent::Thought(text) => events(Event::ThinkingDelta(text)),
            SessionEvent::ToolStarted(call) => {
                said.is_after_tool = true;
                said.tools.started(&self.runtime, &call);
            }
            SessionEvent::ToolEnded {
                call,
                text,
                is_error,
            } => {
                let tool = EndedTool {
                    call,
                    text,
                    is_error,
                };
                said.tools.ended(&self.runtime, tool, cancel);
            }
            SessionEvent::Cost(dollars) => {
                let nanos = self.runtime.charge_begins(dollars).as_nanos();
                events(Event::Cost { nanos });
                self.runtime.charge_ended();
            }
            SessionEvent::Garbage => warn!("{} sent a line that is no message", self.name),
            SessionEvent::Opened { .. }
            | SessionEvent::Send(_)
            | SessionEvent::Asked(_)
            | SessionEvent::AskWithdrawn(_)
            | SessionEvent::Ended(_)
            | SessionEvent::Failed(_) => {}
        }
    }

    async fn ended(&self, end: PromptEnd, mut said: Said) -> Attempt {
        said.tools.finish(&self.runtime).await;
        let why = "its engine has ended its turn without it";
        self.runtime.withdraw_engine_asks(why);
        self.runtime.adopt_engine_plan();
        let (stop, usage) = match end {
            PromptEnd::Finished { usage } => (StopReason::EndTurn, usage),
            PromptEnd::CutOff { usage } => (StopReason::MaxTokens, usage),
            PromptEnd::Refused => (
                StopReason::Refusal {
                    category: None,
                    explanation: None,
                },
                None,
            ),
            PromptEnd::Cancelled => return Attempt::Failed(ModelError::Cancelled),
        };
        let usage = usage.map(|usage| Usage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cached_read_tokens.unwrap_or_default(),
            cache_write: usage.cached_write_tokens.unwrap_or_default(),
            ..Usage::default()
        });
        info!("{} has answered", self.name);
        Attempt::Replied(Reply {
            blocks: vec![Block::text(said.text)],
            stop,
            usage,
            model: self.name.clone(),
        })
    }
}

/// The waiting for the answer to a question of the agent.
#[derive(Clone)]
struct Asking {
    cancel: CancellationToken,
    /// Whether the agent needs no answer any more.
    is_withdrawn: Arc<AtomicBool>,
}

/// What an agent has said in a prompt.
#[derive(Default)]
struct Said {
    text: String,
    /// Whether a tool has run since.
    is_after_tool: bool,
    tools: PromptTools,
}

impl Said {
    fn add(&mut self, text: &str) {
        if std::mem::take(&mut self.is_after_tool) && !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }
}

fn died(how: &str, errors: &str) -> String {
    match errors.trim() {
        "" => how.to_owned(),
        errors => format!("{how}: {errors}"),
    }
}
