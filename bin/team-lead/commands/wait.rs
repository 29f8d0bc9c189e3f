//! `wait`: blocks until the team is quiet or all tasks are completed.

use crate::cli::Args;
use crate::commands::task::missing_role;
use crate::failure::{Failure, Kind};
use crate::output::print_json;
use crate::{duration, interrupt};
use processes::{BrokenMember, Progress, Quiet, TaskCount, stuck_text};
use protocol::AgentName;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use team::MissingRole;
use teamdir::TeamDir;

/// The polling interval. The state of a team is spread over many files, so polling is simpler than
/// watching all of them.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Block until the team is quiet, or until all tasks are completed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead wait
  team-lead wait --tasks --timeout 30m && make release

The team is quiet when every running member is idle, has failed or waits for the approval of its
plan, all mail of these members is read, and no task is left that one of them could claim. Tasks for a
role that nobody has are named on standard error.

Exit codes: 0 the condition holds; 4 the time has passed first; 5 the team is quiet, but a member
failed or is dead. With --json: {\"idle\": true, \"failed\", \"waiting\"} with lists of names, or
{\"tasks\", \"completed\"} with the number of each; with exit code 4 only the error.")]
pub(crate) struct Wait {
    /// Wait until the team is quiet; this is the default.
    #[arg(long, conflicts_with = "tasks")]
    idle: bool,
    /// Wait until every task on the board is completed.
    #[arg(long)]
    tasks: bool,
    /// Maximum time to wait, in seconds or as in 5m. Without it there is no limit.
    #[arg(long, value_name = "S", value_parser = duration::parse)]
    timeout: Option<Duration>,
}

/// The result of one check of the team, for people and programs.
enum Checked {
    /// The condition holds.
    Reached { object: Value, text: String },
    /// No member works any more, and at least one has failed.
    Stuck { object: Value, failure: Failure },
    /// The condition does not hold yet, for this reason.
    NotYet(String),
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Wait) -> Result<(), Failure> {
    interrupt::exit_on_ctrl_c()?;
    let started = Instant::now();
    let mut reported = String::new();
    let mut noted = Vec::new();
    loop {
        processes::repair(team);
        note_missing_roles(team, args, &mut noted)?;
        let checked = if command.tasks {
            check_tasks(team)?
        } else {
            check_team(team)?
        };
        let why = match checked {
            Checked::Reached { object, text } => return args.confirm(&object, &text),
            Checked::Stuck { object, failure } => {
                if args.json {
                    print_json(&object)?;
                }
                return Err(failure);
            }
            Checked::NotYet(why) => why,
        };
        let left = command
            .timeout
            .map(|limit| limit.saturating_sub(started.elapsed()));
        if left == Some(Duration::ZERO) {
            return Err(timed_out(command, &why));
        }
        if reported != why {
            args.detail(&format!("waiting: {why}"));
            reported = why;
        }
        std::thread::sleep(left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL)));
    }
}

/// Says once which tasks nobody will ever claim.
fn note_missing_roles(
    team: &TeamDir,
    args: &Args,
    noted: &mut Vec<MissingRole>,
) -> Result<(), Failure> {
    let board = team::list(team)?.board;
    let missing = team::missing_roles(team, &board)?;
    for role in missing.iter().filter(|role| !noted.contains(role)) {
        args.note(&missing_role(role));
    }
    *noted = missing;
    Ok(())
}

fn timed_out(command: &Wait, why: &str) -> Failure {
    let limit = command.timeout.unwrap_or_default().as_secs_f64();
    let (what, hint) = if command.tasks {
        ("tasks are left", "team-lead task list")
    } else {
        ("the team is not quiet", "team-lead status")
    };
    let message = format!("{what} after {limit} s: {why}");
    Failure::new(Kind::TimedOut, message).hint(hint)
}

fn check_team(team: &TeamDir) -> Result<Checked, Failure> {
    let object = |quiet: &Quiet, broken: &[BrokenMember]| {
        let failed: Vec<&AgentName> = broken.iter().map(|broken| &broken.name).collect();
        json!({"idle": true, "failed": failed, "waiting": quiet.waiting_plan})
    };
    Ok(match processes::quiet(team)? {
        Progress::NotYet(why) => Checked::NotYet(why),
        Progress::Stuck {
            reached,
            what,
            broken,
        } => Checked::Stuck {
            object: object(&reached, &broken),
            failure: stuck(&what, &broken),
        },
        Progress::Reached(quiet) => {
            let mut text = "The team is quiet.".to_owned();
            for name in &quiet.waiting_plan {
                text.push_str(&format!(
                    "\n{name} waits for its plan to be approved: team-lead approve {name}"
                ));
            }
            let object = object(&quiet, &[]);
            Checked::Reached { object, text }
        }
    })
}

fn check_tasks(team: &TeamDir) -> Result<Checked, Failure> {
    let object = |count: TaskCount| json!({"tasks": count.all, "completed": count.completed});
    Ok(match processes::all_tasks_completed(team)? {
        Progress::NotYet(why) => Checked::NotYet(why),
        Progress::Stuck {
            reached,
            what,
            broken,
        } => Checked::Stuck {
            object: object(reached),
            failure: stuck(&what, &broken),
        },
        Progress::Reached(count) => Checked::Reached {
            object: object(count),
            text: format!("All {} tasks are completed.", count.all),
        },
    })
}

fn stuck(what: &str, broken: &[BrokenMember]) -> Failure {
    let failure = Failure::new(Kind::TeamFailed, stuck_text(what, broken));
    match broken {
        [one] => failure.hint(format!("team-lead logs {}", one.name)),
        _ => failure.hint("team-lead status"),
    }
}
