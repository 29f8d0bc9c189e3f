//! The tool with which a model asks for its conversation to be shortened.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::tool::{Control, Effect, Tool, ToolError, ToolOutput};

/// Does nothing itself: it passes the wish on to the loop that runs the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compact;

/// The arguments of [`Compact`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactArgs {
    /// What to preserve with the most care.
    focus: Option<String>,
}

impl Tool for Compact {
    const NAME: &'static str = "compact";
    const DESCRIPTION: &'static str =
        "Summarise the conversation so far to free room. Use it between two pieces of work.";
    const EFFECT: Effect = Effect::State;
    type Args = CompactArgs;

    async fn call(&self, args: CompactArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let focus = args.focus.filter(|focus| !focus.trim().is_empty());
        Ok(ToolOutput {
            control: Some(Control::Compact { focus }),
            ..ToolOutput::ok("Compressing...")
        })
    }
}
