//! What a tool is, and what it gives back.

use std::error::Error;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::ToolContext;

/// Something a model may ask to have done. The arguments are parsed, and errors and panics turned
/// into text, by the [`Registry`](crate::Registry).
///
/// Every tool declares its [`Effect`]. There is no default, so a tool without one does not compile:
///
/// ```compile_fail,E0046
/// use tools::{Tool, ToolContext, ToolError, ToolOutput};
///
/// struct Paint;
///
/// impl Tool for Paint {
///     const NAME: &'static str = "paint";
///     const DESCRIPTION: &'static str = "Paints a wall.";
///     type Args = std::collections::BTreeMap<String, String>;
///
///     async fn call(&self, _: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::ok("painted"))
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The name under which the model calls it.
    const NAME: &'static str;
    /// What it does and when to use it, for the model.
    const DESCRIPTION: &'static str;
    /// What it may do to the world.
    const EFFECT: Effect;
    /// Its arguments. They should deny unknown fields, so that the model learns of its mistakes.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Does it. A failure is an error whose text the model can act on.
    fn call(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// What a tool may do to the world, which decides how its calls are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only looks. Calls may run at the same time as other such calls, and may be given up
    /// half-way.
    Read,
    /// It changes nothing but the state of the agent or team it belongs to. Calls run in order.
    State,
    /// It changes the workspace or starts programs. Calls run in order, and a caller may refuse
    /// them, for example until a plan is approved.
    Mutate,
}

impl Effect {
    /// Whether a call may run at the same time as other calls of which this is true.
    pub fn is_concurrent(self) -> bool {
        match self {
            Self::Read => true,
            Self::State | Self::Mutate => false,
        }
    }

    /// Whether a call changes the workspace or starts programs.
    pub fn mutates(self) -> bool {
        match self {
            Self::Mutate => true,
            Self::Read | Self::State => false,
        }
    }
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// Whether it tells of a failure.
    pub is_error: bool,
    /// What the loop that runs the model should do, if anything.
    pub control: Option<Control>,
}

impl ToolOutput {
    /// The output of a call that worked.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            control: None,
        }
    }

    /// The output of a call that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::ok(text)
        }
    }
}

/// A wish of a tool to the loop that runs the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Shorten the conversation now.
    Compact {
        /// What the summary should dwell on.
        focus: Option<String>,
    },
    /// End the turn after this round of tools, without asking the model again.
    EndTurn,
}

/// Why a call failed, in words for the model. The registry puts `Error: ` before them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// A failure with these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A failure in the words of an error and of its causes.
    pub fn from_error(error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self(text)
    }

    /// The failure of a call that was cancelled before it had an effect.
    pub fn cancelled() -> Self {
        Self::new("interrupted before it was done")
    }
}
