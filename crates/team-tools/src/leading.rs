//! The tools of a program that leads a team from outside, as the user does at the command line.

use crate::answer::CheckedAnswer;
use crate::lead::{ListTeammates, SpawnTeammate, TeammateDefaults};
use crate::mail::{NoArgs, SendMessage};
use crate::tasks::add_task_tools;
use crate::wait::Wait;
use crate::{Starter, TeamContext};
use protocol::{AgentName, Party, Recipient, RequestFile, RequestId};
use rules::lead_may_answer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use team::DrainedMail;
use teamdir::{Liveness, TeamDir};
use tools::{DuplicateTool, Effect, Registry, Tool, ToolContext, ToolError, ToolOutput};

/// The tools of a program that leads a team from outside.
///
/// It decides plans. What members ask a person it answers only where the user lets the lead decide, or with
/// `person` where the user has said that this program's answers are their own.
pub fn leading_tools(
    context: &TeamContext,
    starter: &Arc<dyn Starter>,
    defaults: TeammateDefaults,
    person: Option<String>,
) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::default();
    registry.add(ListTeammates::new(context.clone()))?;
    let spawn = SpawnTeammate::new(context.clone(), Arc::clone(starter), defaults);
    registry.add(spawn)?;
    registry.add(SendMessage::new(context.clone()))?;
    registry.add(LeadInbox(context.clone()))?;
    add_task_tools(&mut registry, context)?;
    registry.add(ListRequests(context.clone()))?;
    registry.add(AnswerWaiting {
        context: context.clone(),
        person,
    })?;
    registry.add(Wait::new(context.clone()))?;
    Ok(registry)
}

/// Reads what members report to whoever leads.
#[derive(Clone, Debug)]
struct LeadInbox(TeamContext);

impl Tool for LeadInbox {
    const NAME: &'static str = "read_inbox";
    const DESCRIPTION: &'static str = "Read what the teammates report and ask, as a JSON list. Each \
         message is returned once; while `team-lead run` works in this folder, it stays unread for that lead.";
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = NoArgs;

    async fn call(&self, _: NoArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.blocking(|context| read(&context.team)).await
    }
}

fn read(team: &TeamDir) -> Result<ToolOutput, ToolError> {
    let owner = Recipient::Lead;
    let alive = team.liveness(&owner);
    let alive = alive.map_err(|error| ToolError::from_error(&error))?;
    let mut messages: Vec<Value> = Vec::new();
    let mut unread = |bytes: &[u8]| {
        let raw = || Value::String(String::from_utf8_lossy(bytes).into_owned());
        messages.push(serde_json::from_slice(bytes).unwrap_or_else(|_| raw()));
    };
    if let Liveness::Alive(_) = alive {
        let read = team.unread_mail(&owner, |bytes, _| unread(bytes));
        read.map_err(|error| ToolError::from_error(&error))?;
        return Ok(ToolOutput::ok(json!(messages).to_string()));
    }
    let failed = |error| ToolError::from_error(&error);
    let drained = DrainedMail::receive(team, &owner).map_err(failed)?;
    drained
        .mail
        .iter()
        .for_each(|entry| unread(entry.line.get().as_bytes()));
    drained.mark_shown().map_err(failed)?;
    Ok(ToolOutput::ok(json!(messages).to_string()))
}

/// Lists what waits for an answer.
#[derive(Clone, Debug)]
struct ListRequests(TeamContext);

/// The arguments of [`ListRequests`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListRequestsArgs {
    /// Only what this teammate asks.
    from: Option<String>,
}

impl Tool for ListRequests {
    const NAME: &'static str = "requests";
    const DESCRIPTION: &'static str = "List what waits for an answer: plans, tool calls that need \
         permission, and questions of teammates, as a JSON list.";
    const EFFECT: Effect = Effect::Read;
    type Args = ListRequestsArgs;

    async fn call(&self, args: ListRequestsArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let from = args.from.as_deref().map(AgentName::new).transpose();
        let from = from.map_err(|error| ToolError::from_error(&error))?;
        self.0
            .blocking(move |context| {
                processes::repair(&context.team);
                let waiting = team::waiting(&context.team);
                let mut waiting = waiting.map_err(|error| ToolError::from_error(&error))?;
                if let Some(from) = from {
                    waiting.retain(|request| match &request.from {
                        Party::Member(name) => name.same_as(&from),
                        Party::Lead | Party::User | Party::System => false,
                    });
                }
                let files = waiting.into_iter().map(RequestFile::from);
                let files: Vec<RequestFile> = files.collect();
                Ok(ToolOutput::ok(json!(files).to_string()))
            })
            .await
    }
}

/// Answers what waits.
#[derive(Clone, Debug)]
struct AnswerWaiting {
    context: TeamContext,
    /// The person whose answers these are, if they are those of a person.
    person: Option<String>,
}

/// The arguments of [`AnswerWaiting`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerWaitingArgs {
    /// The id of the plan, permission or question.
    request_id: String,
    /// Whether the plan may be carried out, the tool call may run, or the question is answered.
    approve: bool,
    /// The answer to the question, a remark, or the reason; a refusal needs one.
    text: Option<String>,
}

impl Tool for AnswerWaiting {
    const NAME: &'static str = "answer_request";
    const DESCRIPTION: &'static str = "Approve or reject a teammate's plan, or answer what it asks the \
         user where the user lets you. Allow only what the user would.";
    const EFFECT: Effect = Effect::State;
    type Args = AnswerWaitingArgs;

    async fn call(
        &self,
        args: AnswerWaitingArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let answer = CheckedAnswer::new(&args.request_id, args.approve, args.text)?;
        let person = self.person.clone();
        self.context
            .blocking(move |context| {
                if person.is_none() {
                    may_answer(&context.team, &answer.id)?;
                }
                answer.give(context, person.as_deref())
            })
            .await
    }
}

/// Refuses to answer for the user what only they decide.
fn may_answer(team: &TeamDir, id: &RequestId) -> Result<(), ToolError> {
    let request = team::find_request(team, id);
    let request = request.map_err(|error| ToolError::from_error(&error))?;
    if lead_may_answer(&request) {
        return Ok(());
    }
    Err(ToolError::new(format!(
        "only a person answers this: team-lead requests {id}. They can let you answer with \
         `lead_decides = true` in team.toml, or with `team-lead mcp serve --answers`"
    )))
}
