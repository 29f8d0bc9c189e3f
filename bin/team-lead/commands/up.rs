//! `up`: starts the members that the configuration lists.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::permission_args::PermissionArgs;
use crate::trusted_workspace::{TrustArgs, TrustedWorkspace, UncheckedWorkspace};
use config::MemberEntry;
use processes::{Programs, SpawnError, Spawned};
use protocol::{AgentName, MemberSpec, Recipient};
use serde_json::{Value, json};
use team::Actor;
use teamdir::{RosterError, TeamDir};

/// Make the team as team.toml lists it: start members, change what is set for them, and say who is not
/// listed.
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
it has changed. What has changed in team.toml about a running member is entered for it; its model, role, program,
tree, sandbox and network count from its next restart. Nobody is ended: members that team.toml does not list are
named. Running the command again changes nothing.

With --json: {\"members\": [{\"name\", \"role\", \"result\": \"started\", \"restarted\", \"updated\", \"already
running\" or \"not listed\"}]}.")]
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
    result: Change,
}

/// What was done about a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Started,
    Restarted,
    Updated,
    AlreadyRunning,
    NotListed,
}

impl Change {
    /// The word in JSON.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Restarted => "restarted",
            Self::Updated => "updated",
            Self::AlreadyRunning => "already running",
            Self::NotListed => "not listed",
        }
    }
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
    outcomes.extend(not_listed(&team, &members)?);
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
    if let Some(member) = &known
        && processes::member_view(team, name)?.is_alive()
    {
        return Ok(outcome(match update(team, &member.spec, &entry.spec)? {
            true => Change::Updated,
            false => Change::AlreadyRunning,
        }));
    }
    let mut spec = entry.spec.clone();
    let old_prompt = known
        .as_ref()
        .and_then(|member| member.spec.prompt.as_ref());
    spec.prompt = spec.prompt.filter(|prompt| Some(prompt) != old_prompt);
    match processes::spawn(team, &Actor::user(), &spec, programs) {
        Ok(Spawned::Started {
            came_back: false, ..
        }) => Ok(outcome(Change::Started)),
        Ok(Spawned::Started {
            came_back: true, ..
        }) => Ok(outcome(Change::Restarted)),
        // Another process has started it meanwhile.
        Ok(Spawned::Woken { .. }) | Err(SpawnError::Occupied { .. }) => {
            Ok(outcome(Change::AlreadyRunning))
        }
        Err(error) => Err(error.into()),
    }
}

/// Enters what is set for a running member, but for its prompt, which it has had. Returns whether anything
/// has changed.
fn update(team: &TeamDir, current: &MemberSpec, listed: &MemberSpec) -> Result<bool, Failure> {
    let listed = MemberSpec {
        prompt: None,
        ..listed.clone()
    };
    let changed = |current: &MemberSpec| {
        let mut changed = current.clone();
        listed.merge_into(&mut changed);
        changed
    };
    if changed(current) == *current {
        return Ok(false);
    }
    team.update_roster(|roster| {
        if let Some(member) = roster.member_mut(&current.name) {
            member.spec = changed(&member.spec);
        }
        Ok::<_, RosterError>(())
    })?;
    Ok(true)
}

/// The members of the team that the configuration does not list.
fn not_listed(team: &TeamDir, listed: &[MemberEntry]) -> Result<Vec<Outcome>, Failure> {
    let roster = team.roster()?;
    let is_listed = |name: &AgentName| listed.iter().any(|entry| entry.spec.name.same_as(name));
    let others = roster.members.iter().map(|member| &member.spec);
    let others = others.filter(|spec| !is_listed(&spec.name));
    let outcomes = others.map(|spec| Outcome {
        name: spec.name.clone(),
        role: spec.role.clone(),
        result: Change::NotListed,
    });
    Ok(outcomes.collect())
}

impl Outcome {
    fn as_text(&self) -> String {
        let Self { name, role, result } = self;
        match result {
            Change::Started => format!("Spawned '{name}' (role: {role})"),
            Change::Restarted | Change::AlreadyRunning => {
                format!("'{name}' (role: {role}): {}", result.as_str())
            }
            Change::Updated => format!(
                "'{name}' (role: {role}): updated; for what counts from its next start: team-lead restart {name}"
            ),
            Change::NotListed => format!(
                "'{name}' (role: {role}): not listed in team.toml; to remove it: team-lead shutdown {name} \
                 --wait, then team-lead rm {name}"
            ),
        }
    }
}

fn report(args: &Args, outcomes: &[Outcome]) -> Result<(), Failure> {
    let members: Vec<Value> = outcomes
        .iter()
        .map(
            |outcome| json!({"name": outcome.name, "role": outcome.role, "result": outcome.result.as_str()}),
        )
        .collect();
    let lines = outcomes.iter().map(Outcome::as_text);
    let lines: Vec<String> = lines.collect();
    args.confirm(&json!({ "members": members }), &lines.join("\n"))
}
