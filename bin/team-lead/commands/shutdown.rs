//! `shutdown`: asking members to end, and seeing them end.

mod outcome;

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::out::plain;
use crate::{interrupt, names, span};
use outcome::{Course, Ending, verdict};
use processes::{FollowError, MemberView};
use protocol::{AgentName, Request};
use rules::ShutdownLimits;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use team::{Actor, ShutdownWish};
use teamdir::TeamDir;

/// Ask members to end: they finish what is in hand, save, and exit, or say why not.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead shutdown alice
  team-lead shutdown alice bob --wait
  team-lead shutdown --all --force --timeout 20

Without --wait this returns when the members are asked; see what came of it with
`team-lead requests`. With --wait: exit code 0 when all are gone, 1 when one refused or still
runs, 4 when one gave no answer in time. Ctrl-C ends the waiting; the requests stay.

With --json: one {\"request_id\", \"to\", \"status\"} a line for each member; with --wait it comes
when the member's shutdown is over and has \"outcome\" and \"gone\" too. A member that does not run
has the \"request_id\" null and the \"status\" not_running.")]
pub(crate) struct Shutdown {
    /// Whom to ask.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// Ask everybody.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Wait until each is gone, has refused, or has let its time pass.
    #[arg(long)]
    wait: bool,
    /// How long each has to answer, in seconds or as in 5m.
    #[arg(long, value_name = "S", default_value = "60", value_parser = span::span)]
    timeout: Duration,
    /// End those that are not gone by then: SIGTERM, and 5 s later SIGKILL. Waits.
    #[arg(long)]
    force: bool,
    /// Why, in words that the members see.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
}

pub(crate) fn run(team: &TeamDir, args: &Args, wish: &Shutdown) -> Result<(), Failure> {
    // Every name is looked up before anybody is asked: a typo in the last asks nobody.
    let names = whom(team, wish)?;
    processes::repair(team);
    let waits = wish.wait || wish.force;
    let pressed = if waits {
        Some(interrupt::once_gracefully()?)
    } else {
        None
    };
    let mut requests = Vec::new();
    let mut failed = None;
    for name in names {
        match ask(team, wish, &name) {
            Ok(Asked::Sent(request)) => {
                tell_sent(args, &name, &request, waits)?;
                requests.push((name, request));
            }
            Ok(Asked::NotRunning(view)) => tell_absent(args, &view)?,
            // The others are asked all the same: half a shutdown is not what anybody wants.
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

/// The members that are meant, each once.
fn whom(team: &TeamDir, wish: &Shutdown) -> Result<Vec<AgentName>, Failure> {
    let roster = team.roster()?;
    if wish.all {
        return Ok(roster.members.iter().map(|m| m.name.clone()).collect());
    }
    let mut names = Vec::new();
    for typed in &wish.names {
        let name = names::member(&roster, typed)?;
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

/// Asks the life of a member that runs now, and no other.
fn ask(team: &TeamDir, wish: &Shutdown, name: &AgentName) -> Result<Asked, Failure> {
    let view = processes::view(team, name)?;
    if !view.state.is_alive() {
        return Ok(Asked::NotRunning(Box::new(view)));
    }
    let incarnation = view.holder.as_ref().map(|holder| holder.incarnation);
    let wish = ShutdownWish {
        to: name.clone(),
        reason: wish.reason.clone(),
        timeout: wish.timeout,
        force: wish.force,
    };
    let incarnation = incarnation.unwrap_or(view.member.incarnation);
    let request = team::ask_shutdown(team, &Actor::user(), &wish, incarnation)?;
    Ok(Asked::Sent(Box::new(request)))
}

fn tell_sent(args: &Args, name: &AgentName, request: &Request, waits: bool) -> Result<(), Failure> {
    // Programs that wait get one object, at the end.
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
    unless_reader_is_gone(sent)
}

fn tell_absent(args: &Args, view: &MemberView) -> Result<(), Failure> {
    let name = &view.member.name;
    let words = match view.state {
        rules::MemberState::Shutdown => format!("'{name}' is already shut down"),
        _ => format!("'{name}' does not run: it is {}", view.state),
    };
    let object = json!({
        "request_id": null,
        "to": name,
        "status": "not_running",
        "state": view.state.word(),
    });
    unless_reader_is_gone(args.confirm(&object, &words))
}

/// Nobody reads along any more, and the members are to be ended all the same.
fn unless_reader_is_gone(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(failure) if failure.kind() == Kind::ReaderGone => Ok(()),
        result => result,
    }
}

/// Follows all shutdowns at the same time, and tells how each ended when it does.
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
        let message = "interrupted while waiting; the requests stay";
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
    let course = match processes::follow_shutdown(team, request.clone(), limits, &stop) {
        Ok(outcome) => Course::Over(outcome),
        Err(FollowError::Stopped) => Course::Interrupted,
        Err(error) => return Err(error.into()),
    };
    let ending = Ending {
        name: name.clone(),
        course,
    };
    tell_ending(team, args, request, &ending)?;
    Ok(ending)
}

fn tell_ending(
    team: &TeamDir,
    args: &Args,
    request: &Request,
    ending: &Ending,
) -> Result<(), Failure> {
    let Course::Over(outcome) = &ending.course else {
        return Ok(());
    };
    let name = &ending.name;
    let stored = team.request(&request.id);
    let status = stored.map_or(request.status(), |request| request.status());
    let object = json!({
        "request_id": request.id,
        "to": name,
        "status": status,
        "outcome": outcome::word(outcome),
        "gone": outcome.is_gone(),
    });
    let words = plain(&format!("'{name}' {outcome}"));
    unless_reader_is_gone(args.confirm(&object, &words))
}
