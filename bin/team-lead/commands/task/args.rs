//! The arguments of the `task` commands.

use crate::wrong_value::WrongValue;
use protocol::{Priority, TaskId, TaskStatus};
use rules::parse_status;

/// Put a new task on the board.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task create 'Write the parser' --description 'See notes/grammar.md.'
  team-lead task create 'Release it' --blocked-by 1,2 --priority 9 --role tester")]
pub(super) struct Create {
    /// What to do, in one line.
    pub(super) subject: String,
    /// What to do, in full: the member that claims the task sees nothing else.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) description: String,
    /// 0 to 10; ready tasks with the highest priority are claimed first. The default is 5.
    #[arg(long, short, value_name = "N", value_parser = priority)]
    pub(super) priority: Option<Priority>,
    /// Tasks that must be completed first.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) blocked_by: Vec<TaskId>,
    /// Only teammates with this role may claim it.
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Option<String>,
}

/// List all tasks: `[ ]` pending, `[>]` in progress, `[x]` completed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task list
  team-lead task list --status pending
  team-lead task list --json | jq '.tasks[] | select(.ready)'

With --json: {\"tasks\": [...]}, each as in its file, with \"ready\": whether it can be claimed now.")]
pub(super) struct List {
    /// Only tasks with this status: pending, in_progress or completed.
    #[arg(long, short, value_parser = parse_status)]
    pub(super) status: Option<TaskStatus>,
}

/// Show one task in full, with its history.
#[derive(clap::Args)]
pub(super) struct Show {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
}

/// Change a task. Either all changes are made or none.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task update 3 --priority 9 --note 'The customer waits.'
  team-lead task update 3 --blocked-by 1,2
  team-lead task update 3 --unblock 1
  team-lead task update 3 --status completed --result 'Done by hand.'")]
pub(super) struct Update {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
    /// in_progress claims the task, completed finishes it, pending releases it.
    #[arg(long, short, value_parser = parse_status)]
    pub(super) status: Option<TaskStatus>,
    /// A new subject.
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    /// A new description.
    #[arg(long, short, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// A new priority from 0 to 10.
    #[arg(long, short, value_name = "N", value_parser = priority)]
    pub(super) priority: Option<Priority>,
    /// The role that may claim it; an empty text allows all.
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Option<String>,
    /// Tasks that it must wait for.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) blocked_by: Vec<TaskId>,
    /// Tasks that it no longer has to wait for.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) unblock: Vec<TaskId>,
    /// A note for its history.
    #[arg(long, value_name = "TEXT")]
    pub(super) note: Option<String>,
    /// The result, with --status completed.
    #[arg(long, value_name = "TEXT")]
    pub(super) result: Option<String>,
}

/// Claim a task for yourself, or for a member.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task claim 3
  team-lead task claim --as alice     the next task for alice")]
pub(super) struct Claim {
    /// The number of the task; by default the next ready one.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: Option<TaskId>,
    /// Act as this member.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
    /// Claim it although another task is in progress.
    #[arg(long, requires = "id")]
    pub(super) another: bool,
}

/// Return a task in progress to the board, whoever owns it.
#[derive(clap::Args)]
#[command(after_help = "Example: team-lead task release 3 --why 'bob knows more about it'")]
pub(super) struct Release {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
    /// The reason, for its history.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) why: String,
    /// Act as this member.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
}

/// Complete a task, which is final. Tasks that waited only for it become ready.
#[derive(clap::Args)]
#[command(after_help = "Example: team-lead task complete 3 --result 'See src/parser.rs.'")]
pub(super) struct Complete {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
    /// The result.
    #[arg(long, value_name = "TEXT")]
    pub(super) result: Option<String>,
    /// Act as this member.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
}

/// Delete a task. Its number is not used again.
#[derive(clap::Args)]
pub(super) struct Delete {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
}

/// Draw the dependencies between tasks.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task graph
  team-lead task graph --format dot | dot -Tsvg > tasks.svg
  team-lead task graph --format mermaid

The text has one section per step: all tasks of a step can be done at the same time, once the steps
before it are done. With --json: {\"nodes\": [...], \"edges\": [{\"from\", \"to\"}, ...]}.")]
pub(super) struct Graph {
    /// The output format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    Text,
    /// For Graphviz.
    Dot,
    /// For Mermaid, which many web pages draw.
    Mermaid,
}

fn number(text: &str) -> Result<TaskId, WrongValue> {
    let digits = text.trim().trim_start_matches('#');
    let wrong = |_| WrongValue("expected the number of a task, such as 3");
    digits.parse().map(TaskId).map_err(wrong)
}

fn priority(text: &str) -> Result<Priority, WrongValue> {
    let value = text.parse().ok().and_then(Priority::new);
    value.ok_or(WrongValue("expected a priority from 0 to 10"))
}
