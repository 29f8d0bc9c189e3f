//! The tool with which the lead answers what its teammates ask a person, where people let it.

use crate::TeamContext;
use crate::teammate::request_id;
use schemars::JsonSchema;
use serde::Deserialize;
use team::{PersonAnswer, answer_person};
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Answers what a teammate asks a person.
#[derive(Clone, Debug)]
pub struct AnswerRequest(TeamContext);

impl AnswerRequest {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`AnswerRequest`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequestArgs {
    /// The id of the permission or question.
    request_id: String,
    /// Whether the tool call may run, or whether you answer the question.
    approve: bool,
    /// The answer to the question, or the reason; a refusal needs one.
    text: Option<String>,
}

impl Tool for AnswerRequest {
    const NAME: &'static str = "answer_request";
    const DESCRIPTION: &'static str = "Answer a teammate's question or allow its tool call, in place of \
         the user, who lets you decide. Allow only what the user would; refuse with a reason otherwise, \
         or leave it to the user.";
    const EFFECT: Effect = Effect::State;
    type Args = AnswerRequestArgs;

    async fn call(
        &self,
        args: AnswerRequestArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = request_id(&args.request_id)?;
        let text = args.text.unwrap_or_default();
        if !args.approve && text.trim().is_empty() {
            return Err(ToolError::new("say in text why you refuse it"));
        }
        self.0
            .blocking(move |context| {
                let answer = PersonAnswer {
                    approve: args.approve,
                    text: &text,
                    scope: None,
                    name: None,
                };
                let answered = answer_person(&context.team, &context.me, &id, &answer);
                let request = answered.map_err(|error| ToolError::from_error(&error))?;
                let (author, status) = (&request.from, request.status().as_str());
                Ok(ToolOutput::ok(format!("{status} for '{author}'")))
            })
            .await
    }
}
