//! Tools that only the lead has: `spawn_teammate`, `list_teammates`, `shutdown_request`,
//! `shutdown_response`, `plan_approval`.

use crate::answer::sent_to;
use crate::mail::NoArgs;
use crate::teammate::request_id;
use crate::{Starter, TeamContext};
use processes::{MemberView, Spawned};
use protocol::{
    AgentName, Incarnation, MemberRules, MemberSpec, NetworkSetting, Party, RequestFile,
    RequestStatus, SandboxMode, Tuning,
};
use rules::SHUTDOWN_TIMEOUT;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use team::{AnswerError, ShutdownOptions, decide_plan};
use teamdir::{RequestError, TeamDir};
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Starts a teammate.
#[derive(Clone, Debug)]
pub struct SpawnTeammate {
    context: TeamContext,
    starter: Arc<dyn Starter>,
    defaults: TeammateDefaults,
}

/// What new teammates get unless the model or the configuration chooses something else.
#[derive(Clone, Debug, Default)]
pub struct TeammateDefaults {
    pub model: Option<String>,
    /// How their models are asked.
    pub tuning: Tuning,
    /// Whether their models use the web with the tools of their providers.
    pub web: Option<bool>,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<NetworkSetting>,
    /// The rules that the person who started the lead gave it.
    pub permissions: Option<MemberRules>,
}

impl SpawnTeammate {
    pub const fn new(
        context: TeamContext,
        starter: Arc<dyn Starter>,
        defaults: TeammateDefaults,
    ) -> Self {
        Self {
            context,
            starter,
            defaults,
        }
    }
}

/// The arguments of [`SpawnTeammate`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnTeammateArgs {
    name: String,
    role: String,
    prompt: String,
    // It changes nothing before the lead has approved a plan of it.
    require_plan: Option<bool>,
    model: Option<String>,
}

impl SpawnTeammateArgs {
    fn spec(self) -> Result<MemberSpec, ToolError> {
        let name = member_name(&self.name)?;
        Ok(MemberSpec {
            prompt: Some(self.prompt).filter(|prompt| !prompt.trim().is_empty()),
            require_plan: self.require_plan,
            model: self.model,
            ..MemberSpec::new(name, self.role.trim())
        })
    }
}

impl Tool for SpawnTeammate {
    const NAME: &'static str = "spawn_teammate";
    const DESCRIPTION: &'static str = "Start, wake or revive a teammate.";
    const EFFECT: Effect = Effect::State;
    type Args = SpawnTeammateArgs;

    async fn call(
        &self,
        args: SpawnTeammateArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let mut spec = args.spec()?;
        let defaults = self.defaults.clone();
        if is_foreign_script(spec.model.as_deref(), self.context.team.workspace()) {
            // Reading it would tell the model about a file that its tools cannot read.
            return Err(ToolError::new(
                "a script: model has to be a file of the workspace; leave model out, or name another",
            ));
        }
        spec.model = spec.model.or(defaults.model);
        let starter = Arc::clone(&self.starter);
        self.context
            .blocking(move |context| {
                let roster = context.team.roster();
                let is_known = roster.is_ok_and(|roster| roster.member(&spec.name).is_some());
                // A known member keeps what a person chose for it.
                if !is_known {
                    (spec.sandbox, spec.network) = (defaults.sandbox, defaults.network);
                    spec.web = defaults.web;
                    spec.permissions = defaults.permissions;
                    spec = spec.with_tuning(defaults.tuning);
                }
                let programs = starter.programs_for(&context.team, &spec)?;
                let spawned = processes::spawn(&context.team, &context.me, &spec, &programs);
                let spawned = spawned.map_err(|error| ToolError::from_error(&error))?;
                let (name, role) = (&spec.name, &spec.role);
                Ok(ToolOutput::ok(match spawned {
                    Spawned::Started { .. } => format!("Spawned '{name}' (role: {role})"),
                    Spawned::Woken { .. } => {
                        format!("Spawned '{name}' (role: {role}): it was idle and has your prompt")
                    }
                }))
            })
            .await
    }
}

/// Whether a model is a file of recorded turns that lies outside of the workspace, or may hold keys.
fn is_foreign_script(model: Option<&str>, workspace: &Path) -> bool {
    let Some(file) = model.and_then(|model| model.trim_start().strip_prefix("script:")) else {
        return false;
    };
    let real = (
        workspace.canonicalize(),
        workspace.join(file).canonicalize(),
    );
    let (Ok(workspace), Ok(file)) = real else {
        return true;
    };
    let is_secret = |name: &OsStr| name.to_string_lossy().to_lowercase().starts_with(".env");
    !file.starts_with(workspace) || file.iter().any(is_secret)
}

/// Shows the team.
#[derive(Clone, Debug)]
pub struct ListTeammates(TeamContext);

impl ListTeammates {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

impl Tool for ListTeammates {
    const NAME: &'static str = "list_teammates";
    const DESCRIPTION: &'static str = "Show the teammates.";
    const EFFECT: Effect = Effect::Read;
    type Args = NoArgs;

    async fn call(&self, _: NoArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let listed = self.0.blocking(|context| roster(&context.team)).await?;
        Ok(ToolOutput::ok(listed))
    }
}

/// The team, one line per member.
fn roster(team: &TeamDir) -> Result<String, ToolError> {
    let views = processes::member_views(team).map_err(|error| ToolError::from_error(&error))?;
    let roster = team
        .roster()
        .map_err(|error| ToolError::from_error(&error))?;
    if views.is_empty() {
        return Ok("No teammates.".to_owned());
    }
    let mut text = format!("Team: {}", roster.team_name.0);
    for view in &views {
        text.push_str(&format!("\n  {}", member_line(view)));
    }
    Ok(text)
}

/// One line for a member: `alice (coder): working, to-do 2/5: run the tests`.
pub fn member_line(view: &MemberView) -> String {
    let (name, role) = (&view.member.spec.name, &view.member.spec.role);
    let line = format!("{name} ({role}): {}", view.state.word());
    match &view.todo {
        Some(todo) => format!("{line}, to-do {todo}"),
        None => line,
    }
}

/// Asks a teammate to end.
#[derive(Clone, Debug)]
pub struct ShutdownRequest(TeamContext);

impl ShutdownRequest {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`ShutdownRequest`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownRequestArgs {
    teammate: String,
    #[schemars(skip)]
    reason: Option<String>,
}

impl Tool for ShutdownRequest {
    const NAME: &'static str = "shutdown_request";
    const DESCRIPTION: &'static str = "Ask a teammate to end.";
    const EFFECT: Effect = Effect::State;
    type Args = ShutdownRequestArgs;

    async fn call(
        &self,
        args: ShutdownRequestArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if args.teammate.trim().eq_ignore_ascii_case("lead") {
            let refusal = rules::OpenShutdownRefusal::TheLead;
            return Err(ToolError::from_error(&refusal));
        }
        let name = member_name(&args.teammate)?;
        let reason = args.reason.unwrap_or_default();
        self.0
            .blocking(move |context| {
                let incarnation = running_incarnation(&context.team, &name)?;
                let options = ShutdownOptions {
                    to: name,
                    reason,
                    timeout: SHUTDOWN_TIMEOUT,
                    force: false,
                    lead_leaves: false,
                };
                let asked = team::ask_shutdown(&context.team, &context.me, &options, incarnation);
                let request = asked.map_err(|error| ToolError::from_error(&error))?;
                let (id, to) = (&request.id, &request.to);
                Ok(ToolOutput::ok(format!(
                    "Shutdown request {id} sent to '{to}' (status: pending)"
                )))
            })
            .await
    }
}

/// The running incarnation of a teammate.
fn running_incarnation(team: &TeamDir, name: &AgentName) -> Result<Incarnation, ToolError> {
    let view = processes::member_view(team, name).map_err(|error| ToolError::from_error(&error))?;
    match view.holder {
        Some(holder) => Ok(holder.incarnation),
        // It runs on another host, as that host has reported.
        None if view.member.host.is_some() && view.is_alive() => Ok(view.member.incarnation),
        None => Err(ToolError::new(format!(
            "'{name}' is not running (state: {}): there is nothing to shut down",
            view.state.word()
        ))),
    }
}

/// Looks up a shutdown request.
#[derive(Clone, Debug)]
pub struct ShutdownLookup(TeamContext);

impl ShutdownLookup {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`ShutdownLookup`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownLookupArgs {
    request_id: String,
}

impl Tool for ShutdownLookup {
    const NAME: &'static str = "shutdown_response";
    const DESCRIPTION: &'static str = "Look up a shutdown request.";
    const EFFECT: Effect = Effect::Read;
    type Args = ShutdownLookupArgs;

    async fn call(
        &self,
        args: ShutdownLookupArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = request_id(&args.request_id)?;
        self.0
            .blocking(move |context| match context.team.request(&id) {
                Ok(request) => {
                    let file = json!(RequestFile::from(request));
                    Ok(ToolOutput::ok(file.to_string()))
                }
                Err(RequestError::Unknown(_)) => {
                    Ok(ToolOutput::ok(json!({"error": "not found"}).to_string()))
                }
                Err(error) => Err(ToolError::from_error(&error)),
            })
            .await
    }
}

/// Decides a plan.
#[derive(Clone, Debug)]
pub struct PlanDecision(TeamContext);

impl PlanDecision {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`PlanDecision`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanDecisionArgs {
    request_id: String,
    approve: bool,
    feedback: Option<String>,
}

impl Tool for PlanDecision {
    const NAME: &'static str = "plan_approval";
    const DESCRIPTION: &'static str = "Decide on a teammate's plan.";
    const EFFECT: Effect = Effect::State;
    type Args = PlanDecisionArgs;

    async fn call(&self, args: PlanDecisionArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let id = request_id(&args.request_id)?;
        self.0
            .blocking(move |context| {
                let feedback = args.feedback.unwrap_or_default();
                let (team, me) = (&context.team, &context.me);
                let decided = decide_plan(team, me, &id, args.approve, &feedback);
                let request = decided.map_err(|error| match error {
                    AnswerError::Request(RequestError::Unknown(id)) => {
                        ToolError::new(format!("Unknown plan request_id '{id}'"))
                    }
                    error => ToolError::from_error(&error),
                })?;
                if let Some(text) = sent_to(&request) {
                    return Ok(ToolOutput::ok(text));
                }
                let decision = match request.status() {
                    RequestStatus::Approved => "approved",
                    RequestStatus::Rejected | RequestStatus::Pending | RequestStatus::Expired => {
                        "rejected"
                    }
                };
                let author = match &request.from {
                    Party::Member(name) => name.as_str(),
                    other => other.as_str(),
                };
                Ok(ToolOutput::ok(format!("Plan {decision} for '{author}'")))
            })
            .await
    }
}

fn member_name(text: &str) -> Result<AgentName, ToolError> {
    AgentName::new(text.trim()).map_err(|error| ToolError::from_error(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_outside_of_the_workspace_or_with_keys_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("ws");
        std::fs::create_dir(&workspace).unwrap();
        for file in [
            workspace.join("a.jsonl"),
            workspace.join(".env"),
            folder.path().join("b"),
        ] {
            std::fs::write(file, "x").unwrap();
        }
        std::os::unix::fs::symlink("../b", workspace.join("link")).unwrap();
        let is_foreign = |model: &str| is_foreign_script(Some(model), &workspace);
        assert!(!is_foreign("script:a.jsonl") && !is_foreign("openai:x"));
        assert!(!is_foreign_script(None, &workspace));
        let inside = format!("script:{}", workspace.join("a.jsonl").display());
        assert!(!is_foreign(&inside));
        for foreign in [
            "script:.env",
            "script:link",
            "script:../b",
            "script:/etc/passwd",
            "script:gone",
        ] {
            assert!(is_foreign(foreign), "{foreign}");
        }
    }
}
