//! `bridge`: links the team with the one of the same name on other hosts.

mod address;
mod service;
mod start_asked;
mod trees;

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::print;
use address::Address;
use bridge::nats::{self, NatsError, Settings};
use bridge::ssh::{Ssh, SshAddress, call};
use bridge::{Core, OpenError, RunError, Side, run_pipe};
use protocol::{HostId, HostSpawn, RequestId, SpawnOutcome, SpawnRefusal};
use serde_json::json;
use service::service;
use std::path::PathBuf;
use std::time::Duration;
use teamdir::{BridgeGuard, Liveness, LockError, RosterError, TeamDir};
use tokio::runtime::Runtime;

/// How long is waited after what may pass by itself.
const PAUSE: Duration = Duration::from_secs(10);

/// Link the team with the one of the same name on other hosts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead bridge ssh://gpu1/home/anna/project
  team-lead bridge ssh://gpu1/~/project --name laptop
  team-lead bridge ssh://gpu1/~/project --service > ~/.config/systemd/user/team-bridge.service
  team-lead bridge nats://broker.example.org:4222 --lead laptop
  team-lead bridge tls://broker.example.org:4222 --credentials gpu1.creds --lead laptop
  team-lead bridge --forget gpu1

It runs until Ctrl-C, and connects again when the connection ends. Members are at home where they were
spawned. The lead is at home on the host that calls with ssh, or on the one that --lead names to the
others. Mail for a member of another host waits while that host cannot be reached. Each host needs
team-lead and a team (`team-lead init`). Without an address the variable TEAM_NATS_URL has that of a broker,
as nats://USER:PASSWORD@HOST:PORT. docs/several-machines.md says what is promised.")]
pub(crate) struct Bridge {
    /// The other host and the workspace there, or a NATS broker (nats://HOST:PORT).
    // Not parsed here, because a wrong value would be shown, with the password that it may have.
    #[arg(value_name = "ssh://HOST/PATH")]
    address: Option<String>,
    /// What other hosts call this one; from the first time on it stays.
    #[arg(long, value_name = "HOST")]
    name: Option<HostId>,
    /// The command that calls the other host, with its arguments between spaces.
    #[arg(long, value_name = "COMMAND", env = "TEAM_SSH", default_value = "ssh")]
    ssh: String,
    /// The program on the other host.
    #[arg(long, value_name = "PROGRAM", default_value = "team-lead")]
    remote_program: String,
    /// The host that the lead is at home on, if it is not this one.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["forget", "stdio"])]
    lead: Option<HostId>,
    /// How many seconds another host may be silent until the claims of its members end; where the lead is.
    #[arg(long, value_name = "SECONDS", default_value_t = bridge::LEASE.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400), conflicts_with_all = ["forget", "stdio"])]
    lease: u64,
    /// A file with the credentials of a user of the broker.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["forget", "stdio"])]
    credentials: Option<PathBuf>,
    /// The certificates that the broker's is checked with, instead of those of the system.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["forget", "stdio"])]
    root_certificates: Option<PathBuf>,
    /// Print a unit of systemd that runs this bridge, instead of running it.
    #[arg(long, conflicts_with_all = ["forget", "stdio"])]
    service: bool,
    /// Move what is kept of a host into the trash, mail that waits for it included, to begin anew with it.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["address", "stdio"])]
    forget: Option<HostId>,
    /// Let people of every linked host answer what is asked here, not only those of the host of the lead.
    #[arg(long, conflicts_with = "forget")]
    accept_answers: bool,
    /// Let the host of the lead have members started here (`team-lead spawn NAME ROLE --host HOST`). With ssh:// it is
    /// for the host that is called.
    #[arg(long, conflicts_with = "forget")]
    accept_spawns: bool,
    /// Start the member of this ask of another host.
    #[arg(long, value_name = "ID", hide = true, conflicts_with_all = ["address", "forget", "stdio", "service"])]
    start_asked: Option<RequestId>,
    /// Be the other end: frames come from standard input and go to standard output.
    #[arg(long, conflicts_with = "address")]
    stdio: bool,
    /// What this host is called if it has no name yet.
    #[arg(long, value_name = "HOST", hide = true)]
    default_name: Option<HostId>,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Bridge) -> Result<(), Failure> {
    if let Some(host) = &command.forget {
        return forget(team, args, host);
    }
    if let Some(id) = &command.start_asked {
        return start_asked::run(team, args, id);
    }
    let address = match command.stdio {
        true => None,
        false => Some(Address::of(command)?),
    };
    if let (true, Some(address)) = (command.service, &address) {
        return print(&service(team, command, address)?);
    }
    let default = default_name(command)?;
    let core = Core::open(team, command.name.as_ref(), &default);
    let mut core = core.map_err(|error| not_opened(team, error))?;
    core.set_lease(Duration::from_secs(command.lease));
    if command.accept_answers {
        core.accept_answers();
    }
    if command.accept_spawns {
        core.accept_spawns(start_asked::starter(team));
    }
    let _trees = trees::start(team);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(error.to_string()))?;
    let ended = match &address {
        Some(Address::Ssh(address)) => {
            args.note(&format!("this host is {}; calling {address}", core.me()));
            run_ssh(&runtime, &mut core, command, address)
        }
        Some(Address::Nats { settings, .. }) => {
            check_lead(team, settings.lead.as_ref())?;
            let (me, broker) = (core.me(), &settings.address);
            args.note(&format!("this host is {me}; connecting to {broker}"));
            run_nats(&runtime, &mut core, settings, args)
        }
        None => run_stdio(&runtime, &mut core),
    };
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    ended
}

fn not_opened(team: &TeamDir, error: OpenError) -> Failure {
    match error {
        OpenError::Lock(error) => held(team, error),
        error @ (OpenError::SameName(_) | OpenError::Renamed { .. }) => {
            Failure::new(Kind::Refused, error.to_string()).hint("team-lead bridge --help")
        }
        error @ (OpenError::Roster(_)
        | OpenError::Outbox(_)
        | OpenError::File(_)
        | OpenError::Told(_)) => Failure::failed(error.to_string()),
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

fn run_ssh(
    runtime: &Runtime,
    core: &mut Core,
    command: &Bridge,
    address: &SshAddress,
) -> Result<(), Failure> {
    let ssh = Ssh {
        command: command.ssh.split_whitespace().map(str::to_owned).collect(),
        program: command.remote_program.clone(),
        accept_spawns: command.accept_spawns,
    };
    let error = runtime.block_on(call(core, &ssh, address));
    Err(failure(error.is_refusal(), &error))
}

/// Where the lead is at home is chosen once: mail for it may be on its way there.
fn check_lead(team: &TeamDir, wanted: Option<&HostId>) -> Result<(), Failure> {
    let known = team.roster()?.lead_host.clone();
    match (known, wanted) {
        (Some(known), Some(wanted)) if known != *wanted => {
            let message = format!(
                "the lead of this team is at home on the host '{known}', not on '{wanted}'; to begin anew with \
                 '{known}', forget it first"
            );
            let next = format!("team-lead bridge --forget {known}");
            Err(Failure::new(Kind::Refused, message).hint(next))
        }
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

/// Ctrl-C ends the process at any step, as any signal may. It ends by itself only if a person has to do something:
/// a disk that is full, for one, has room again some day.
fn run_nats(
    runtime: &Runtime,
    core: &mut Core,
    settings: &Settings,
    args: &Args,
) -> Result<(), Failure> {
    loop {
        let ended = runtime.block_on(nats::run(core, settings, std::future::pending()));
        match ended {
            Err(error) if !error.is_refusal() => {
                args.note(&format!("{error}; the next try is in {PAUSE:?}"));
                std::thread::sleep(PAUSE);
            }
            ended => return ended.map_err(|error: NatsError| failure(true, &error)),
        }
    }
}

/// A connection that ends is the usual end of this side.
fn run_stdio(runtime: &Runtime, core: &mut Core) -> Result<(), Failure> {
    let error: RunError = runtime.block_on(async {
        let pipe = (tokio::io::stdin(), tokio::io::stdout());
        run_pipe(core, Side::Called, None, pipe).await
    });
    if error.is_refusal() {
        return Err(failure(true, &error));
    }
    Ok(())
}

fn failure(is_refusal: bool, error: &dyn std::error::Error) -> Failure {
    let kind = if is_refusal {
        Kind::Refused
    } else {
        Kind::Failed
    };
    Failure::new(kind, error.to_string()).hint("team-lead status")
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

/// Nobody will tell any more what became of members that the host was asked to start.
fn forget_asks(team: &TeamDir, guard: &BridgeGuard, host: &HostId) -> Result<(), Failure> {
    for spawn in team.sent_spawns()? {
        if spawn.host == *host && spawn.outcome.is_none() {
            let why = SpawnRefusal::Forgotten;
            let text = "the host was forgotten before it had answered".to_owned();
            let ended = HostSpawn {
                told: true,
                outcome: Some(SpawnOutcome::Refused { why, text }),
                ended_at: Some(teamdir::now()),
                ..spawn
            };
            team.update_sent_spawn(guard, &ended)?;
        }
    }
    Ok(())
}

fn forget(team: &TeamDir, args: &Args, host: &HostId) -> Result<(), Failure> {
    let guard = team.lock_bridge().map_err(|error| held(team, error))?;
    forget_asks(team, &guard, host)?;
    let kept = team.forget_peer(&guard, host)?;
    if team.roster()?.lead_host.as_ref() == Some(host) {
        team.forget_board_copy(&guard)?;
    }
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
