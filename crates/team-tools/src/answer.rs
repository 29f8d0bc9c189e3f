//! The tool with which the lead answers what its teammates ask a person, where people let it.

use crate::TeamContext;
use crate::teammate::request_id;
use protocol::{Request, RequestId};
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
        let answer = CheckedAnswer::new(&args.request_id, args.approve, args.text)?;
        self.0
            .blocking(move |context| answer.give(context, None))
            .await
    }
}

/// What is said of an answer to a request that another host records.
pub(crate) fn sent_to(request: &Request) -> Option<String> {
    let (host, author) = (request.host.as_ref()?, &request.from);
    Some(format!(
        "Sent to the host '{host}' for '{author}', not yet recorded there"
    ))
}

/// An answer with which nothing is wrong as far as its arguments show.
#[derive(Debug)]
pub(crate) struct CheckedAnswer {
    pub(crate) id: RequestId,
    approve: bool,
    text: String,
}

impl CheckedAnswer {
    pub(crate) fn new(
        request: &str,
        approve: bool,
        text: Option<String>,
    ) -> Result<Self, ToolError> {
        let id = request_id(request)?;
        let text = text.unwrap_or_default();
        if !approve && text.trim().is_empty() {
            return Err(ToolError::new("say in text why you refuse it"));
        }
        Ok(Self { id, approve, text })
    }

    /// Records the answer, which is that of a person if it has a name.
    pub(crate) fn give(
        &self,
        context: &TeamContext,
        person: Option<&str>,
    ) -> Result<ToolOutput, ToolError> {
        let answer = PersonAnswer {
            approve: self.approve,
            text: &self.text,
            scope: None,
            name: person,
        };
        let answered = answer_person(&context.team, &context.me, &self.id, &answer);
        let request = answered.map_err(|error| ToolError::from_error(&error))?;
        let (author, status) = (&request.from, request.status().as_str());
        Ok(ToolOutput::ok(match sent_to(&request) {
            Some(text) => text,
            None => format!("{status} for '{author}'"),
        }))
    }
}
