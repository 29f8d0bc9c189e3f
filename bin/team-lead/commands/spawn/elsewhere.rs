//! `spawn --host`: another host is asked to start the member.

use super::Spawn;
use crate::cli::{Args, open};
use crate::failure::{Failure, Kind};
use crate::interrupt;
use processes::HostLink;
use protocol::{
    AgentName, EventKind, Extra, HostId, HostSpawn, Roster, SpawnAsk, SpawnOptions, SpawnOutcome,
    SpawnRefusal,
};
use rules::{MAX_OPEN_SPAWNS, SpawnRefused, check_new_name, spawn_spec};
use serde_json::json;
use std::thread::sleep;
use std::time::{Duration, Instant};
use teamdir::{TeamDir, TeamFileError, new_request_id, now};
use terminal_text::one_line;

/// How long the outcome is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked for, and how often a person is told that it is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const SAY_EVERY: Duration = Duration::from_secs(5);

/// Why nothing was asked.
enum NotAsked {
    File(TeamFileError),
    Refused(SpawnRefused),
}

impl From<TeamFileError> for NotAsked {
    fn from(error: TeamFileError) -> Self {
        Self::File(error)
    }
}

/// Whether `host` is another one than this.
pub(super) fn is_elsewhere(args: &Args, host: &HostId) -> Result<bool, Failure> {
    let team = open(args)?;
    Ok(team.roster()?.host.as_ref() != Some(host))
}

/// Asks `host`, and waits for the outcome for a while.
pub(super) fn run(args: &Args, command: &Spawn, host: &HostId) -> Result<(), Failure> {
    let team = open(args)?;
    let asked = ask(&team, command.asked_options()?, host)?;
    interrupt::exit_on_ctrl_c()?;
    let (id, name) = (&asked.ask.id, &asked.ask.member.name);
    let (began, mut said) = (Instant::now(), Instant::now());
    loop {
        let known = team.sent_spawn(id)?;
        if let Some(outcome) = known.and_then(|known| known.outcome) {
            return end(args, &asked, &outcome);
        }
        let link = link(&team, host)?;
        if link.is_some() || began.elapsed() >= PATIENCE {
            let why = link.unwrap_or_else(|| "which has not answered yet".to_owned());
            return args.confirm(
                &json!({"name": name, "role": asked.ask.member.role, "host": host, "spawned": "queued", "ask": id}),
                &format!(
                    "Queued: the host '{host}' is asked to start '{name}' (ask {id}), {why}; \
                     `team-lead status` shows what becomes of it"
                ),
            );
        }
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            let seconds = began.elapsed().as_secs();
            args.note(&format!(
                "waiting for '{host}' to start '{name}' ({seconds} s)"
            ));
        }
        sleep(LOOK_EVERY);
    }
}

/// Puts the ask where the bridge finds it.
fn ask(team: &TeamDir, member: SpawnOptions, host: &HostId) -> Result<HostSpawn, Failure> {
    let spawn = HostSpawn {
        host: host.clone(),
        ask: SpawnAsk {
            id: new_request_id(),
            member,
        },
        at: now(),
        told: false,
        outcome: None,
        ended_at: None,
        extra: Extra::new(),
    };
    let roster = team.roster()?;
    let put = team.put_sent_spawn(&spawn, |asked| {
        check(&roster, &spawn, asked).map_err(NotAsked::Refused)
    });
    match put {
        Ok(()) => {}
        Err(NotAsked::File(error)) => return Err(error.into()),
        Err(NotAsked::Refused(refused)) => return Err(refusal(host, &spawn, &refused)),
    }
    // The event only tells people.
    let _ = team.log_event(EventKind::HostSpawn {
        request_id: spawn.ask.id.clone(),
        host: host.clone(),
        name: spawn.ask.member.name.clone(),
        action: "asked".to_owned(),
        reason: None,
    });
    Ok(spawn)
}

/// Refuses here what the other host would refuse, and what only this host knows.
fn check(roster: &Roster, spawn: &HostSpawn, asked: &[HostSpawn]) -> Result<(), SpawnRefused> {
    if let Some(home) = &roster.lead_host {
        let text = format!("only the host of the lead asks others, which is '{home}'");
        return Err(SpawnRefused::new(SpawnRefusal::NotTheLead, text));
    }
    let spec = spawn_spec(&spawn.ask.member)?;
    if let Some(known) = roster.member(&spec.name) {
        let host = known.host.as_ref();
        let place = host.map_or_else(
            || "this host".to_owned(),
            |host| format!("the host '{host}'"),
        );
        let text = format!("'{}' is a member on {place} already", known.spec.name);
        return Err(SpawnRefused::new(SpawnRefusal::NameTaken, text));
    }
    let names = roster.members.iter().map(|member| &member.spec.name);
    check_new_name(&spec.name, names)
        .map_err(|error| SpawnRefused::new(SpawnRefusal::Name, error.to_string()))?;
    let mut open = asked.iter().filter(|asked| asked.outcome.is_none());
    let of_host = open.clone().filter(|asked| asked.host == spawn.host);
    if of_host.count() >= MAX_OPEN_SPAWNS {
        let text = format!(
            "{MAX_OPEN_SPAWNS} asks of the host '{}' are open already",
            spawn.host
        );
        return Err(SpawnRefused::new(SpawnRefusal::TooMany, text));
    }
    let is_same = |asked: &&HostSpawn| {
        let name = AgentName::new(&asked.ask.member.name);
        name.is_ok_and(|name| name.same_as(&spec.name))
    };
    if let Some(same) = open.find(is_same) {
        let (id, host) = (&same.ask.id, &same.host);
        let text = format!("the host '{host}' is asked to start one of that name (ask {id})");
        return Err(SpawnRefused::new(SpawnRefusal::NameTaken, text));
    }
    Ok(())
}

/// Why the host does not get the ask now, if it does not.
fn link(team: &TeamDir, host: &HostId) -> Result<Option<String>, Failure> {
    let peers = team.peers()?;
    let is_known = peers.contains(host);
    Ok(match processes::host_link(team, host) {
        HostLink::NoBridge => Some("and no bridge runs here".to_owned()),
        _ if !is_known => {
            let known: Vec<&str> = peers.iter().map(HostId::as_str).collect();
            let known = match known.is_empty() {
                true => "there is none yet".to_owned(),
                false => format!("known are: {}", known.join(", ")),
            };
            Some(format!(
                "but no host of that name has been met ({known}; `team-lead bridge --forget {host}` withdraws the ask)"
            ))
        }
        HostLink::Linked => None,
        HostLink::Unreachable { problem, .. } => {
            let problem = problem.map(|problem| format!(" ({})", one_line(&problem)));
            Some(format!(
                "which cannot be reached{}",
                problem.unwrap_or_default()
            ))
        }
    })
}

fn end(args: &Args, asked: &HostSpawn, outcome: &SpawnOutcome) -> Result<(), Failure> {
    let HostSpawn { host, ask, .. } = asked;
    let (name, role) = (&ask.member.name, &ask.member.role);
    match outcome {
        SpawnOutcome::Started { incarnation } => args.confirm(
            &json!({
                "name": name, "role": role, "host": host, "spawned": "started", "ask": ask.id,
                "incarnation": incarnation, "prompt_sent": ask.member.prompt.is_some(),
            }),
            &format!("Spawned '{name}' (role: {role}) on the host '{host}'"),
        ),
        SpawnOutcome::Refused { why, text } => {
            let (why, text) = (why.clone(), text.clone());
            Err(refusal(host, asked, &SpawnRefused { why, text }))
        }
        SpawnOutcome::Failed { text } => {
            let message = format!("'{name}' was not started on the host '{host}': {text}");
            Err(Failure::failed(message))
        }
    }
}

fn refusal(host: &HostId, asked: &HostSpawn, refused: &SpawnRefused) -> Failure {
    let SpawnRefused { why, text } = refused;
    let name = one_line(&asked.ask.member.name);
    let why = one_line(why.as_str());
    let message = format!("'{name}' was not started on the host '{host}' ({why}): {text}");
    let hint = match &refused.why {
        SpawnRefusal::NotAccepted => "team-lead bridge --help",
        SpawnRefusal::UnknownField | SpawnRefusal::TooLong | SpawnRefusal::Rule => {
            "team-lead spawn --help"
        }
        _ => "team-lead status",
    };
    Failure::new(Kind::Refused, message).hint(hint)
}
