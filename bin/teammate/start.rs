//! Runs the member from arguments and environment.

use crate::cli::{Args, Switch};
use anyhow::Context;
use member::{TrustCheck, WorkspaceSettings};
use protocol::Member;
use std::io::IsTerminal;
use teamdir::{Durability, Options, RosterError, TeamDir, now};
use teammate::StartOptions;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let team = open(args)?;
    let workspace = trusted_settings(&team, args)?;
    register(&team, args)?;
    let options = StartOptions {
        name: args.name.clone(),
        workspace,
        window: args.window,
        max_rounds: args.max_rounds,
        fresh: args.fresh,
        log: args.log.options(std::io::stdout().is_terminal()),
        team,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // A member waits for a handful of files and connections; room for a thousand is 12 KB of each process.
        .max_io_events_per_tick(64)
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
    if args.role.is_none() {
        return Ok(member::open_team(&dir, options)?);
    }
    let created = member::create_team(&dir, options)?;
    match created.not_recorded {
        Some(error) => Err(error).context("cannot record that the new team is yours"),
        None => Ok(created.team),
    }
}

/// What is set for the workspace, if the user has trusted what of it needs that.
fn trusted_settings(team: &TeamDir, args: &Args) -> anyhow::Result<WorkspaceSettings> {
    let mut settings = member::load_settings(team.workspace())?;
    let check = TrustCheck::of_member(team, &settings, &args.name)?;
    let mut clearance = check.require_trust()?;
    if let Some(model) = &args.model {
        clearance.allow_model(team, model)?;
    }
    settings.variables.trust_file();
    Ok(settings)
}

/// Adds the member to the roster, or changes its model.
fn register(team: &TeamDir, args: &Args) -> Result<(), RosterError> {
    if args.role.is_none() && args.model.is_none() {
        return Ok(());
    }
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
