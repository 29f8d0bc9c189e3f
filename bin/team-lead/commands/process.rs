//! `kill` and `restart`: commands for the process of a member.

use crate::cli::{Args, open};
use crate::elsewhere::require_here;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::trusted_workspace::{TrustArgs, UncheckedWorkspace};
use processes::{KillError, Programs, RestartError, Spawned};
use protocol::Recipient;
use serde_json::json;
use teamdir::TeamDir;

/// Kill the process of a member with SIGKILL. To end it gracefully, use `shutdown`.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead kill alice

The member is then dead, the lead is notified, and its task returns to the board. Its conversation and
its inbox stay: `team-lead restart alice` continues with them. A running lead restarts members that
were started with --restart on-failure.

With --json: {\"name\", \"pid\", \"incarnation\", \"swept\"}; `swept` counts the remaining processes of
its shell commands, which are killed too.")]
pub(crate) struct Kill {
    /// The member to kill.
    name: String,
}

/// Start a member again in a new process; a running one is ended first.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead restart alice

The running process gets SIGTERM, and SIGKILL after 5 s. The new one continues where the old one
stopped: same conversation, unread mail and task. The count of the restart policy is reset.

With --json: {\"name\", \"pid\", \"incarnation\"}.")]
pub(crate) struct Restart {
    /// The member to restart.
    name: String,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(crate) fn kill(team: &TeamDir, args: &Args, command: &Kill) -> Result<(), Failure> {
    let name = names::member(&*team.roster()?, &command.name)?;
    let owner = Recipient::Member(name.clone());
    require_here(team, &owner, &format!("team-lead kill {name}"))?;
    let killed = processes::kill(team, &name)?;
    let (name, pid) = (&killed.name, killed.pid);
    args.confirm(
        &json!({
            "name": name, "pid": pid, "incarnation": killed.incarnation, "swept": killed.swept,
        }),
        &format!("Killed '{name}' (process {pid})"),
    )
}

pub(crate) fn restart(args: &Args, command: &Restart) -> Result<(), Failure> {
    // Only a team that exists has members to restart.
    let team = open(args)?;
    let name = names::member(&*team.roster()?, &command.name)?;
    let owner = Recipient::Member(name.clone());
    require_here(&team, &owner, &format!("team-lead restart {name}"))?;
    let programs = Programs::find()?;
    let trusted = UncheckedWorkspace::find(args)?.into_trusted(args, &command.trust)?;
    let (team, programs) = (&trusted.team, trusted.with_clearance(programs));
    let (pid, incarnation) = match processes::restart(team, &name, &programs)? {
        Spawned::Started {
            pid, incarnation, ..
        } => (Some(pid), Some(incarnation)),
        Spawned::Woken { .. } => (None, None),
    };
    args.confirm(
        &json!({"name": name, "pid": pid, "incarnation": incarnation}),
        &match pid {
            Some(pid) => format!("Restarted '{name}' (process {pid})"),
            None => format!("Restarted '{name}'"),
        },
    )
}

impl From<KillError> for Failure {
    fn from(error: KillError) -> Self {
        let message = error.to_string();
        match error {
            KillError::View(error) => error.into(),
            KillError::Elsewhere { .. } => Self::new(Kind::Refused, message),
            KillError::NotRunning { name } => {
                Self::new(Kind::Refused, format!("'{name}' is not running"))
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
