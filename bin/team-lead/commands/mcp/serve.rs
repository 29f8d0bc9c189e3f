//! `mcp serve`: the team's tools for another program, over standard input and output.

use crate::cli::{Args, open};
use crate::commands::requests::login_name;
use crate::failure::{Failure, Kind};
use crate::trusted_workspace::TrustArgs;
use crate::{names, sandboxed_caller};
use lead::TrustedStarter;
use mcp_server::{Admission, Before, ServeError, ToolServer, serve_stdio};
use member::{Clearance, TaskHooks, TrustCheck};
use processes::Programs;
use protocol::{AgentName, Incarnation, Member, MemberSpec, Recipient};
use serde_json::Value;
use std::sync::Arc;
use team::Actor;
use team_tools::{Starter, TeamContext, TeammateDefaults, leading_tools};
use teamdir::{Liveness, TeamDir};
use teammate::OutsideToolsError;
use tools::{DuplicateTool, OpenWorkspaceError, OutputFolder, ToolContext, ToolError, Workspace};

/// Offer the team's tools to another program, over standard input and output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add team -- team-lead -C /path/to/project mcp serve
  team-lead mcp serve --member alice

Without --member the program leads the team as you do at the command line: it starts members, sends
messages, reads the reports, manages tasks and decides plans. What members ask a person it answers only
with --answers, or where `lead_decides = true`. With --member it acts as that member, which must be running,
and its tools refuse once that incarnation has ended; mail reaches it as prompts and is not read here.

The team folder must exist: team-lead init makes one.")]
pub(crate) struct Serve {
    /// Act as this running member. A program that is a member acts as itself.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Let the program answer in your name what members ask a person.
    #[arg(long, conflicts_with = "member")]
    answers: bool,
    /// The model of the members that it starts, unless it chooses another.
    #[arg(long, value_name = "MODEL", conflicts_with = "member")]
    model: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(super) fn run(args: &Args, command: &Serve) -> Result<(), Failure> {
    let team = open(args)?;
    let member = acting_member(&team, command.member.as_deref())?;
    let hooks = task_hooks(&team, args, command, member.as_ref())?;
    let server = match &member {
        Some(member) => member_server(&team, member, hooks)?,
        None => leading_server(&team, command, hooks)?,
    };
    serve_stdio(server).map_err(Failure::from)
}

/// The hooks for tasks that the program creates or completes. Those of a workspace that is not trusted are left out.
fn task_hooks(
    team: &TeamDir,
    args: &Args,
    command: &Serve,
    member: Option<&Member>,
) -> Result<TaskHooks, Failure> {
    let is_engine = sandboxed_caller::member().is_some();
    if let Some(member) = member.filter(|_| is_engine) {
        return Ok(TaskHooks::passed_on(team, member));
    }
    let settings = member::load_settings(team.workspace())?;
    let check = TrustCheck::of_workspace(team.workspace(), &settings, Some(team))?;
    let is_trusted = command.trust.is_given() || check.require_trust().is_ok();
    if !is_trusted {
        let note =
            "warning: the workspace is not trusted, so its hooks are not run; see: team-lead trust";
        args.note(note);
    }
    let sandbox = match member {
        Some(member) => teammate::sandbox_settings(&settings.config, member),
        None => lead::sandbox_settings((None, None), &settings.config),
    };
    let folder = member.map_or_else(
        || team.workspace().to_path_buf(),
        |member| teammate::work_folder(team, &settings.config, member),
    );
    let confinement = member::confinement(&folder, &sandbox, String::new());
    Ok(TaskHooks::of_settings(
        team,
        member,
        &settings,
        is_trusted,
        confinement,
    ))
}

/// The member as which this process acts, with the incarnation it is bound to.
fn acting_member(team: &TeamDir, chosen: Option<&str>) -> Result<Option<Member>, Failure> {
    let caller = sandboxed_caller::member();
    let typed = match (chosen, &caller) {
        (Some(chosen), Some((own, _))) if chosen != own => {
            let message =
                format!("this program is the member '{own}', and does not act as {chosen}");
            return Err(Failure::new(Kind::Refused, message).hint("team-lead mcp serve"));
        }
        (Some(chosen), _) => chosen.to_owned(),
        (None, Some((own, _))) => own.clone(),
        (None, None) => return Ok(None),
    };
    let roster = team.roster()?;
    let name = names::member(&roster, &typed)?;
    let entry = roster.member(&name).cloned();
    let Some(mut member) = entry else {
        return Ok(None);
    };
    if let Some((_, Some(incarnation))) = caller {
        member.incarnation = incarnation;
    }
    let bound = Bound {
        team: team.clone(),
        name,
        incarnation: member.incarnation,
        hooks: None,
    };
    match bound.admit() {
        Ok(()) => Ok(Some(member)),
        Err(error) => {
            let failure = Failure::new(Kind::Refused, error.to_string());
            Err(failure.hint(format!("team-lead restart {typed}")))
        }
    }
}

fn member_server(team: &TeamDir, member: &Member, hooks: TaskHooks) -> Result<ToolServer, Failure> {
    let settings = member::load_settings(team.workspace())?;
    let name = &member.spec.name;
    let owner = Recipient::Member(name.clone());
    Ok(ToolServer {
        name: "team".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: format!(
            "You are '{name}' in a team of agents. With these tools you send messages, work with the \
             team's tasks and notes, and ask the user. Messages to you come by themselves."
        ),
        registry: teammate::outside_tools(team, &settings.config, member)?,
        context: context(team, &owner)?,
        admission: Arc::new(Bound {
            team: team.clone(),
            name: name.clone(),
            incarnation: member.incarnation,
            hooks: Some(hooks),
        }),
    })
}

fn leading_server(
    team: &TeamDir,
    command: &Serve,
    hooks: TaskHooks,
) -> Result<ToolServer, Failure> {
    let tools = TeamContext {
        team: team.clone(),
        me: Actor::user(),
        role: String::new(),
        submitter: None,
    };
    let starter: Arc<dyn Starter> = Arc::new(CheckedStarter {
        programs: Programs::find()?,
        trusts_once: command.trust.is_given(),
    });
    let defaults = TeammateDefaults {
        model: command.model.clone(),
        ..TeammateDefaults::default()
    };
    let person = match command.answers {
        true => Some(login_name().unwrap_or_else(|| "the user".to_owned())),
        false => None,
    };
    Ok(ToolServer {
        name: "team".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: "You lead a team of agents that work as processes of their own. Start teammates, give \
             them work by prompt, message or task, then wait, and read what they report with read_inbox."
            .to_owned(),
        registry: leading_tools(&tools, &starter, defaults, person)?,
        context: context(team, &Recipient::Lead)?,
        admission: Arc::new(Always(hooks)),
    })
}

/// What calls run in. The tools of the team use no files of the workspace.
fn context(team: &TeamDir, owner: &Recipient) -> Result<ToolContext, OpenWorkspaceError> {
    let workspace = Workspace::open(team.workspace(), [])?;
    let output = OutputFolder::new(team.layout().member_outputs(owner));
    let mark = processes::mark_of(team, owner);
    Ok(ToolContext::new(workspace, output, &mark))
}

/// Serves as long as the client is there.
struct Always(TaskHooks);

impl Admission for Always {
    fn admit(&self) -> Result<(), ToolError> {
        Ok(())
    }

    fn before<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Before<'a> {
        Box::pin(ask_hooks(Some(&self.0), tool, arguments, context))
    }
}

async fn ask_hooks(
    hooks: Option<&TaskHooks>,
    tool: &str,
    arguments: &Value,
    context: &ToolContext,
) -> Result<(), ToolError> {
    let Some(hooks) = hooks else {
        return Ok(());
    };
    let asked = hooks.before(tool, arguments, &context.cancel).await;
    asked.map_err(|error| ToolError::from_error(&error))
}

/// Serves as long as one incarnation of a member runs.
struct Bound {
    team: TeamDir,
    name: AgentName,
    incarnation: Incarnation,
    hooks: Option<TaskHooks>,
}

impl Admission for Bound {
    fn admit(&self) -> Result<(), ToolError> {
        let owner = Recipient::Member(self.name.clone());
        let alive = self.team.liveness(&owner);
        let is_running = match alive.map_err(|error| ToolError::from_error(&error))? {
            Liveness::Alive(holder) => {
                holder.is_none_or(|holder| holder.incarnation == self.incarnation)
            }
            Liveness::Gone(_) => false,
        };
        if is_running {
            return Ok(());
        }
        let Self {
            name, incarnation, ..
        } = self;
        Err(ToolError::new(format!(
            "incarnation {incarnation} of '{name}' does not run, so nothing can be done in its name"
        )))
    }

    fn before<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Before<'a> {
        Box::pin(ask_hooks(self.hooks.as_ref(), tool, arguments, context))
    }
}

/// Starts members if the workspace is trusted at that time.
#[derive(Debug)]
struct CheckedStarter {
    programs: Programs,
    trusts_once: bool,
}

impl CheckedStarter {
    fn clearance(&self, team: &TeamDir) -> Result<Clearance, ToolError> {
        let settings = member::load_settings(team.workspace());
        let mut settings = settings.map_err(|error| ToolError::from_error(&error))?;
        let check = TrustCheck::of_workspace(team.workspace(), &settings, Some(team));
        let check = check.map_err(|error| ToolError::from_error(&error))?;
        let clearance = match (check.require_trust(), self.trusts_once) {
            (Ok(clearance), _) => clearance,
            (Err(_), true) => check.clearance_for_one_run(),
            (Err(untrusted), false) => {
                return Err(ToolError::new(format!(
                    "{untrusted}. The user can look at it and trust it: team-lead trust"
                )));
            }
        };
        settings.variables.trust_file();
        let applied = config::apply(team, &settings.config);
        applied.map_err(|error| ToolError::from_error(&error))?;
        Ok(clearance)
    }
}

impl Starter for CheckedStarter {
    fn programs_for(&self, team: &TeamDir, spec: &MemberSpec) -> Result<Programs, ToolError> {
        let clearance = self.clearance(team)?;
        TrustedStarter::new(self.programs.clone(), clearance).programs_for(team, spec)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<OutsideToolsError> for Failure {
    fn from(error: OutsideToolsError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<OpenWorkspaceError> for Failure {
    fn from(error: OpenWorkspaceError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<DuplicateTool> for Failure {
    fn from(error: DuplicateTool) -> Self {
        Self::failed(error.to_string())
    }
}
