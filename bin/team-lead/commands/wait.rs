//! `wait`: blocking until there is nothing left to wait for.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::out::print;
use crate::{interrupt, span};
use processes::Quiet;
use protocol::{AgentName, TaskStatus};
use rules::MemberState;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use teamdir::TeamDir;

/// How often the team is looked at. What it does shows in many files, so that looking is simpler
/// than being told, and as quick as anybody at a terminal can see.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Block until the team is quiet, or until all tasks are completed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead wait
  team-lead wait --tasks --timeout 30m && make release

The team is quiet when every member that runs is idle, has failed or waits for its plan to be
approved, all of their mail is read, and no task is left that one of them could take.

Exit codes: 0 so it is; 4 it is not so when the time has passed; 5 the team is quiet, but a member
failed or is dead. With --json: {\"idle\": true, \"failed\", \"waiting\"} with lists of names, or
{\"tasks\", \"completed\"} with the number of each; with exit code 4 only the error.")]
pub(crate) struct Wait {
    /// Until the team is quiet; this is the default.
    #[arg(long, conflicts_with = "tasks")]
    idle: bool,
    /// Until every task on the board is completed.
    #[arg(long)]
    tasks: bool,
    /// How long at most, in seconds or as in 5m. Without it there is no limit.
    #[arg(long, value_name = "S", value_parser = span::span)]
    timeout: Option<Duration>,
}

/// What a look at the team has shown.
enum Look {
    /// It is as was waited for.
    So { object: Value, words: String },
    /// Nothing happens any more, and somebody failed.
    Stuck { object: Value, failure: Failure },
    /// It is not yet, and why.
    NotYet(String),
}

pub(crate) fn run(team: &TeamDir, args: &Args, wish: &Wait) -> Result<(), Failure> {
    interrupt::at_once()?;
    let started = Instant::now();
    let mut told = String::new();
    loop {
        processes::repair(team);
        let look = if wish.tasks {
            look_at_tasks(team)?
        } else {
            look_at_team(team)?
        };
        let why = match look {
            Look::So { object, words } => return args.confirm(&object, &words),
            Look::Stuck { object, failure } => {
                if args.json {
                    print(&object.to_string())?;
                }
                return Err(failure);
            }
            Look::NotYet(why) => why,
        };
        let left = wish
            .timeout
            .map(|limit| limit.saturating_sub(started.elapsed()));
        if left == Some(Duration::ZERO) {
            return Err(timed_out(wish, &why));
        }
        if told != why {
            args.detail(&format!("waiting: {why}"));
            told = why;
        }
        std::thread::sleep(left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL)));
    }
}

fn timed_out(wish: &Wait, why: &str) -> Failure {
    let limit = wish.timeout.unwrap_or_default().as_secs_f64();
    let (what, hint) = if wish.tasks {
        ("tasks are left", "team-lead task list")
    } else {
        ("the team is not quiet", "team-lead status")
    };
    let message = format!("{what} after {limit} s: {why}");
    Failure::new(Kind::TimedOut, message).hint(hint)
}

fn look_at_team(team: &TeamDir) -> Result<Look, Failure> {
    let waiting = match processes::quiet(team)? {
        Quiet::No { why } => return Ok(Look::NotYet(why)),
        Quiet::Yes { waiting_plan, .. } => waiting_plan,
    };
    let broken = broken(team)?;
    let failed: Vec<&AgentName> = broken.iter().map(|broken| &broken.name).collect();
    let object = json!({"idle": true, "failed": failed, "waiting": waiting});
    if !broken.is_empty() {
        let failure = stuck("the team is quiet", &broken);
        return Ok(Look::Stuck { object, failure });
    }
    let mut words = "The team is quiet.".to_owned();
    for name in &waiting {
        words.push_str(&format!(
            "\n{name} waits for its plan to be approved: team-lead approve {name}"
        ));
    }
    Ok(Look::So { object, words })
}

fn look_at_tasks(team: &TeamDir) -> Result<Look, Failure> {
    let look = team::list(team)?;
    if let Some(error) = look.broken.first() {
        // It may be a task that nobody can complete.
        return Ok(Look::NotYet(error.to_string()));
    }
    let tasks = look.board.tasks();
    let open = tasks.filter(|task| task.status != TaskStatus::Completed);
    let open: Vec<String> = open.map(|task| format!("#{}", task.id)).collect();
    let count = look.board.tasks().count();
    let object = json!({"tasks": count, "completed": count - open.len()});
    if open.is_empty() {
        let words = format!("All {count} tasks are completed.");
        return Ok(Look::So { object, words });
    }
    let open = format!("not completed: {}", open.join(", "));
    // Nobody works, and somebody who might have done it cannot: that does not mend itself.
    if let Quiet::Yes { .. } = processes::quiet(team)? {
        let broken = broken(team)?;
        if !broken.is_empty() {
            let failure = stuck(&open, &broken);
            return Ok(Look::Stuck { object, failure });
        }
    }
    Ok(Look::NotYet(open))
}

/// A member that failed or died, and what it says of it.
struct Broken {
    name: AgentName,
    words: String,
}

fn broken(team: &TeamDir) -> Result<Vec<Broken>, Failure> {
    let views = processes::views(team)?.into_iter();
    let broken = views.filter_map(|view| {
        let name = view.member.name;
        let words = match view.state {
            MemberState::Failed { reason, .. } if reason.is_empty() => format!("{name} failed"),
            MemberState::Failed { reason, .. } => format!("{name} failed: {reason}"),
            MemberState::Dead { incarnation } => {
                format!("{name} died in incarnation {incarnation}")
            }
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Waiting { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Shutdown => return None,
        };
        Some(Broken { name, words })
    });
    Ok(broken.collect())
}

fn stuck(what: &str, broken: &[Broken]) -> Failure {
    let words: Vec<&str> = broken.iter().map(|broken| broken.words.as_str()).collect();
    let message = format!("{what}, but {}", words.join("; "));
    let failure = Failure::new(Kind::TeamFailed, message);
    match broken {
        [one] => failure.hint(format!("team-lead logs {}", one.name)),
        _ => failure.hint("team-lead status"),
    }
}
