//! The tool that compacts the conversation.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::tool::{Control, Effect, Tool, ToolError, ToolOutput};

/// Does nothing itself: it passes the request on to the agent loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compact;

/// The arguments of [`Compact`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactArgs {
    /// What the summary must preserve.
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
