//! `bridge`: links the team with the one of the same name on another host.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::print;
use bridge::ssh::{Ssh, SshAddress, call};
use bridge::{Core, OpenError, RunError, Side, run_pipe};
use protocol::HostId;
use serde_json::json;
use teamdir::{Liveness, LockError, RosterError, TeamDir};

/// Link the team with the one of the same name on another host.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead bridge ssh://gpu1/home/anna/project
  team-lead bridge ssh://gpu1/~/project --name laptop
  team-lead bridge ssh://gpu1/~/project --service > ~/.config/systemd/user/team-bridge.service
  team-lead bridge --forget gpu1

It runs until Ctrl-C, and calls the host again when the connection ends. The lead is at home on the host
that calls; members are at home where they were spawned. Mail for a member of the other host waits while
that host cannot be reached. Both hosts need team-lead and a team (`team-lead init`). docs/several-machines.md
says what is promised.")]
pub(crate) struct Bridge {
    /// The other host, and the workspace there.
    #[arg(value_name = "ssh://HOST/PATH", required_unless_present_any = ["stdio", "forget"])]
    address: Option<SshAddress>,
    /// What other hosts call this one; from the first time on it stays.
    #[arg(long, value_name = "NAME")]
    name: Option<HostId>,
    /// The command that calls the other host, with its arguments between spaces.
    #[arg(long, value_name = "COMMAND", env = "TEAM_SSH", default_value = "ssh")]
    ssh: String,
    /// The program on the other host.
    #[arg(long, value_name = "PROGRAM", default_value = "team-lead")]
    remote_program: String,
    /// Print a unit of systemd that runs this bridge, instead of running it.
    #[arg(long, requires = "address")]
    service: bool,
    /// Move what is kept of a host into the trash, mail that waits for it included, to begin anew with it.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["address", "stdio"])]
    forget: Option<HostId>,
    /// Be the other end: frames come from standard input and go to standard output.
    #[arg(long, conflicts_with = "address")]
    stdio: bool,
    /// What this host is called if it has no name yet.
    #[arg(long, value_name = "NAME", hide = true)]
    default_name: Option<HostId>,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Bridge) -> Result<(), Failure> {
    if let Some(host) = &command.forget {
        return forget(team, args, host);
    }
    if command.service {
        return print(&service(team, command)?);
    }
    let default = default_name(command)?;
    let core = Core::open(team, command.name.as_ref(), &default);
    let mut core = core.map_err(|error| not_opened(team, error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(error.to_string()))?;
    let error = match &command.address {
        Some(address) => {
            args.note(&format!("this host is {}; calling {address}", core.me()));
            let ssh = Ssh {
                command: command.ssh.split_whitespace().map(str::to_owned).collect(),
                program: command.remote_program.clone(),
            };
            runtime.block_on(call(&mut core, &ssh, address))
        }
        None => runtime.block_on(async {
            let pipe = (tokio::io::stdin(), tokio::io::stdout());
            run_pipe(&mut core, Side::Called, None, pipe).await
        }),
    };
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    ended(command, &error)
}

fn not_opened(team: &TeamDir, error: OpenError) -> Failure {
    match error {
        OpenError::Lock(error) => held(team, error),
        error @ (OpenError::SameName(_) | OpenError::Renamed { .. }) => {
            Failure::new(Kind::Refused, error.to_string()).hint("team-lead bridge --help")
        }
        error @ (OpenError::Roster(_) | OpenError::Outbox(_) | OpenError::File(_)) => {
            Failure::failed(error.to_string())
        }
    }
}

/// There is one bridge for each host and team. Says which process it is.
fn held(team: &TeamDir, error: LockError) -> Failure {
    match (error, team.bridge_liveness()) {
        (LockError::Busy { .. }, Ok(Liveness::Alive(Some(holder)))) => {
            let (pid, host) = (holder.pid, terminal_text::clean(&holder.host).into_owned());
            let message = format!("another bridge runs for this team: process {pid} on {host}");
            Failure::new(Kind::Held, message).hint(format!("kill {pid}"))
        }
        (error @ LockError::Busy { .. }, Ok(_) | Err(_)) => {
            let message = format!("another bridge runs for this team: {error}");
            Failure::new(Kind::Held, message).hint("lslocks")
        }
        (error @ LockError::File(_), Ok(_) | Err(_)) => Failure::from(error),
    }
}

fn ended(command: &Bridge, error: &RunError) -> Result<(), Failure> {
    if command.stdio && !error.is_refusal() {
        return Ok(());
    }
    let kind = if error.is_refusal() {
        Kind::Refused
    } else {
        Kind::Failed
    };
    Err(Failure::new(kind, error.to_string()).hint("team-lead status"))
}

/// The name of the machine, as far as it can be a name of a host.
fn default_name(command: &Bridge) -> Result<HostId, Failure> {
    if let Some(name) = &command.default_name {
        return Ok(name.clone());
    }
    let machine = nix::unistd::gethostname().unwrap_or_default();
    let machine = machine.to_string_lossy();
    let name = machine.split('.').next().unwrap_or_default();
    HostId::new(name).map_err(|_| {
        let message =
            format!("the name of this machine, {machine:?}, cannot be the name of a host");
        Failure::new(Kind::Usage, message).hint("team-lead bridge --name NAME ssh://HOST/PATH")
    })
}

fn forget(team: &TeamDir, args: &Args, host: &HostId) -> Result<(), Failure> {
    let guard = team.lock_bridge().map_err(|error| held(team, error))?;
    let kept = team.forget_peer(&guard, host)?;
    team.update_roster(|roster| {
        roster
            .members
            .retain(|member| member.host.as_ref() != Some(host));
        roster.lead_host.take_if(|lead| lead == host);
        Ok::<_, RosterError>(())
    })?;
    let place = kept.map(|kept| kept.display().to_string());
    let text = match &place {
        Some(place) => format!("Forgot the host {host}; what was kept of it is in {place}"),
        None => format!("Nothing is kept of a host {host}"),
    };
    args.confirm(&json!({"host": host, "kept": place}), &text)
}

/// A unit of systemd for this user.
fn service(team: &TeamDir, command: &Bridge) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::failed(error.to_string()))?;
    let mut words = vec![
        program.display().to_string(),
        "bridge".to_owned(),
        "--dir".to_owned(),
        team.workspace().display().to_string(),
    ];
    if let Some(name) = &command.name {
        words.extend(["--name".to_owned(), name.to_string()]);
    }
    for (option, value, usual) in [
        ("--ssh", &command.ssh, "ssh"),
        ("--remote-program", &command.remote_program, "team-lead"),
    ] {
        if value != usual {
            words.extend([option.to_owned(), value.clone()]);
        }
    }
    words.extend(command.address.as_ref().map(ToString::to_string));
    let words: Vec<String> = words.iter().map(|word| unit_word(word)).collect();
    Ok(format!(
        "[Unit]\nDescription=Bridge of a team to another host\nAfter=network-online.target\n\n\
         [Service]\nExecStart={}\nRestart=on-failure\nRestartSec=10\n\n\
         [Install]\nWantedBy=default.target",
        words.join(" ")
    ))
}

/// A word of a command in a unit: systemd reads quotes, backslashes, `%` and `$`.
fn unit_word(word: &str) -> String {
    let word = word.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", word.replace('%', "%%").replace('$', "$$"))
}
