//! `task`: the board.

mod args;
mod change;
mod graph;
mod show;

use crate::cli::{Args, open, open_or_create};
use crate::failure::{Failure, Kind};
use crate::sandboxed_caller::Needs;
use protocol::TaskId;
use team::BoardError;

pub(crate) use show::missing_role;

/// The task board: create, list, show, change, claim and finish tasks.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  team-lead task create 'Write the parser' --priority 8
  team-lead task create 'Test the parser' --blocked-by 1 --role tester
  team-lead task list
  team-lead task complete 1 --result 'See src/parser.rs.'
  team-lead task graph --format dot | dot -Tsvg > tasks.svg

Idle teammates claim ready tasks by themselves: the highest priority first, then the lowest number.
With --json each of these prints the task as in its file; list prints {\"tasks\": [...]}."
)]
pub(crate) struct Task {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Create(args::Create),
    #[command(visible_alias = "ls")]
    List(args::List),
    #[command(visible_alias = "get")]
    Show(args::Show),
    Update(args::Update),
    Claim(args::Claim),
    Release(args::Release),
    #[command(visible_alias = "done")]
    Complete(args::Complete),
    Delete(args::Delete),
    Graph(args::Graph),
}

impl Task {
    pub(crate) const fn needs(&self) -> Needs {
        match self.verb {
            Verb::List(_) | Verb::Show(_) | Verb::Graph(_) => Needs::Nothing,
            Verb::Create(_) => Needs::Team(Some("task_create")),
            Verb::Claim(_) => Needs::Team(Some("claim_task")),
            Verb::Update(_) | Verb::Release(_) | Verb::Complete(_) | Verb::Delete(_) => {
                Needs::Team(Some("task_update"))
            }
        }
    }
}

pub(crate) fn run(args: &Args, task: &Task) -> Result<(), Failure> {
    // The first task may be created before any member.
    let creates = matches!(task.verb, Verb::Create(_));
    let team = &if creates {
        open_or_create(args)?
    } else {
        open(args)?
    };
    // Tasks of dead members return to the board first.
    processes::repair(team);
    match &task.verb {
        Verb::Create(create) => change::create(team, args, create),
        Verb::List(list) => show::list(team, args, list),
        Verb::Show(show) => show::show(team, args, show),
        Verb::Update(update) => change::update(team, args, update),
        Verb::Claim(claim) => change::claim(team, args, claim),
        Verb::Release(release) => change::release(team, args, release),
        Verb::Complete(complete) => change::complete(team, args, complete),
        Verb::Delete(delete) => change::delete(team, args, delete),
        Verb::Graph(graph) => graph::show(team, args, graph),
    }
}

/// Converts an error of the board, with a hint about the task `id`.
fn failure(error: &BoardError, id: Option<TaskId>) -> Failure {
    let message = error.to_string();
    match (error, id) {
        (BoardError::Unreachable { .. } | BoardError::Queued { .. }, _) => {
            Failure::new(Kind::Refused, message).hint("team-lead status")
        }
        (BoardError::NotFound(_), _) => {
            Failure::new(Kind::UnknownTask, message).hint("team-lead task list")
        }
        (error, Some(id)) if error.is_refusal() => {
            Failure::new(Kind::Refused, message).hint(format!("team-lead task show {id}"))
        }
        (error, None) if error.is_refusal() => {
            Failure::new(Kind::Refused, message).hint("team-lead task list")
        }
        (_, _) => Failure::failed(message),
    }
}
