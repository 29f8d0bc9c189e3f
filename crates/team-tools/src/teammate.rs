//! Tools that only a teammate has: `shutdown_response`, `plan_approval`, `idle`.

use crate::agent_handle::TeammateHandle;
use crate::mail::NoArgs;
use protocol::RequestId;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tools::{Control, Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Answers a shutdown request.
#[derive(Clone)]
pub struct ShutdownAnswer(Arc<dyn TeammateHandle>);

impl ShutdownAnswer {
    pub const fn new(handle: Arc<dyn TeammateHandle>) -> Self {
        Self(handle)
    }
}

/// The arguments of [`ShutdownAnswer`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownAnswerArgs {
    request_id: String,
    approve: bool,
    reason: Option<String>,
}

impl Tool for ShutdownAnswer {
    const NAME: &'static str = "shutdown_response";
    const DESCRIPTION: &'static str = "Answer a shutdown_request. Refuse if work would be lost.";
    const EFFECT: Effect = Effect::State;
    type Args = ShutdownAnswerArgs;

    async fn call(
        &self,
        args: ShutdownAnswerArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = request_id(&args.request_id)?;
        let handle = Arc::clone(&self.0);
        let reason = args.reason.unwrap_or_default();
        let approve = args.approve;
        let answered = blocking(move || handle.answer_shutdown(&id, approve, &reason)).await;
        answered?;
        if !approve {
            return Ok(ToolOutput::ok("Shutdown rejected"));
        }
        Ok(ToolOutput {
            control: Some(Control::EndTurn),
            ..ToolOutput::ok("Shutdown approved")
        })
    }
}

/// Submits a plan.
#[derive(Clone)]
pub struct PlanSubmission(Arc<dyn TeammateHandle>);

impl PlanSubmission {
    pub const fn new(handle: Arc<dyn TeammateHandle>) -> Self {
        Self(handle)
    }
}

/// The arguments of [`PlanSubmission`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSubmissionArgs {
    plan: String,
}

impl Tool for PlanSubmission {
    const NAME: &'static str = "plan_approval";
    const DESCRIPTION: &'static str = "Submit a plan if asked for one, then end your turn.";
    const EFFECT: Effect = Effect::State;
    type Args = PlanSubmissionArgs;

    async fn call(
        &self,
        args: PlanSubmissionArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let handle = Arc::clone(&self.0);
        let id = blocking(move || handle.submit_plan(&args.plan)).await?;
        Ok(ToolOutput::ok(format!(
            "Plan submitted (request_id={id}). Waiting for lead approval."
        )))
    }
}

/// Ends the turn on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Idle;

impl Tool for Idle {
    const NAME: &'static str = "idle";
    const DESCRIPTION: &'static str = "End your turn.";
    const EFFECT: Effect = Effect::State;
    type Args = NoArgs;

    async fn call(&self, _: NoArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput {
            control: Some(Control::EndTurn),
            ..ToolOutput::ok("Entering idle phase. Mail and new tasks will wake you.")
        })
    }
}

pub(crate) fn request_id(text: &str) -> Result<RequestId, ToolError> {
    RequestId::new(text.trim()).map_err(|error| ToolError::from_error(&error))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(ToolError::cancelled()),
    }
}
