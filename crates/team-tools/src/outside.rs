//! The tools of a member whose agent is another program, and calls them from a process of its own.
//!
//! That program gets its mail as prompts, so there is no tool that reads an inbox. The journal belongs to the
//! member's process alone, so nothing here writes to it.

use crate::mail::SendMessage;
use crate::submit::Submit;
use crate::tasks::{ClaimTask, add_task_tools};
use crate::{ReadNotes, TeamContext, WriteNote, WriteTodo};
use protocol::{AgentName, Incarnation, Party, QuestionAsk, Request, RequestId};
use rules::{AskState, ask_state, asked_hash, decider, not_run_text};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use team::{Ask, SubmitError};
use teamdir::{RequestError, TeamDir, new_request_id, now};
use tools::{
    AskUser, AskUserArgs, DuplicateTool, Effect, Registry, Tool, ToolContext, ToolError, ToolOutput,
};

/// How often the file of a request is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What people chose about the questions of a member.
#[derive(Clone, Debug, Default)]
pub struct QuestionSettings {
    /// Whether the lead's model may answer them.
    pub lead_decides: bool,
    /// How long one waits; for ever if absent.
    pub timeout: Option<Duration>,
}

/// The tools of a member whose agent is another program.
pub fn outside_member_tools(
    context: &TeamContext,
    questions: QuestionSettings,
) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::default();
    registry.add(SendMessage::new(context.clone()))?;
    registry.add(PlanByFile(context.clone()))?;
    registry.add(ClaimTask::new(context.clone()))?;
    add_task_tools(&mut registry, context)?;
    registry.add(WriteTodo::new(context.clone()))?;
    registry.add(WriteNote::new(context.clone()))?;
    registry.add(ReadNotes::new(context.clone()))?;
    if let Some(submitter) = &context.submitter {
        registry.add(Submit::new(context.clone(), Arc::clone(submitter)))?;
    }
    registry.add(AskByFile {
        context: context.clone(),
        questions,
    })?;
    Ok(registry)
}

/// Submits a plan. The member's process finds it, and its decision, among the requests.
#[derive(Clone, Debug)]
struct PlanByFile(TeamContext);

/// The arguments of [`PlanByFile`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanByFileArgs {
    /// What you will change and how.
    plan: String,
}

impl Tool for PlanByFile {
    const NAME: &'static str = "plan_approval";
    const DESCRIPTION: &'static str = "Submit a plan to the lead before major work. End your turn \
         after it: the decision comes to you as a message.";
    const EFFECT: Effect = Effect::State;
    type Args = PlanByFileArgs;

    async fn call(&self, args: PlanByFileArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0
            .blocking(move |context| {
                let (name, incarnation) = member(context)?;
                let submitted = team::submit_plan(&context.team, &name, incarnation, &args.plan);
                let id = match submitted {
                    Ok(request) => request.id,
                    Err(SubmitError::Send { id, source }) => {
                        return Err(ToolError::new(format!(
                            "plan {id} is stored, but the lead was not notified: {source}"
                        )));
                    }
                    Err(error) => return Err(ToolError::from_error(&error)),
                };
                Ok(ToolOutput::ok(format!(
                    "Plan submitted (request_id={id}). Waiting for lead approval."
                )))
            })
            .await
    }
}

fn member(context: &TeamContext) -> Result<(AgentName, Incarnation), ToolError> {
    match (&context.me.party, context.me.incarnation) {
        (Party::Member(name), Some(incarnation)) => Ok((name.clone(), incarnation)),
        _ => Err(ToolError::new("only a teammate submits plans")),
    }
}

/// Asks a person, and waits for the answer.
#[derive(Clone, Debug)]
struct AskByFile {
    context: TeamContext,
    questions: QuestionSettings,
}

impl Tool for AskByFile {
    const NAME: &'static str = AskUser::NAME;
    const DESCRIPTION: &'static str = AskUser::DESCRIPTION;
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = AskUserArgs;

    async fn call(&self, args: AskUserArgs, call: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ask = Ask::Question(QuestionAsk {
            question: args.question,
            choices: args.choices,
            free_text: args.free_text.unwrap_or(true),
            call_hash: String::new(),
            lead_decides: self.questions.lead_decides,
        });
        let timeout = self.questions.timeout;
        let asked = self.context.blocking(move |context| {
            let id = new_request_id();
            let request = team::prepare_ask(&context.me, &id, ask, timeout);
            let request = request.map_err(|error| ToolError::from_error(&error))?;
            let stored = team::ask_person(&context.team, request);
            stored.map_err(|error| ToolError::from_error(&error))
        });
        let request = asked.await?;
        let withdraw = Withdraw(self.context.team.clone(), request.id.clone());
        let decided = tokio::select! {
            decided = self.decided(request) => decided,
            () = call.cancel.cancelled() => Err(ToolError::cancelled()),
        };
        drop(withdraw);
        decided
    }
}

impl AskByFile {
    async fn decided(&self, request: Request) -> Result<ToolOutput, ToolError> {
        loop {
            let asked = request.clone();
            let state = self.context.blocking(move |context| state(context, &asked));
            match state.await? {
                AskState::Pending => tokio::time::sleep(POLL_INTERVAL).await,
                AskState::Approved(answer) => {
                    let text = format!("{} answers: {}", decider(&answer), answer.text);
                    return Ok(ToolOutput::ok(text));
                }
                state @ (AskState::Rejected(_) | AskState::Unanswered { .. } | AskState::Void) => {
                    return Ok(ToolOutput::error(not_run_text(&request, state)));
                }
            }
        }
    }
}

/// What the file of the request says now.
fn state(context: &TeamContext, request: &Request) -> Result<AskState, ToolError> {
    let found = match request.deadline {
        Some(deadline) if deadline <= now() => team::expire_at_deadline(&context.team, &request.id),
        _ => context.team.request(&request.id),
    };
    let hash = asked_hash(&request.subject).cloned().unwrap_or_default();
    match found {
        Ok(found) => {
            let state = ask_state(&found, &context.me, &hash);
            if state != AskState::Pending {
                // Whoever answered may have been killed before this.
                let _ = team::follow_up(&context.team, &found);
            }
            Ok(state)
        }
        Err(RequestError::Unknown(_) | RequestError::Invalid { .. }) => Ok(AskState::Void),
        Err(error) => Err(ToolError::from_error(&error)),
    }
}

/// Ends a question that nobody waits for any more.
struct Withdraw(TeamDir, RequestId);

impl Drop for Withdraw {
    fn drop(&mut self) {
        // A request that is decided stays as it is; one that cannot be changed now ends at its deadline.
        let _ = team::withdraw_ask(&self.0, &self.1);
    }
}
