//! The trait of a tool, and its output.

pub use protocol::Effect;
use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::ToolContext;

/// A tool of a model. The [`Registry`](crate::Registry) parses the arguments, and turns errors and
/// panics into text.
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
    /// What its calls may change.
    const EFFECT: Effect;
    /// Whether its results stay in a long conversation from which old results are cleared, because
    /// another call would not give them again.
    const KEEPS_RESULTS: bool = false;
    /// Its arguments. They should deny unknown fields, so that the model learns of its mistakes.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Runs the tool. The text of an error should tell the model what to do.
    fn call(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    pub is_error: bool,
    /// A request to the agent loop.
    pub control: Option<Control>,
    /// The id of the background command that the call started.
    pub command: Option<String>,
    /// The messages of the caller that the text shows to the model, by their numbers.
    pub mail: Vec<u64>,
    /// Images that belong to the text, for models that can see.
    pub images: Vec<OutputImage>,
}

/// An image of a result.
#[derive(Clone, PartialEq, Eq)]
pub struct OutputImage {
    /// What its content says that it is, such as `image/png`.
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

impl fmt::Debug for OutputImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}

impl ToolOutput {
    /// The output of a call that worked.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
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

/// A request of a tool to the agent loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Shorten the conversation now.
    Compact {
        /// What the summary should emphasize.
        focus: Option<String>,
    },
    /// End the turn after this round of tools, without calling the model again.
    EndTurn,
}

/// Why a call failed, as text for the model. The registry prepends `Error: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A failure with the texts of an error and its causes.
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
