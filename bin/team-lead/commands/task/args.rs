//! What can be typed after `task`.

use protocol::{Priority, TaskId, TaskStatus};
use rules::parse_status;

/// Put a new task on the board.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task create 'Write the parser' --description 'See notes/grammar.md.'
  team-lead task create 'Release it' --blocked-by 1,2 --priority 9 --role tester")]
pub(super) struct Create {
    /// What is to be done, in a line.
    pub(super) subject: String,
    /// What is to be done, in full: whoever takes the task sees nothing else.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) description: String,
    /// 0 to 10; the highest ready task is taken first. 5 if left out.
    #[arg(long, short, value_name = "N", value_parser = priority)]
    pub(super) priority: Option<Priority>,
    /// Tasks that must be completed first.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) blocked_by: Vec<TaskId>,
    /// Only teammates of this role may claim it.
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
    /// Only those of this status: pending, in_progress or completed.
    #[arg(long, short, value_parser = status)]
    pub(super) status: Option<TaskStatus>,
}

/// Show one task in full, with its history: who did what when.
#[derive(clap::Args)]
pub(super) struct Show {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
}

/// Change a task. Everything that is asked for happens at once, or nothing.
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
    /// in_progress claims it, completed finishes it, pending gives it back.
    #[arg(long, short, value_parser = status)]
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
    /// A new role of those who may claim it; an empty text lets anybody.
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Option<String>,
    /// Tasks that it shall wait for.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) blocked_by: Vec<TaskId>,
    /// Tasks that it shall no longer wait for.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = number)]
    pub(super) unblock: Vec<TaskId>,
    /// Words for its history, which stay when the task changes hands.
    #[arg(long, value_name = "TEXT")]
    pub(super) note: Option<String>,
    /// What came of it, with --status completed.
    #[arg(long, value_name = "TEXT")]
    pub(super) result: Option<String>,
}

/// Take a task, for yourself or for a member whose part you play.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task claim 3
  team-lead task claim --as alice     the one she should do next")]
pub(super) struct Claim {
    /// The number of the task; without it, the one to be done next.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: Option<TaskId>,
    /// Act as this member, in the life it is in.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
    /// Take it although another task is in progress.
    #[arg(long, requires = "id")]
    pub(super) another: bool,
}

/// Give a task in progress back to the board, whoever has it.
#[derive(clap::Args)]
#[command(after_help = "Example: team-lead task release 3 --why 'bob knows more about it'")]
pub(super) struct Release {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
    /// Why, for its history.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) why: String,
    /// Act as this member, in the life it is in.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
}

/// Complete a task, which is final. What waited for it alone is ready at once.
#[derive(clap::Args)]
#[command(after_help = "Example: team-lead task complete 3 --result 'See src/parser.rs.'")]
pub(super) struct Complete {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
    /// What came of it.
    #[arg(long, value_name = "TEXT")]
    pub(super) result: Option<String>,
    /// Act as this member, in the life it is in.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) member: Option<String>,
}

/// Take a task off the board. Its number is not given out again.
#[derive(clap::Args)]
pub(super) struct Delete {
    /// The number of the task.
    #[arg(value_name = "N", value_parser = number)]
    pub(super) id: TaskId,
}

/// Draw what waits for what.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead task graph
  team-lead task graph --format dot | dot -Tsvg > tasks.svg
  team-lead task graph --format mermaid

The text has one part a step: everything in a step can be done at the same time, once the steps
before it are done. With --json: {\"nodes\": [...], \"edges\": [{\"from\", \"to\"}, ...]}.")]
pub(super) struct Graph {
    /// How to draw it.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

/// A language for pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Lines of text.
    Text,
    /// For Graphviz.
    Dot,
    /// For Mermaid, which many web pages draw.
    Mermaid,
}

fn number(text: &str) -> Result<TaskId, String> {
    let digits = text.trim().trim_start_matches('#');
    let wrong = |_| "use the number of a task, such as 3".to_owned();
    digits.parse().map(TaskId).map_err(wrong)
}

fn priority(text: &str) -> Result<Priority, String> {
    let value = text.parse().ok().and_then(Priority::new);
    value.ok_or_else(|| "a priority is 0 to 10".to_owned())
}

fn status(text: &str) -> Result<TaskStatus, String> {
    parse_status(text).map_err(|error| error.to_string())
}
