//! How a turn ends.

use llm::ModelError;

use crate::host::LogError;

/// How a turn ended.
#[derive(Debug)]
#[must_use]
pub enum Outcome {
    /// The model ended the turn.
    Finished {
        /// The final text, or why there is none. Empty if there was nothing to answer.
        text: String,
    },
    /// The model's reply was cut off at its limit of tokens again and again, and has no end.
    CutOff {
        /// What came of it.
        text: String,
    },
    /// It used tools as many times as it may, and did not come to an end.
    RoundLimit { text: String },
    /// It cannot go on. What was said stays in the conversation.
    Failed { error: TurnError },
    /// It was cancelled. The next turn goes on where it was.
    Interrupted,
}

/// Why a turn failed.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The call of the model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The conversation cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The model's window is full, also after the conversation was made shorter.
    #[error("the conversation does not fit in the model's window, even after it was compacted")]
    WindowFull,
}

/// Why the loop is left before its end.
#[derive(Debug)]
pub(crate) enum Halt {
    Failed(TurnError),
    Interrupted,
}

impl From<Halt> for Outcome {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Failed(error) => Self::Failed { error },
            Halt::Interrupted => Self::Interrupted,
        }
    }
}

impl From<ModelError> for Halt {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Cancelled => Self::Interrupted,
            error => Self::Failed(error.into()),
        }
    }
}

impl From<LogError> for Halt {
    fn from(error: LogError) -> Self {
        Self::Failed(error.into())
    }
}
