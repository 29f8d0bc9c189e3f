//! `kill` and `restart`: the process itself.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use processes::{Cause, KillError, Programs, RestartError, Spawned};
use serde_json::json;
use teamdir::TeamDir;

/// Kill a member's process with SIGKILL. `shutdown` is the kind way.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead kill alice

The member is dead then, the lead is told, and its task goes back to the board. What it has in its
conversation and its inbox stays: bring it back with `team-lead restart alice`. A lead brings back
by itself whom it was told to (spawn --restart on-failure).

With --json: {\"name\", \"pid\", \"incarnation\", \"swept\"}; `swept` counts the processes of its
commands that were left and were killed too.")]
pub(crate) struct Kill {
    /// Whose process.
    name: String,
}

/// Bring a member back in a new process; a living one is ended first.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead restart alice

The living process gets SIGTERM, and SIGKILL after 5 s. The new one goes on where the old one
stopped: same conversation, unread mail and task. What the restart policy counted is forgotten.

With --json: {\"name\", \"pid\", \"incarnation\"}.")]
pub(crate) struct Restart {
    /// Whom.
    name: String,
}

pub(crate) fn kill(team: &TeamDir, args: &Args, wish: &Kill) -> Result<(), Failure> {
    let name = names::member(&*team.roster()?, &wish.name)?;
    let killed = processes::kill(team, &name)?;
    let (name, pid) = (&killed.name, killed.pid);
    args.confirm(
        &json!({
            "name": name, "pid": pid, "incarnation": killed.incarnation, "swept": killed.swept,
        }),
        &format!("Killed '{name}' (process {pid})"),
    )
}

pub(crate) fn restart(team: &TeamDir, args: &Args, wish: &Restart) -> Result<(), Failure> {
    let name = names::member(&*team.roster()?, &wish.name)?;
    let programs = Programs::find()?;
    let (pid, incarnation) = match processes::restart(team, &name, &programs, Cause::Person)? {
        Spawned::Started {
            pid, incarnation, ..
        } => (Some(pid), Some(incarnation)),
        Spawned::Woken { .. } => (None, None),
    };
    let incarnation = incarnation.map(|incarnation| format!(" (life {incarnation})"));
    args.confirm(
        &json!({"name": name, "pid": pid, "incarnation": incarnation}),
        &format!("Restarted '{name}'{}", incarnation.unwrap_or_default()),
    )
}

impl From<KillError> for Failure {
    fn from(error: KillError) -> Self {
        let message = error.to_string();
        match error {
            KillError::View(error) => error.into(),
            KillError::NotRunning { name } => {
                Self::new(Kind::Refused, format!("'{name}' does not run"))
                    .hint(format!("team-lead restart {name}"))
            }
            KillError::Unkillable { .. } => Self::new(Kind::StillRunning, message),
            KillError::ProcessHandle(_) | KillError::Reap { .. } => Self::failed(message),
        }
    }
}

impl From<RestartError> for Failure {
    fn from(error: RestartError) -> Self {
        let message = error.to_string();
        match error {
            RestartError::View(error) => error.into(),
            RestartError::Start(error) => error.into(),
            RestartError::NotDead { .. } => Self::new(Kind::Refused, message),
            RestartError::Unkillable { .. } => Self::new(Kind::StillRunning, message),
            RestartError::ProcessHandle(_) | RestartError::Tasks(_) | RestartError::File(_) => {
                Self::failed(message)
            }
        }
    }
}
