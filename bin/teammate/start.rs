//! Runs the member from arguments and environment.

use crate::cli::{Args, Switch};
use agent::Limits;
use agent::Settings;
use anyhow::Context;
use protocol::Member;
use std::io::IsTerminal;
use teamdir::{Durability, Options, RosterError, TeamDir, now};
use teammate::StartOptions;
use tools::Policy;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let team = open(args)?;
    let variables = member::variables(team.workspace());
    let changes = variables.get("TEAM_POLICY").unwrap_or_default();
    let options = StartOptions {
        policy: Policy::with_changes(changes).context("TEAM_POLICY")?,
        config: config::load(team.workspace(), |name| variables.get(name))?,
        name: args.name.clone(),
        variables,
        settings: Settings {
            limits: Limits::for_window(args.window),
            max_rounds: args.max_rounds,
            ..Settings::default()
        },
        log: args.log.options(std::io::stdout().is_terminal()),
        team,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let ended = runtime.block_on(teammate::run(options));
    // Threads that still run must not delay the exit.
    runtime.shutdown_background();
    ended?;
    Ok(())
}

fn open(args: &Args) -> anyhow::Result<TeamDir> {
    let options = Options {
        durability: match args.fsync {
            Switch::On => Durability::PowerCut,
            Switch::Off => Durability::ProcessDeath,
        },
        ..Options::default()
    };
    let dir = std::path::absolute(&args.dir)?;
    let team = match &args.role {
        Some(_) => TeamDir::create(&dir, "default", options)?,
        None => TeamDir::open(&dir, options)?,
    };
    if args.role.is_some() || args.model.is_some() {
        register(&team, args)?;
    }
    Ok(team)
}

/// Adds the member to the roster, or changes its model.
fn register(team: &TeamDir, args: &Args) -> Result<(), RosterError> {
    team.update_roster(|roster| {
        if roster.member(&args.name).is_none()
            && let Some(role) = &args.role
        {
            let mut member = Member::new(args.name.clone(), role);
            member.joined_at = Some(now());
            roster.members.push(member);
        }
        if let Some(member) = roster.member_mut(&args.name)
            && args.model.is_some()
        {
            member.spec.model.clone_from(&args.model);
        }
        Ok(())
    })
}
