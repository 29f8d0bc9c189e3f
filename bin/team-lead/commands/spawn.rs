//! `spawn`: starts, wakes or restarts a teammate.

mod elsewhere;

use crate::budget_args::BudgetArgs;
use crate::cli::Args;
use crate::duration;
use crate::failure::{Failure, Kind};
use crate::input::text_or_stdin;
use crate::permission_args::PermissionArgs;
use crate::sandbox_args::SandboxArgs;
use crate::trusted_workspace::{TrustArgs, TrustedWorkspace, UncheckedWorkspace};
use crate::tuning_args::TuningArgs;
use config::Config;
use member::NO_MODEL_CHOSEN;
use processes::{NoTeammate, Programs, SpawnError, Spawned};
use protocol::{
    AgentName, Caps, HostId, MemberSpec, Recipient, RestartPolicy, SandboxMode, SpawnOptions,
    TreeMode, Tuning,
};
use serde_json::json;
use std::time::Duration;
use team::Actor;
use teamdir::TeamDir;

/// Start, wake or restart a teammate. It keeps running after this command.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead spawn alice coder --prompt 'Fix the parser, then tell bob.'
  team-lead spawn bob tester --model openai:some-model --require-plan
  team-lead spawn carol reviewer --exec './carol.py'
  team-lead spawn dora coder --tree own
  team-lead spawn erin coder --engine acp:claude --network on
  team-lead spawn alice coder --fresh --prompt 'Now the lexer.'
  team-lead spawn frank coder --host gpu1 --prompt 'Train the model.'

The command returns when the teammate is ready, or fails with the reason and leaves nothing behind.
If there is no team folder, it is created. An idle teammate gets the prompt as its next work; a
working one is left alone, and that is an error. One that has died or was shut down is restarted with
its conversation, its mail and its task. Without a prompt a teammate waits for mail or a task, and
does not call its model until then.

With --host another host starts it, as its own settings say, if its bridge runs with --accept-spawns.
The command waits a minute for that; then, or if the host cannot be reached, the ask is queued.

With --json: {\"name\", \"role\", \"spawned\": \"started\", \"woken\" or \"queued\", \"pid\", \"incarnation\",
\"came_back\", \"prompt_sent\"}.")]
pub(crate) struct Spawn {
    /// The name: letters, digits, _ and -.
    name: String,
    /// The role, as free text or as in `[roles]` in team.toml.
    role: String,
    /// The first instruction; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// The model, as in anthropic:NAME, openai:NAME, offline or script:FILE. Of several between commas
    /// the first that can be reached answers.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    tuning: TuningArgs,
    /// Begin a new conversation. The member must not be running; its mail and its task stay.
    #[arg(long, conflicts_with = "exec")]
    fresh: bool,
    /// Require an approved plan before the teammate may change anything.
    #[arg(long)]
    require_plan: bool,
    /// Whether a running lead restarts it when its process dies.
    #[arg(long, value_name = "POLICY", value_enum)]
    restart: Option<Policy>,
    /// Run this program as the member instead of an agent. Its environment names the member.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Let the agent of another program do its work: acp:claude, acp:codex, acp:gemini, acp:goose, acp:opencode,
    /// acp:qwen or acp:'COMMAND'. It needs --network.
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["exec", "model"], value_parser = engine)]
    engine: Option<String>,
    /// Do not claim tasks from the board without being asked.
    #[arg(long)]
    no_claim: bool,
    /// End after this long without work, in seconds or as in 10m.
    #[arg(long, value_name = "S", value_parser = duration::parse)]
    idle_timeout: Option<Duration>,
    /// Where it works: own (a tree of its own, whose commits it submits) or shared (the workspace).
    #[arg(long, value_name = "PLACE", value_parser = |text: &str| text.parse::<TreeMode>())]
    tree: Option<TreeMode>,
    /// The host to start it on, where it is then at home. Its settings count: only --prompt, --model (one that they
    /// name), --require-plan, --no-claim, --ask and --deny go with this.
    #[arg(long, value_name = "HOST")]
    host: Option<HostId>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Policy {
    Never,
    OnFailure,
}

pub(crate) fn run(args: &Args, command: &Spawn) -> Result<(), Failure> {
    if let Some(host) = &command.host
        && elsewhere::is_elsewhere(args, host)?
    {
        return elsewhere::run(args, command, host);
    }
    let spec = command.spec()?;
    // Checked before the team folder is created: an error here must create nothing.
    let programs = Programs::find()?;
    let mut trusted = UncheckedWorkspace::find(args)?.into_trusted(args, &command.trust)?;
    trusted.clearance.allow(&trusted.team, &spec)?;
    let programs = Programs {
        fresh: command.fresh,
        ..trusted.with_clearance(programs)
    };
    let TrustedWorkspace { team, settings, .. } = trusted;
    if command.fresh {
        refuse_running(&team, &spec.name)?;
    }
    processes::repair(&team);
    // Beside the member, which does the same.
    let probe = std::thread::spawn(|| sandbox::Layers::probe().level());
    let spawned = within_budget(&team, &spec.name, &command.budget.limits(), || {
        processes::spawn(&team, &Actor::user(), &spec, &programs)
    })?;
    if let Ok(level) = probe.join() {
        let shown = weakness(&team, &settings.config, &spec.name, level);
        shown.iter().for_each(|text| args.note(text));
    }
    note_default_model(args, &team, &settings.config, &spec.name)?;
    let MemberSpec { name, role, .. } = &spec;
    match spawned {
        Spawned::Started {
            pid,
            incarnation,
            came_back,
        } => args.confirm(
            &json!({
                "name": name, "role": role, "spawned": "started", "pid": pid,
                "incarnation": incarnation, "came_back": came_back,
                "prompt_sent": spec.prompt.is_some(),
            }),
            &format!("Spawned '{name}' (role: {role})"),
        ),
        Spawned::Woken { prompt_sent } => {
            let view = processes::member_view(&team, name)?;
            let text = match prompt_sent {
                true => format!("'{name}' was idle and has the prompt as its next work"),
                false => format!("'{name}' is already running and idle"),
            };
            let object = json!({
                "name": view.member.spec.name, "role": view.member.spec.role, "spawned": "woken",
                "pid": view.holder.map(|holder| holder.pid),
                "incarnation": view.member.incarnation,
                "came_back": false, "prompt_sent": prompt_sent,
            });
            args.confirm(&object, &text)
        }
    }
}

/// A running member has a conversation that it goes on with.
fn refuse_running(team: &TeamDir, name: &AgentName) -> Result<(), Failure> {
    let is_known = team.roster()?.member(name).is_some();
    if !is_known || !processes::member_view(team, name)?.is_alive() {
        return Ok(());
    }
    let message = format!("'{name}' is running, so it cannot begin a new conversation");
    Err(Failure::new(Kind::Refused, message).hint(format!("team-lead shutdown {name} --wait")))
}

/// Says that the member has no model, if nobody chose one.
fn note_default_model(
    args: &Args,
    team: &TeamDir,
    config: &Config,
    name: &AgentName,
) -> Result<(), Failure> {
    let roster = team.roster()?;
    let is_chosen = |member| teammate::has_model(config, member);
    if !roster.member(name).is_none_or(is_chosen) {
        args.note(&format!("note: {NO_MODEL_CHOSEN}"));
    }
    Ok(())
}

/// What the member's sandbox does not keep, if it has one.
fn weakness(
    team: &TeamDir,
    config: &Config,
    name: &AgentName,
    level: sandbox::Level,
) -> Option<String> {
    let roster = team.roster().ok()?;
    let settings = teammate::sandbox_settings(config, roster.member(name)?);
    let weakness = member::weakness(level).filter(|_| settings.mode != SandboxMode::Off);
    weakness.map(|weakness| format!("note: {weakness}"))
}

/// Sets the budget of a member before it starts. If it does not start, the old budget is restored.
fn within_budget(
    team: &TeamDir,
    name: &AgentName,
    caps: &Caps,
    spawn: impl FnOnce() -> Result<Spawned, SpawnError>,
) -> Result<Spawned, Failure> {
    if caps.is_empty() {
        return Ok(spawn()?);
    }
    let known = team
        .roster()?
        .member(name)
        .map(|known| known.spec.name.clone());
    let member = Recipient::Member(known.unwrap_or_else(|| name.clone()));
    let before = team.budget()?.members.get(&member).cloned();
    budget::change(team, Some(&member), caps)?;
    let spawned = spawn();
    if spawned.is_err() {
        // The error of the start matters more than one of restoring the budget.
        let _ = budget::restore(team, &member, before);
    }
    Ok(spawned?)
}

impl Spawn {
    /// What another host is told of the member.
    fn asked_options(&self) -> Result<SpawnOptions, Failure> {
        let rules = self.permissions.rules().unwrap_or_default();
        for (option, is_given) in [
            ("--allow", !rules.allow.is_empty()),
            ("--yes", rules.yes),
            ("--exec", self.exec.is_some()),
            ("--engine", self.engine.is_some()),
            ("--fresh", self.fresh),
            ("--restart", self.restart.is_some()),
            ("--idle-timeout", self.idle_timeout.is_some()),
            ("--tree", self.tree.is_some()),
            ("--sandbox", self.sandbox.sandbox.is_some()),
            ("--network", self.sandbox.network.is_some()),
            ("--trust", self.trust.is_given()),
            ("a budget", !self.budget.limits().is_empty()),
            (
                "how its model is asked",
                self.tuning.web().is_some() || self.tuning.tuning() != Tuning::default(),
            ),
        ] {
            if is_given {
                let message = format!("{option} is up to the settings of the host that starts it");
                return Err(Failure::new(Kind::Usage, message).hint("team-lead spawn --help"));
            }
        }
        Ok(SpawnOptions {
            name: self.name.clone(),
            role: self.role.clone(),
            prompt: self.prompt.as_deref().map(text).transpose()?,
            model: self.model.clone(),
            require_plan: self.require_plan,
            no_claim: self.no_claim,
            deny: rules.deny,
            ask: rules.ask,
            ..SpawnOptions::default()
        })
    }

    fn spec(&self) -> Result<MemberSpec, Failure> {
        let spec = MemberSpec {
            prompt: self.prompt.as_deref().map(text).transpose()?,
            model: self.model.clone(),
            exec: self.exec.clone(),
            engine: self.engine.clone(),
            require_plan: self.require_plan.then_some(true),
            restart: self.restart.map(|policy| match policy {
                Policy::Never => RestartPolicy::Never,
                Policy::OnFailure => RestartPolicy::OnFailure,
            }),
            no_claim: self.no_claim.then_some(true),
            idle_timeout: self.idle_timeout.map(|limit| limit.as_secs().max(1)),
            sandbox: self.sandbox.sandbox.clone(),
            network: self.sandbox.network.clone(),
            tree: self.tree.clone(),
            web: self.tuning.web(),
            permissions: self.permissions.rules(),
            ..MemberSpec::new(AgentName::new(&self.name)?, self.role.as_str())
        };
        Ok(spec.with_tuning(self.tuning.tuning()))
    }
}

fn engine(typed: &str) -> Result<String, acp::ChoiceError> {
    let choice: acp::EngineChoice = typed.parse()?;
    Ok(choice.to_string())
}

fn text(typed: &str) -> Result<String, Failure> {
    text_or_stdin(typed, "the prompt")
}

impl From<NoTeammate> for Failure {
    fn from(error: NoTeammate) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        let message = error.to_string();
        match error {
            SpawnError::Occupied { name, .. } => {
                Self::new(Kind::Refused, message).hint(format!("team-lead send {name} TEXT"))
            }
            SpawnError::Launch { .. }
            | SpawnError::Reap(_)
            | SpawnError::Roster(_)
            | SpawnError::File(_) => Self::failed(message),
            SpawnError::Name(_) => Self::new(Kind::Refused, message).hint("team-lead status"),
            SpawnError::LastIncarnation(error) => error.into(),
            SpawnError::StartGuard(_) | SpawnError::Elsewhere { .. } => {
                Self::new(Kind::Refused, message)
            }
            SpawnError::Full { .. } => {
                Self::new(Kind::Refused, message).hint("team-lead config show")
            }
            SpawnError::Limits(error) => error.into(),
            SpawnError::Send(error) => error.into(),
        }
    }
}
