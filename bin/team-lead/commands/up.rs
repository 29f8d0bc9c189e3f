//! `up`: starts the members that the configuration lists.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::permission_args::PermissionArgs;
use crate::trusted_workspace::{TrustArgs, TrustedWorkspace, UncheckedWorkspace};
use config::MemberEntry;
use processes::{Programs, SpawnError, Spawned};
use protocol::{AgentName, Recipient};
use serde_json::{Value, json};
use team::Actor;
use teamdir::TeamDir;

/// Start the members that team.toml lists. Running members are left alone.
#[derive(clap::Args)]
#[command(after_help = "\
Example of a team.toml:
  model = 'anthropic:NAME'

  [roles.coder]
  prompt = 'Write a test before you fix anything.'
  tools = ['bash', 'read_file', 'edit_file', 'write_file']

  [[members]]
  name = 'alice'
  role = 'coder'
  prompt = 'Fix the parser.'
  max_tokens = 200000

A member that has ended or died is restarted with its conversation; its prompt is sent again only if
it has changed. Running the command again changes nothing.

With --json: {\"members\": [{\"name\", \"role\", \"result\": \"started\", \"restarted\" or \"already running\"}]}.")]
pub(crate) struct Up {
    #[command(flatten)]
    permissions: PermissionArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// The result for one member.
struct Outcome {
    name: AgentName,
    role: String,
    result: &'static str,
}

pub(crate) fn run(args: &Args, command: &Up) -> Result<(), Failure> {
    // Checked before the team folder is created: an error in a file must create nothing.
    let unchecked = UncheckedWorkspace::find(args)?;
    if unchecked.settings.config.members().is_empty() {
        let message = "there are no members to start: team.toml lists no [[members]]";
        return Err(Failure::new(Kind::Usage, message).hint("team-lead up --help"));
    }
    let programs = Programs::find()?;
    let mut trusted = unchecked.into_trusted(args, &command.trust)?;
    let mut members = trusted.settings.config.members().to_vec();
    for entry in &mut members {
        entry.spec.permissions = command.permissions.rules();
        trusted.clearance.allow(&trusted.team, &entry.spec)?;
    }
    let programs = trusted.with_clearance(programs);
    let TrustedWorkspace { team, .. } = trusted;
    processes::repair(&team);
    let mut outcomes = Vec::new();
    let mut failed = None;
    for entry in &members {
        match start(&team, entry, &programs) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    report(args, &outcomes)?;
    failed.map_or(Ok(()), Err)
}

fn start(team: &TeamDir, entry: &MemberEntry, programs: &Programs) -> Result<Outcome, Failure> {
    let known = team.roster()?.member(&entry.spec.name).cloned();
    let name = known
        .as_ref()
        .map_or(&entry.spec.name, |member| &member.spec.name);
    budget::adopt(team, Some(&Recipient::Member(name.clone())), &entry.budget)?;
    let outcome = |result| Outcome {
        name: name.clone(),
        role: entry.spec.role.clone(),
        result,
    };
    if known.is_some() && processes::member_view(team, name)?.is_alive() {
        return Ok(outcome("already running"));
    }
    let mut spec = entry.spec.clone();
    let old_prompt = known
        .as_ref()
        .and_then(|member| member.spec.prompt.as_ref());
    spec.prompt = spec.prompt.filter(|prompt| Some(prompt) != old_prompt);
    match processes::spawn(team, &Actor::user(), &spec, programs) {
        Ok(Spawned::Started {
            came_back: false, ..
        }) => Ok(outcome("started")),
        Ok(Spawned::Started {
            came_back: true, ..
        }) => Ok(outcome("restarted")),
        // Another process has started it meanwhile.
        Ok(Spawned::Woken { .. }) | Err(SpawnError::Occupied { .. }) => {
            Ok(outcome("already running"))
        }
        Err(error) => Err(error.into()),
    }
}

fn report(args: &Args, outcomes: &[Outcome]) -> Result<(), Failure> {
    let members: Vec<Value> = outcomes
        .iter()
        .map(
            |outcome| json!({"name": outcome.name, "role": outcome.role, "result": outcome.result}),
        )
        .collect();
    let lines = outcomes.iter().map(|outcome| match outcome.result {
        "started" => format!("Spawned '{}' (role: {})", outcome.name, outcome.role),
        result => format!("'{}' (role: {}): {result}", outcome.name, outcome.role),
    });
    let lines: Vec<String> = lines.collect();
    args.confirm(&json!({ "members": members }), &lines.join("\n"))
}
