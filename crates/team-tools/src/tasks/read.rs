//! Reads the board.

use super::{args, failed, pretty};
use crate::TeamContext;
use protocol::{TaskId, TaskStatus};
use rules::{board, parse_status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use team::BoardView;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Shows the board.
#[derive(Debug, Clone)]
pub struct TaskList {
    context: TeamContext,
}

/// The arguments of [`TaskList`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskListArgs {
    // The list is short enough to be read whole, so this is not offered.
    #[schemars(skip)]
    status: Option<String>,
}

/// Shows one task.
#[derive(Debug, Clone)]
pub struct TaskGet {
    context: TeamContext,
}

/// The arguments of [`TaskGet`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskGetArgs {
    #[serde(deserialize_with = "args::number")]
    #[schemars(with = "u64")]
    task_id: u64,
}

impl TaskList {
    pub const fn new(context: TeamContext) -> Self {
        Self { context }
    }
}

impl TaskGet {
    pub const fn new(context: TeamContext) -> Self {
        Self { context }
    }
}

impl Tool for TaskList {
    const NAME: &'static str = "task_list";
    const DESCRIPTION: &'static str = "List the tasks.";
    const EFFECT: Effect = Effect::Read;
    const KEEPS_RESULTS: bool = true;
    type Args = TaskListArgs;

    async fn call(
        &self,
        args: TaskListArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let status = args.status.as_deref().map(parse_status).transpose();
        let status = status.map_err(|error| ToolError::from_error(&error))?;
        let listed = self.context.blocking(move |context| {
            let view = team::list(&context.team);
            let view = view.map_err(|error| ToolError::from_error(&error))?;
            let lines = lines(&view, status);
            Ok(match team::is_home_reachable(&context.team) {
                true => lines,
                false => {
                    let copy = team::describe_copy(&context.team).unwrap_or_default();
                    format!("({copy})\n{lines}")
                }
            })
        });
        Ok(ToolOutput::ok(listed.await?))
    }
}

impl Tool for TaskGet {
    const NAME: &'static str = "task_get";
    const DESCRIPTION: &'static str = "Show a task in full.";
    const EFFECT: Effect = Effect::Read;
    const KEEPS_RESULTS: bool = true;
    type Args = TaskGetArgs;

    async fn call(
        &self,
        args: TaskGetArgs,
        _context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = TaskId(args.task_id);
        let task = self
            .context
            .blocking(move |context| team::get(&context.team, id).map_err(failed));
        Ok(ToolOutput::ok(pretty(&json!(task.await?))))
    }
}

fn lines(view: &BoardView, status: Option<TaskStatus>) -> String {
    let wanted = |status_of| status.is_none_or(|status| status == status_of);
    let tasks = view.board.tasks().filter(|task| wanted(task.status));
    let lines = tasks.map(|task| board::line(task, &view.board.open_blockers(task)));
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push("No tasks.".to_owned());
    }
    lines.extend(view.broken.iter().map(|error| format!("[?] {error}")));
    lines.join("\n")
}
