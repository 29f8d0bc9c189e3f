//! The agent at its desk: idle, or busy with a turn.

use crate::hooks::LeadHooks;
use crate::machine::End;
use agent::{Agent, Message, Outcome};
use llm::CancellationToken;
use member::RuntimeHost;
use std::error::Error;
use std::future::{Future, pending};
use std::pin::Pin;

/// An agent with its host.
pub(crate) struct Worker {
    pub(crate) agent: Agent,
    pub(crate) host: RuntimeHost<LeadHooks>,
}

type Work = Pin<Box<dyn Future<Output = (Worker, End)>>>;

/// Where the agent is.
pub(crate) enum Seat {
    Free(Box<Worker>),
    Busy {
        work: Work,
        cancel: CancellationToken,
    },
    /// The turn did not end when it should have, and was left.
    Empty,
}

impl Seat {
    pub(crate) const fn is_free(&self) -> bool {
        match self {
            Self::Free(_) => true,
            Self::Busy { .. } | Self::Empty => false,
        }
    }

    /// Whether a killed or failed turn left something without an answer.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            Self::Free(worker) => worker.agent.conversation().is_waiting(),
            Self::Busy { .. } | Self::Empty => false,
        }
    }

    /// Begins a turn, in which the model is told this. Does nothing if the seat is not free.
    pub(crate) fn begin_turn(&mut self, input: Vec<Message>) {
        self.begin(|mut worker, cancel| {
            Box::pin(async move {
                worker.host.hooks().begin_turn();
                let outcome = worker.agent.run_turn(input, &mut worker.host, &cancel);
                let end = end(outcome.await);
                if let End::Finished { text } = &end {
                    worker.host.hooks().end_turn(text);
                }
                (worker, end)
            })
        });
    }

    /// Begins to make the conversation shorter.
    pub(crate) fn begin_compaction(&mut self) {
        self.begin(|mut worker, cancel| {
            Box::pin(async move {
                worker.host.hooks().begin_turn();
                let outcome = worker.agent.compact(None, &mut worker.host, &cancel);
                let mut end = end(outcome.await);
                if let End::Finished { text } = &mut end {
                    // These are the program's words, not the model's answer to anything.
                    worker.host.hooks().end_turn(&std::mem::take(text));
                }
                (worker, end)
            })
        });
    }

    fn begin(&mut self, work: impl FnOnce(Worker, CancellationToken) -> Work) {
        match std::mem::replace(self, Self::Empty) {
            Self::Free(worker) => {
                let cancel = CancellationToken::new();
                let work = work(*worker, cancel.clone());
                *self = Self::Busy { work, cancel };
            }
            other @ (Self::Busy { .. } | Self::Empty) => *self = other,
        }
    }

    /// Asks the turn to end.
    pub(crate) fn cancel(&self) {
        if let Self::Busy { cancel, .. } = self {
            cancel.cancel();
        }
    }

    /// Leaves a turn that does not end. What it has done is in the journal.
    pub(crate) fn abandon(&mut self) {
        *self = Self::Empty;
    }

    /// Returns when the turn is over, and never if there is none.
    pub(crate) async fn ended(&mut self) -> End {
        let Self::Busy { work, .. } = self else {
            return pending().await;
        };
        let (worker, end) = work.await;
        *self = Self::Free(Box::new(worker));
        end
    }
}

fn end(outcome: Outcome) -> End {
    match outcome {
        Outcome::Finished { text } => End::Finished { text },
        Outcome::RoundLimit { text } => End::Failed { words: text },
        Outcome::Interrupted => End::Interrupted,
        Outcome::Failed { error } => End::Failed {
            words: format!("The lead cannot go on: {}", chain(&error)),
        },
    }
}

/// An error with its causes, without those that it repeats.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}
