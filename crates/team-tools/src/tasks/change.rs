//! Creating, changing and claiming tasks.

use super::{args, failed, ids, unless_queued};
use crate::TeamContext;
use crate::submit::SubmittedWork;
use protocol::{Task, TaskId, TaskStatus};
use rules::{ClaimLimit, Edit, NewTask, parse_status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use team::{BoardError, Update};
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
    #[serde(default)]
    tasks: Vec<TaskArgs>,
    // One task may stand by itself. Models are offered the list alone, which is enough.
    #[schemars(skip)]
    subject: Option<String>,
    #[schemars(skip)]
    description: Option<String>,
    #[schemars(skip)]
    priority: Option<u8>,
    #[schemars(skip)]
    role: Option<String>,
    #[serde(
        default,
        rename = "blockedBy",
        alias = "blocked_by",
        deserialize_with = "args::numbers"
    )]
    #[schemars(skip)]
    blocked_by: Vec<u64>,
}

// A task as a model writes it. A sentence of documentation would be sent to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct TaskArgs {
    subject: String,
    description: Option<String>,
    priority: Option<u8>,
    role: Option<String>,
    #[serde(
        default,
        rename = "blockedBy",
        alias = "blocked_by",
        deserialize_with = "args::numbers"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    blocked_by: Vec<u64>,
}

impl TaskArgs {
    fn into_new(self) -> Result<NewTask, ToolError> {
        Ok(NewTask {
            subject: self.subject,
            description: self.description.unwrap_or_default(),
            priority: args::priority(self.priority)?.unwrap_or_default(),
            role: self.role,
            blocked_by: ids(&self.blocked_by),
        })
    }
}

impl TaskCreateArgs {
    /// The tasks, and whether they came as a list.
    fn into_tasks(self) -> Result<(Vec<NewTask>, bool), ToolError> {
        let is_list = self.subject.is_none();
        if is_list == self.tasks.is_empty() {
            return Err(ToolError::new("give a list of tasks, each with a subject"));
        }
        let single = self.subject.map(|subject| TaskArgs {
            subject,
            description: self.description,
            priority: self.priority,
            role: self.role,
            blocked_by: self.blocked_by,
        });
        let all = self.tasks.into_iter().chain(single);
        let all: Result<Vec<NewTask>, ToolError> = all.map(TaskArgs::into_new).collect();
        Ok((all?, is_list))
    }
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
    #[schemars(extend("enum" = ["pending", "in_progress", "completed"]))]
    status: Option<String>,
    // What is changed seldom is not offered, and understood all the same.
    #[schemars(skip)]
    subject: Option<String>,
    #[schemars(skip)]
    description: Option<String>,
    #[schemars(skip)]
    priority: Option<u8>,
    #[schemars(skip)]
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
    #[schemars(skip)]
    remove_blocked_by: Vec<u64>,
    result: Option<String>,
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
    #[serde(default, deserialize_with = "args::optional_number")]
    #[schemars(with = "Option<u64>")]
    task_id: Option<u64>,
    // Although it has one in progress.
    #[schemars(skip)]
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
    const DESCRIPTION: &'static str = "Put tasks on the board, with all one has to know.";
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = TaskCreateArgs;

    async fn call(
        &self,
        args: TaskCreateArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let (tasks, is_list) = args.into_tasks()?;
        let created = self.context.blocking(move |context| {
            let mut created: Vec<TaskId> = Vec::new();
            let mut queued = None;
            for new in &tasks {
                match team::create(&context.team, &context.me, new) {
                    Ok(task) => created.push(task.id),
                    Err(error @ BoardError::Queued { .. }) => queued = Some(error.to_string()),
                    Err(error) if created.is_empty() => return Err(failed(error)),
                    // What is there stays there, and the model must not create it again.
                    Err(error) => {
                        let last = created.last().map_or(0, |id| id.0);
                        return Err(ToolError::new(format!(
                            "{error}; the {} tasks before it were created, up to #{last}",
                            created.len()
                        )));
                    }
                }
            }
            Ok((created, queued))
        });
        let (created, queued) = created.await?;
        if let Some(queued) = queued {
            let shown = json!({"ids": created, "others": queued});
            return Ok(ToolOutput::ok(shown.to_string()));
        }
        let shown = match created.as_slice() {
            [id] if !is_list => json!({"id": id}),
            ids => json!({"ids": ids}),
        };
        Ok(ToolOutput::ok(shown.to_string()))
    }
}

impl Tool for TaskUpdate {
    const NAME: &'static str = "task_update";
    const DESCRIPTION: &'static str = "Change a task.";
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
            unless_queued(updated, |task| describe(context, &task))
        });
        Ok(ToolOutput::ok(updated.await?))
    }
}

impl Tool for ClaimTask {
    const NAME: &'static str = "claim_task";
    const DESCRIPTION: &'static str = "Claim a task, or the most urgent ready one.";
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
        unless_queued(team::update(&context.team, &worker, id, &rest), |_| {
            String::new()
        })?;
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

/// What the model does not know of the task that it changed: its status, what it waits for, and, if it was
/// completed, the tasks that this unblocked. `task_get` shows the whole.
fn describe(context: &TeamContext, task: &Task) -> String {
    let list = |ids: &[TaskId]| {
        let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
        ids.join(", ")
    };
    let mut shown = task.status.as_str().to_owned();
    if !task.blocked_by.is_empty() {
        shown.push_str(&format!("; blocked by {}", list(&task.blocked_by)));
    }
    if task.status == TaskStatus::Completed
        && let Ok(view) = team::list(&context.team)
    {
        let unblocked = view.board.unblocked_by(task.id).into_iter();
        let unblocked: Vec<TaskId> = unblocked.map(|task| task.id).collect();
        if !unblocked.is_empty() {
            shown.push_str(&format!("; unblocked {}", list(&unblocked)));
        }
    }
    shown
}
