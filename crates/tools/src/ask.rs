//! The tool with which a model asks the person who runs the team.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};

/// Asks a person. The caller of the tool asks, because only it can wait for the answer across restarts.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUser;

/// The arguments of [`AskUser`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUserArgs {
    /// What you want to know, with everything a person needs to decide it.
    pub question: String,
    /// At most nine answers to choose from.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Whether any other text is an answer too, true if absent.
    #[serde(default)]
    pub free_text: Option<bool>,
}

impl AskUserArgs {
    /// Reads the arguments of a call.
    pub fn parse(arguments: &str) -> Result<Self, ToolError> {
        serde_json::from_str(arguments).map_err(|error| {
            ToolError::new(format!(
                "Wrong arguments for {}: {error}. It takes: question, choices, free_text",
                AskUser::NAME
            ))
        })
    }
}

impl Tool for AskUser {
    const NAME: &'static str = "ask_user";
    const DESCRIPTION: &'static str = "Ask the person who runs the team, and wait for the answer. Only \
         for what you cannot find out and must not decide yourself: a person may be away. Give choices \
         where you can.";
    const EFFECT: Effect = Effect::Ask;
    const KEEPS_RESULTS: bool = true;
    type Args = AskUserArgs;

    async fn call(&self, _: AskUserArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new(
            "nobody can be asked here: go on with what you know",
        ))
    }
}
