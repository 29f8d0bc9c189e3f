//! The tool with which a member of an own tree submits its work.

use crate::TeamContext;
use protocol::{CommitId, SubmissionId, TaskId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Puts the committed work of this agent into the team's queue.
pub trait Submitter: std::fmt::Debug + Send + Sync {
    /// `completes` is the result of the task, if the task is completed when the work is merged.
    fn submit(
        &self,
        task: Option<TaskId>,
        completes: Option<String>,
    ) -> Result<SubmittedWork, ToolError>;
}

/// What came of submitting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmittedWork {
    /// Everything that is committed is in the team's branch; a remark about the rest.
    Nothing(String),
    Queued {
        id: SubmissionId,
        commit: CommitId,
        /// Whether it was in the queue before.
        was_there: bool,
        /// What is not committed, and therefore not submitted.
        uncommitted: Vec<String>,
    },
}

impl SubmittedWork {
    /// The outcome for a model. `task` is the one that is completed when the work is merged.
    pub(crate) fn text(&self, task: Option<TaskId>) -> String {
        match self {
            Self::Nothing(more) => {
                format!("Everything that you have committed is in team/main already{more}.")
            }
            Self::Queued {
                id,
                commit,
                was_there,
                uncommitted,
            } => {
                let done = match was_there {
                    true => "is in the queue already, as submission",
                    false => "was submitted, as submission",
                };
                let next = match task {
                    Some(task) => format!(
                        "Task #{task} is completed when it is merged into team/main; otherwise you get mail, \
                         and the task stays yours."
                    ),
                    None => "You get mail if it cannot be merged into team/main.".to_owned(),
                };
                let rest = match uncommitted.is_empty() {
                    true => String::new(),
                    false => format!(
                        "\nNot committed, and not submitted: {}",
                        uncommitted.join(", ")
                    ),
                };
                format!("Commit {} {done} {id}. {next}{rest}", commit.short())
            }
        }
    }
}

/// Submits the agent's committed work.
#[derive(Clone, Debug)]
pub struct Submit {
    context: TeamContext,
    submitter: Arc<dyn Submitter>,
}

impl Submit {
    pub const fn new(context: TeamContext, submitter: Arc<dyn Submitter>) -> Self {
        Self { context, submitter }
    }
}

/// The arguments of [`Submit`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitArgs {
    #[serde(default, deserialize_with = "crate::tasks::args::optional_number")]
    #[schemars(with = "Option<u64>")]
    task_id: Option<u64>,
}

impl Tool for Submit {
    const NAME: &'static str = "submit";
    const DESCRIPTION: &'static str = "Submit what you have committed to be merged into team/main. What \
         conflicts or fails the check comes back as mail. Completing a task submits by itself.";
    const EFFECT: Effect = Effect::State;
    type Args = SubmitArgs;

    async fn call(&self, args: SubmitArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let submitter = Arc::clone(&self.submitter);
        let task = args.task_id.map(TaskId);
        let submitted = self
            .context
            .blocking(move |_| submitter.submit(task, None))
            .await?;
        Ok(ToolOutput::ok(submitted.text(None)))
    }
}
