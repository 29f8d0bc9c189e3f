//! Starting the members that the host of the lead asks for: in a process of its own, which a bridge begins for each
//! ask and does not wait for.

use super::address::VARIABLE;
use crate::cli::Args;
use crate::failure::Failure;
use crate::trusted_workspace::{TrustArgs, UncheckedWorkspace};
use ::bridge::Starter;
use config::Config;
use permissions::Rule;
use processes::{AskedSpawn, Programs, SpawnError, spawn_asked};
use protocol::{HostSpawn, MemberSpec, RequestId, SpawnOutcome, SpawnRefusal};
use rules::{SpawnRefused, check_spawn, spawn_spec};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use teamdir::{LockError, TeamDir};

/// The hidden option with the id of an ask.
pub(super) const OPTION: &str = "--start-asked";

/// Begins the process for an ask, for a bridge that has nothing to do with it any more.
pub(super) fn starter(team: &TeamDir) -> Starter {
    let workspace = team.workspace().to_path_buf();
    Box::new(move |id| {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("bridge").arg("--dir").arg(&workspace);
        command.args([OPTION, id.as_str()]);
        // A member has no business with the broker.
        command.env_remove(VARIABLE);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        // Only so that it does not stay a zombie.
        std::thread::Builder::new().spawn(move || drop(child.wait()))?;
        Ok(())
    })
}

/// Starts the member of an ask, unless another process does, and records what came of it.
pub(super) fn run(team: &TeamDir, args: &Args, id: &RequestId) -> Result<(), Failure> {
    // Signals for the bridge and its terminal are not for this process.
    let _ = nix::unistd::setsid();
    let guard = match team.lock_taken_spawn(id) {
        Ok(guard) => guard,
        Err(LockError::Busy { .. }) => return Ok(()),
        Err(error @ LockError::File(_)) => return Err(error.into()),
    };
    let Some(spawn) = team.taken_spawn(id)? else {
        return Ok(());
    };
    if spawn.outcome.is_some() {
        return Ok(());
    }
    let outcome = carry_out(team, args, &spawn).unwrap_or_else(SpawnOutcome::from);
    Ok(team.end_taken_spawn(&guard, outcome)?)
}

fn carry_out(team: &TeamDir, args: &Args, spawn: &HostSpawn) -> Result<SpawnOutcome, SpawnRefused> {
    let roster = match team.roster() {
        Ok(roster) => roster,
        Err(error) => return Ok(failed(&error)),
    };
    // What was accepted may be older than what stands in the roster now.
    check_spawn(&roster, &spawn.host, (true, 0), &spawn.ask)?;
    let spec = spawn_spec(&spawn.ask.member)?;
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(error) => return Ok(failed(&error)),
    };
    let trusted = UncheckedWorkspace::find(args);
    let trusted = trusted.and_then(|found| found.into_trusted(args, &TrustArgs::default()));
    let trusted = trusted.map_err(|failure| {
        let place = team.workspace().display();
        let text = format!(
            "{failure}; run `team-lead trust` in {place} there",
            failure = failure.message()
        );
        SpawnRefused::new(SpawnRefusal::Untrusted, text)
    })?;
    check_settings(&trusted.settings.config, &spec)?;
    let programs = trusted.with_clearance(programs);
    match spawn_asked(team, &spawn.ask.id, &spec, &programs) {
        Ok(AskedSpawn::Started(incarnation)) => Ok(SpawnOutcome::Started { incarnation }),
        Ok(AskedSpawn::Taken) => {
            let text = format!("somebody has the name '{}' already", spec.name);
            Err(SpawnRefused::new(SpawnRefusal::NameTaken, text))
        }
        Err(error @ SpawnError::Full { .. }) => {
            Err(SpawnRefused::new(SpawnRefusal::Full, error.to_string()))
        }
        Err(error @ SpawnError::Name(_)) => {
            Err(SpawnRefused::new(SpawnRefusal::Name, error.to_string()))
        }
        Err(error) => Ok(failed(&error)),
    }
}

/// What is asked for is what this host has: one of its roles, if it has any, and a model that it names.
fn check_settings(config: &Config, spec: &MemberSpec) -> Result<(), SpawnRefused> {
    let files: Vec<_> = config.files().map(|(_, file)| file).collect();
    let roles: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| file.roles.keys().map(String::as_str))
        .collect();
    if !roles.is_empty() && !roles.contains(spec.role.as_str()) {
        let known: Vec<&str> = roles.into_iter().collect();
        let text = format!(
            "this host has no role '{}'; it has: {}",
            spec.role,
            known.join(", ")
        );
        return Err(SpawnRefused::new(SpawnRefusal::Role, text));
    }
    let default = config.model().value;
    let of_roles = files.iter().flat_map(|file| file.roles.values());
    let mut models = of_roles
        .filter_map(|role| role.model.as_ref())
        .chain(&default);
    if let Some(model) = &spec.model
        && !models.any(|known| known == model)
    {
        let text = format!("no setting of this host names the model '{model}'");
        return Err(SpawnRefused::new(SpawnRefusal::Model, text));
    }
    let rules = spec.permissions.iter();
    for rule in rules.flat_map(|rules| rules.deny.iter().chain(&rules.ask)) {
        if let Err(error) = Rule::parse(rule) {
            return Err(SpawnRefused::new(SpawnRefusal::Rule, error.to_string()));
        }
    }
    Ok(())
}

fn failed(error: &dyn std::error::Error) -> SpawnOutcome {
    SpawnOutcome::Failed {
        text: error.to_string(),
    }
}
