//! One agent and its turns, as the main loops of lead and teammate see them.

use crate::build::BudgetedModels;
use crate::host::{Hooks, RuntimeHost};
use crate::sessions::new_session;
use agent::{Agent, LogError, Outcome, TurnError};
use llm::{CancellationToken, ModelError};
use protocol::UserMessage;
use std::error::Error;
use std::future::{Future, pending};
use std::pin::Pin;
use teamdir::now;
use tracing::{Instrument, info_span};

/// How a turn or a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The model stopped by itself, with this text last.
    Finished {
        text: String,
    },
    /// The model's reply was cut off, with this text so far, and could not be brought to an end.
    CutOff {
        text: String,
    },
    /// The model was asked as often as it may be in one turn.
    RoundLimit {
        text: String,
    },
    Interrupted,
    Failed(TurnFailure),
}

/// Why a turn could not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    pub cause: FailureCause,
    /// The error with its causes, for people.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The model could not be reached, after all retries.
    ModelUnavailable,
    /// The journal could not be written: nothing of the input was recorded.
    JournalUnwritable,
    /// Trying again would fail in the same way.
    Permanent,
}

impl From<Outcome> for TurnOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Finished { text } => Self::Finished { text },
            Outcome::CutOff { text } => Self::CutOff { text },
            Outcome::RoundLimit { text } => Self::RoundLimit { text },
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Failed { error } => Self::Failed(TurnFailure {
                cause: match &error {
                    TurnError::Model(
                        ModelError::GaveUp { .. }
                        | ModelError::Engine {
                            is_temporary: true, ..
                        },
                    ) => FailureCause::ModelUnavailable,
                    TurnError::Log(_) => FailureCause::JournalUnwritable,
                    TurnError::Model(_) | TurnError::WindowFull => FailureCause::Permanent,
                },
                reason: error_chain(&error),
            }),
        }
    }
}

/// An agent with the host it runs on.
struct Worker<H> {
    agent: Agent,
    host: RuntimeHost<H>,
}

type Work<H> = Pin<Box<dyn Future<Output = (Worker<H>, TurnOutcome)>>>;

/// Runs the turns of one agent, one at a time, beside the loop that started them.
pub struct AgentRunner<H> {
    state: State<H>,
    /// How many turns were started.
    turns: u64,
}

enum State<H> {
    Free(Box<Worker<H>>),
    Busy {
        work: Work<H>,
        cancel: CancellationToken,
    },
    /// A turn did not end when it was cancelled, and was dropped.
    Abandoned,
}

impl<H: Hooks + 'static> AgentRunner<H> {
    pub fn new(agent: Agent, host: RuntimeHost<H>) -> Self {
        let state = State::Free(Box::new(Worker { agent, host }));
        Self { state, turns: 0 }
    }

    pub const fn is_free(&self) -> bool {
        matches!(self.state, State::Free(_))
    }

    /// Whether an earlier turn left input without an answer. False while a turn runs.
    pub fn is_unanswered(&self) -> bool {
        match &self.state {
            State::Free(worker) => worker.agent.conversation().is_waiting(),
            State::Busy { .. } | State::Abandoned => false,
        }
    }

    /// The agent's hooks, while no turn runs.
    pub fn hooks(&mut self) -> Option<&mut H> {
        match &mut self.state {
            State::Free(worker) => Some(worker.host.hooks()),
            State::Busy { .. } | State::Abandoned => None,
        }
    }

    /// Starts a turn with this input. Does nothing while another one runs.
    pub fn start_turn(&mut self, mut input: Vec<UserMessage>) {
        self.turns += 1;
        let span = info_span!("turn", n = self.turns);
        self.start(|mut worker, cancel| {
            let turn = async move {
                worker.host.hooks().turn_started();
                // By themselves they are no reason to ask the model.
                if !input.is_empty() {
                    input.splice(0..0, worker.host.news());
                }
                let input = worker.host.hooks_before_turn(input, &cancel).await;
                let turn = worker.agent.run_turn(input, &mut worker.host, &cancel);
                let outcome = TurnOutcome::from(turn.await);
                if let TurnOutcome::Finished { text } = &outcome {
                    worker.host.hooks().turn_finished(text);
                }
                (worker, outcome)
            };
            Box::pin(turn.instrument(span))
        });
    }

    /// Starts to make the conversation shorter.
    pub fn start_compaction(&mut self) {
        self.start(|mut worker, cancel| {
            Box::pin(async move {
                worker.host.hooks().turn_started();
                let compaction = worker.agent.compact(None, &mut worker.host, &cancel);
                let mut outcome = TurnOutcome::from(compaction.await);
                if let TurnOutcome::Finished { text } = &mut outcome {
                    // This text comes from the program and answers no question.
                    worker.host.hooks().turn_finished(&std::mem::take(text));
                }
                (worker, outcome)
            })
        });
    }

    /// Tells the model, in the conversation, that a person has stopped its turn. Does nothing while a
    /// turn runs.
    pub fn record_stop(&mut self) -> Result<(), LogError> {
        let State::Free(worker) = &mut self.state else {
            return Ok(());
        };
        let Worker { agent, host } = worker.as_mut();
        agent.end_stopped(host)?;
        host.runtime.withdraw_old_asks(agent.conversation());
        Ok(())
    }

    /// Begins a new session, in which this model is asked, and keeps the one so far. Does nothing while a
    /// turn runs.
    pub fn start_over(&mut self, model: &str) -> Result<(), LogError> {
        let State::Free(worker) = &mut self.state else {
            return Ok(());
        };
        let Worker { agent, host } = worker.as_mut();
        let kept = host.runtime.keep_session(agent.conversation(), now());
        kept.map_err(LogError::new)?;
        agent.start_over(Some(new_session(model)), host)
    }

    /// Asks other models from now on, which were chosen by this name. Does nothing while a turn runs.
    pub fn use_models(&mut self, name: &str, models: BudgetedModels) -> Result<(), LogError> {
        let State::Free(worker) = &mut self.state else {
            return Ok(());
        };
        let Worker { agent, host } = worker.as_mut();
        host.runtime.set_helper(&models);
        let mut session = agent.conversation().session().cloned();
        if let Some(session) = &mut session {
            session.use_model(name);
        }
        agent.use_model(models.model, models.settings, session, host)
    }

    fn start(&mut self, work: impl FnOnce(Worker<H>, CancellationToken) -> Work<H>) {
        match std::mem::replace(&mut self.state, State::Abandoned) {
            State::Free(worker) => {
                let cancel = CancellationToken::new();
                let work = work(*worker, cancel.clone());
                self.state = State::Busy { work, cancel };
            }
            other @ (State::Busy { .. } | State::Abandoned) => self.state = other,
        }
    }

    /// Asks the running turn to end.
    pub fn cancel(&self) {
        if let State::Busy { cancel, .. } = &self.state {
            cancel.cancel();
        }
    }

    /// Drops a turn that does not end. What it has done is in the journal.
    pub fn abandon(&mut self) {
        self.state = State::Abandoned;
    }

    /// Waits for the end of the running turn; for ever if none runs.
    pub async fn ended(&mut self) -> TurnOutcome {
        let State::Busy { work, .. } = &mut self.state else {
            return pending().await;
        };
        let (worker, outcome) = work.await;
        self.state = State::Free(Box::new(worker));
        outcome
    }
}

/// An error with its causes, without those that it repeats.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
