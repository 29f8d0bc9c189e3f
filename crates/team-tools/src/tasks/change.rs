//! Creating, changing and claiming tasks.

use super::{args, failed, ids, short};
use crate::TeamContext;
use crate::submit::SubmittedWork;
use protocol::{Task, TaskId, TaskStatus};
use rules::{ClaimLimit, Edit, NewTask, parse_status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use team::Update;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Creates a task.
#[derive(Debug, Clone)]
pub struct TaskCreate {
    context: TeamContext,
}

/// The arguments of [`TaskCreate`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCreateArgs {
    /// In a line.
    subject: String,
    /// In full: whoever claims it sees nothing else.
    description: Option<String>,
    /// 0 to 10, highest first; 5 if absent.
    priority: Option<u8>,
    /// Only this role may claim it.
    role: Option<String>,
    /// Tasks that come first.
    #[serde(
        default,
        rename = "blockedBy",
        alias = "blocked_by",
        deserialize_with = "args::numbers"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    blocked_by: Vec<u64>,
}

/// Changes a task.
#[derive(Debug, Clone)]
pub struct TaskUpdate {
    context: TeamContext,
}

/// The arguments of [`TaskUpdate`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskUpdateArgs {
    #[serde(deserialize_with = "args::number")]
    #[schemars(with = "u64")]
    task_id: u64,
    /// in_progress claims it, pending gives it back.
    #[schemars(extend("enum" = ["pending", "in_progress", "completed"]))]
    status: Option<String>,
    subject: Option<String>,
    description: Option<String>,
    priority: Option<u8>,
    /// Empty: any.
    role: Option<String>,
    #[serde(
        default,
        rename = "addBlockedBy",
        alias = "add_blocked_by",
        deserialize_with = "args::numbers"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    add_blocked_by: Vec<u64>,
    #[serde(
        default,
        rename = "removeBlockedBy",
        alias = "remove_blocked_by",
        deserialize_with = "args::numbers"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    remove_blocked_by: Vec<u64>,
    /// With completed.
    result: Option<String>,
    /// Progress, or why you give it back.
    note: Option<String>,
}

/// Claims a task.
#[derive(Debug, Clone)]
pub struct ClaimTask {
    context: TeamContext,
}

/// The arguments of [`ClaimTask`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimTaskArgs {
    /// If absent, the most urgent ready one.
    #[serde(default, deserialize_with = "args::optional_number")]
    #[schemars(with = "Option<u64>")]
    task_id: Option<u64>,
    /// Although you have one in progress.
    another: Option<bool>,
}

impl TaskCreate {
    pub const fn new(context: TeamContext) -> Self {
        Self { context }
    }
}

impl TaskUpdate {
    pub const fn new(context: TeamContext) -> Self {
        Self { context }
    }
}

impl ClaimTask {
    pub const fn new(context: TeamContext) -> Self {
        Self { context }
    }
}

impl Tool for TaskCreate {
    const NAME: &'static str = "task_create";
    const DESCRIPTION: &'static str = "Put a task on the board. Idle teammates claim ready ones.";
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = TaskCreateArgs;

    async fn call(
        &self,
        args: TaskCreateArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let new = NewTask {
            subject: args.subject,
            description: args.description.unwrap_or_default(),
            priority: args::priority(args.priority)?.unwrap_or_default(),
            role: args.role,
            blocked_by: ids(&args.blocked_by),
        };
        let created = self.context.blocking(move |context| {
            let created = team::create(&context.team, &context.me, &new);
            created.map_err(failed)
        });
        Ok(ToolOutput::ok(short(&created.await?).to_string()))
    }
}

impl Tool for TaskUpdate {
    const NAME: &'static str = "task_update";
    const DESCRIPTION: &'static str = "Change a task. Complete yours with a result, or give it back with \
        a note.";
    const EFFECT: Effect = Effect::State;
    type Args = TaskUpdateArgs;

    async fn call(
        &self,
        args: TaskUpdateArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = TaskId(args.task_id);
        let update = args.into_update()?;
        let updated = self.context.blocking(move |context| {
            if let Some(text) = submit_first(context, id, &update)? {
                return Ok(text);
            }
            let worker = context.worker();
            let updated = team::update(&context.team, &worker, id, &update);
            Ok(describe(context, &updated.map_err(failed)?))
        });
        Ok(ToolOutput::ok(updated.await?))
    }
}

impl Tool for ClaimTask {
    const NAME: &'static str = "claim_task";
    const DESCRIPTION: &'static str = "Claim a task until you complete it or give it back.";
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = ClaimTaskArgs;

    async fn call(
        &self,
        args: ClaimTaskArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let claimed = self.context.blocking(move |context| claim(context, &args));
        let (task, owner) = (claimed.await?, &self.context.me.party);
        let mut text = format!("Claimed task #{} for {owner}\n{}", task.id, task.subject);
        if !task.description.is_empty() {
            text = format!("{text}\n{}", task.description);
        }
        Ok(ToolOutput::ok(text))
    }
}

impl TaskUpdateArgs {
    fn into_update(self) -> Result<Update, ToolError> {
        let status = self.status.as_deref().map(parse_status).transpose();
        Ok(Update {
            edit: Edit {
                subject: self.subject,
                description: self.description,
                priority: args::priority(self.priority)?,
                role: self.role,
                note: self.note,
            },
            add_blocked_by: ids(&self.add_blocked_by),
            remove_blocked_by: ids(&self.remove_blocked_by),
            status: status.map_err(|error| ToolError::from_error(&error))?,
            result: self.result,
        })
    }
}

/// Completing a task submits the committed work of a member with a tree of its own. The task is completed
/// when that is merged: whoever waits for the task finds its work in the team's branch.
fn submit_first(
    context: &TeamContext,
    id: TaskId,
    update: &Update,
) -> Result<Option<String>, ToolError> {
    let Some(submitter) = &context.submitter else {
        return Ok(None);
    };
    if update.status != Some(TaskStatus::Completed) {
        return Ok(None);
    }
    let own = team::unfinished(&context.team, &context.me);
    let own = own.map_err(|error| ToolError::from_error(&error))?;
    if !own.iter().any(|task| task.id == id) {
        // The board refuses it, and says why.
        return Ok(None);
    }
    let result = update.result.clone().unwrap_or_default();
    let submitted = submitter.submit(Some(id), Some(result))?;
    if let SubmittedWork::Nothing(_) = submitted {
        return Ok(None);
    }
    let rest = Update {
        status: None,
        result: None,
        ..update.clone()
    };
    if rest != Update::default() {
        let worker = context.worker();
        team::update(&context.team, &worker, id, &rest).map_err(failed)?;
    }
    Ok(Some(submitted.text(Some(id))))
}

fn claim(context: &TeamContext, args: &ClaimTaskArgs) -> Result<Task, ToolError> {
    let (team, worker) = (&context.team, context.worker());
    if let Some(id) = args.task_id {
        let limit = match args.another {
            Some(true) => ClaimLimit::Many,
            Some(false) | None => ClaimLimit::One,
        };
        return team::claim(team, &worker, TaskId(id), limit).map_err(failed);
    }
    if let Some(task) = team::claim_next(team, &worker).map_err(failed)? {
        return Ok(task);
    }
    let unfinished = team::unfinished(team, &context.me);
    let unfinished = unfinished.map_err(|error| ToolError::from_error(&error))?;
    Err(match unfinished.first() {
        Some(task) => ToolError::new(format!(
            "you have task {} in progress: complete it or give it back first",
            task.id
        )),
        None => ToolError::new("no task is ready for you: see task_list"),
    })
}

/// The changed task and, if it was completed, the tasks that this unblocked.
fn describe(context: &TeamContext, task: &Task) -> String {
    let mut shown = short(task);
    if task.status == TaskStatus::Completed
        && let Ok(view) = team::list(&context.team)
    {
        let unblocked = view.board.unblocked_by(task.id).into_iter();
        let unblocked: Vec<TaskId> = unblocked.map(|task| task.id).collect();
        if !unblocked.is_empty() {
            shown["unblocked"] = json!(unblocked);
        }
    }
    shown.to_string()
}
