//! `shutdown`: asks members to end, and optionally waits until they have.

mod outcome;

use crate::cli::Args;
use crate::elsewhere::require_here;
use crate::failure::{Failure, Kind};
use crate::{duration, interrupt, names};
use outcome::{End, Ending, verdict};
use processes::{FollowError, MemberView};
use protocol::{AgentName, Recipient, Request};
use rules::ShutdownLimits;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use team::{Actor, ShutdownOptions};
use teamdir::TeamDir;
use terminal_text::one_line;

/// Ask members to end: each finishes its work, saves and exits, or refuses with a reason.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead shutdown alice
  team-lead shutdown alice bob --wait
  team-lead shutdown --all --force --timeout 20

A member at home on another host is asked through the bridge, from the host that the lead is at home on; --all and
--force are for members of this host.

Without --wait this returns once the requests are sent; `team-lead requests` shows the answers.
With --wait: exit code 0 when all have ended, 1 when one refused or still runs, 4 when one did not
answer in time. Ctrl-C stops waiting; the requests remain.

With --json: one {\"request_id\", \"to\", \"status\"} per line for each member; with --wait it is
printed when the member's shutdown is over, with \"outcome\" and \"gone\". A member that is not running
has the \"request_id\" null and the \"status\" not_running.")]
pub(crate) struct Shutdown {
    /// The members to ask.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// Ask all members.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Wait until each member has ended, has refused, or has let its time pass.
    #[arg(long)]
    wait: bool,
    /// How long each member has to answer, in seconds or as in 5m.
    #[arg(long, value_name = "S", default_value = "60", value_parser = duration::parse)]
    timeout: Duration,
    /// End members that still run then: SIGTERM, and 5 s later SIGKILL. Implies --wait.
    #[arg(long)]
    force: bool,
    /// The reason, which the members see.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
}

impl Shutdown {
    /// All members, and none of them runs on.
    pub(crate) fn of_all(timeout: Duration) -> Self {
        Self {
            names: Vec::new(),
            all: true,
            wait: true,
            timeout,
            force: true,
            reason: String::new(),
        }
    }
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Shutdown) -> Result<(), Failure> {
    // All names are resolved first, so that a typo in the last one sends no request.
    let names = selected(team, args, command)?;
    processes::repair(team);
    let waits = command.wait || command.force;
    let pressed = if waits {
        Some(interrupt::flag_on_ctrl_c()?)
    } else {
        None
    };
    let mut requests = Vec::new();
    let mut failed = None;
    for name in names {
        match ask(team, command, &name) {
            Ok(Asked::Sent(request)) => {
                report_sent(args, &name, &request, waits)?;
                requests.push((name, request));
            }
            Ok(Asked::NotRunning(view)) => report_not_running(args, &view)?,
            // The other members are asked nevertheless.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let endings = match &pressed {
        Some(pressed) => follow_all(team, args, &requests, pressed)?,
        None => Vec::new(),
    };
    match failed {
        Some(failure) => Err(failure),
        None => verdict(endings),
    }
}

/// The selected members, each once. Those at home on another host are asked there.
fn selected(team: &TeamDir, args: &Args, command: &Shutdown) -> Result<Vec<AgentName>, Failure> {
    let roster = team.roster()?;
    if command.all {
        let elsewhere = roster.members.iter().filter(|m| m.host.is_some());
        let elsewhere: Vec<&str> = elsewhere.map(|m| m.spec.name.as_str()).collect();
        if !elsewhere.is_empty() {
            let names = elsewhere.join(", ");
            args.note(&format!(
                "not asked, because they are at home on other hosts: {names}"
            ));
        }
        let here = roster.members.iter().filter(|m| m.host.is_none());
        return Ok(here.map(|m| m.spec.name.clone()).collect());
    }
    let mut names = Vec::new();
    for typed in &command.names {
        let name = names::member(&roster, typed)?;
        let owner = Recipient::Member(name.clone());
        if command.force || roster.lead_host.is_some() {
            // Only its own host can end its process, and only the lead's host gets the answer.
            let force = if command.force { " --force" } else { "" };
            require_here(team, &owner, &format!("team-lead shutdown {name}{force}"))?;
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

enum Asked {
    Sent(Box<Request>),
    NotRunning(Box<MemberView>),
}

/// Asks the incarnation of a member that runs now.
fn ask(team: &TeamDir, command: &Shutdown, name: &AgentName) -> Result<Asked, Failure> {
    let view = processes::member_view(team, name)?;
    if !view.state.is_alive() {
        return Ok(Asked::NotRunning(Box::new(view)));
    }
    let incarnation = view.holder.as_ref().map(|holder| holder.incarnation);
    let wish = ShutdownOptions {
        to: name.clone(),
        reason: command.reason.clone(),
        timeout: command.timeout,
        force: command.force,
        lead_leaves: false,
    };
    let incarnation = incarnation.unwrap_or(view.member.incarnation);
    let request = team::ask_shutdown(team, &Actor::user(), &wish, incarnation)?;
    Ok(Asked::Sent(Box::new(request)))
}

fn report_sent(
    args: &Args,
    name: &AgentName,
    request: &Request,
    waits: bool,
) -> Result<(), Failure> {
    // With --wait and --json one object is printed, at the end.
    if waits && args.json {
        return Ok(());
    }
    let (id, status) = (&request.id, request.status());
    let sent = args.confirm(
        &json!({"request_id": id, "to": name, "status": status}),
        &format!(
            "Shutdown request {id} sent to '{name}' (status: {})",
            status.as_str()
        ),
    );
    ignore_closed_output(sent)
}

fn report_not_running(args: &Args, view: &MemberView) -> Result<(), Failure> {
    let name = &view.member.spec.name;
    let text = match view.state {
        rules::MemberState::Shutdown => format!("'{name}' is already shut down"),
        _ => format!("'{name}' is not running: it is {}", view.state),
    };
    let object = json!({
        "request_id": null,
        "to": name,
        "status": "not_running",
        "state": view.state.word(),
    });
    ignore_closed_output(args.confirm(&object, &text))
}

/// Ignores a closed output: the members are shut down nevertheless.
fn ignore_closed_output(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(failure) if failure.kind() == Kind::OutputClosed => Ok(()),
        result => result,
    }
}

/// Follows all shutdowns concurrently, and reports each one when it is over.
fn follow_all(
    team: &TeamDir,
    args: &Args,
    requests: &[(AgentName, Box<Request>)],
    pressed: &AtomicBool,
) -> Result<Vec<Ending>, Failure> {
    let stop = || pressed.load(Ordering::Relaxed);
    let endings = std::thread::scope(|scope| {
        let threads = requests
            .iter()
            .map(|(name, request)| scope.spawn(move || follow(team, args, name, request, &stop)));
        let threads: Vec<_> = threads.collect();
        let endings = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(Failure::failed(
                "following a shutdown failed; this is a bug",
            )),
        });
        endings.collect::<Result<Vec<Ending>, Failure>>()
    })?;
    if stop() {
        let message = "interrupted while waiting; the requests remain";
        return Err(Failure::new(Kind::Interrupted, message).hint("team-lead requests"));
    }
    Ok(endings)
}

fn follow(
    team: &TeamDir,
    args: &Args,
    name: &AgentName,
    request: &Request,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Ending, Failure> {
    let limits = ShutdownLimits::default();
    let end = match processes::follow_shutdown(team, request.clone(), limits, &stop) {
        Ok(outcome) => End::Over(outcome),
        Err(FollowError::Stopped) => End::Interrupted,
        Err(error) => return Err(error.into()),
    };
    let ending = Ending {
        name: name.clone(),
        end,
    };
    report_ending(team, args, request, &ending)?;
    Ok(ending)
}

fn report_ending(
    team: &TeamDir,
    args: &Args,
    request: &Request,
    ending: &Ending,
) -> Result<(), Failure> {
    let End::Over(outcome) = &ending.end else {
        return Ok(());
    };
    let name = &ending.name;
    let stored = team.request(&request.id);
    let status = stored.map_or(request.status(), |request| request.status());
    let object = json!({
        "request_id": request.id,
        "to": name,
        "status": status,
        "outcome": outcome::name(outcome),
        "gone": outcome.is_gone(),
    });
    let text = format!("'{name}' {outcome}");
    let text = one_line(&text);
    ignore_closed_output(args.confirm(&object, &text))
}
