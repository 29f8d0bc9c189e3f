//! `up`: starting the members that the configuration lists.

use crate::cli::{Args, open_or_create, workspace};
use crate::commands::config::{load, settle};
use crate::failure::{Failure, Kind};
use config::MemberPlan;
use processes::{MemberSpec, Programs, SpawnError, Spawned};
use protocol::{AgentName, Recipient};
use serde_json::{Value, json};
use team::Actor;
use teamdir::TeamDir;

/// Start the members that team.toml lists. Those that run already are left alone.
#[derive(clap::Args)]
#[command(after_help = "\
Example of a team.toml:
  model = 'anthropic:NAME'

  [roles.coder]
  prompt = 'Write a test before you mend anything.'
  tools = ['bash', 'read_file', 'edit_file', 'write_file']

  [[members]]
  name = 'alice'
  role = 'coder'
  prompt = 'Mend the parser.'
  max_tokens = 200000

A member that has ended or died comes back with its memory; its prompt is said again only if it is
another one by now. Running it twice does nothing more.

With --json: {\"members\": [{\"name\", \"role\", \"result\": \"started\", \"came back\" or \"already there\"}]}.")]
pub(crate) struct Up {}

/// What came of one member.
struct Brought {
    name: AgentName,
    role: String,
    result: &'static str,
}

pub(crate) fn run(args: &Args, _: &Up) -> Result<(), Failure> {
    // Before the folder: a file with a mistake in it creates nothing.
    let config = load(&workspace(args)?)?;
    if config.members().is_empty() {
        let message = "there is nobody to start: team.toml lists no [[members]]";
        return Err(Failure::new(Kind::Usage, message).hint("team-lead up --help"));
    }
    let programs = Programs::find()?;
    let team = open_or_create(args)?;
    let config = settle(&team)?;
    processes::repair(&team);
    let mut brought = Vec::new();
    let mut failed = None;
    for plan in config.members() {
        match bring(&team, plan, &programs) {
            Ok(one) => brought.push(one),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    report(args, &brought)?;
    failed.map_or(Ok(()), Err)
}

fn bring(team: &TeamDir, plan: &MemberPlan, programs: &Programs) -> Result<Brought, Failure> {
    let known = team.roster()?.member(&plan.name).cloned();
    let name = known.as_ref().map_or(&plan.name, |member| &member.name);
    budget::adopt(team, Some(&Recipient::Member(name.clone())), &plan.budget)?;
    let brought = |result| Brought {
        name: name.clone(),
        role: plan.role.clone(),
        result,
    };
    if known.is_some() && processes::view(team, name)?.is_alive() {
        return Ok(brought("already there"));
    }
    let said = known.as_ref().and_then(|member| member.prompt.as_ref());
    let spec = MemberSpec {
        prompt: plan.prompt.clone().filter(|prompt| Some(prompt) != said),
        model: plan.model.clone(),
        exec: plan.exec.clone(),
        require_plan: plan.require_plan,
        restart: plan.restart.clone(),
        no_claim: plan.no_claim,
        idle_timeout: plan.idle_timeout,
        ..MemberSpec::new(name.clone(), &plan.role)
    };
    match processes::spawn(team, &Actor::user(), &spec, programs) {
        Ok(Spawned::Started {
            came_back: false, ..
        }) => Ok(brought("started")),
        Ok(Spawned::Started {
            came_back: true, ..
        }) => Ok(brought("came back")),
        // Somebody else has started it meanwhile.
        Ok(Spawned::Woken { .. }) | Err(SpawnError::Occupied { .. }) => {
            Ok(brought("already there"))
        }
        Err(error) => Err(error.into()),
    }
}

fn report(args: &Args, brought: &[Brought]) -> Result<(), Failure> {
    let members: Vec<Value> = brought
        .iter()
        .map(|one| json!({"name": one.name, "role": one.role, "result": one.result}))
        .collect();
    let words = brought.iter().map(|one| match one.result {
        "started" => format!("Spawned '{}' (role: {})", one.name, one.role),
        result => format!("'{}' (role: {}): {result}", one.name, one.role),
    });
    let words: Vec<String> = words.collect();
    args.confirm(&json!({ "members": members }), &words.join("\n"))
}
