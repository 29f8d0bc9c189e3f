//! The hooks for tasks that a program creates or completes through `team-lead mcp serve`, in a process beside the
//! member's.

use super::events::{task_event, task_fields};
use super::{HookAnswers, SHOWN_CHARS};
use crate::confine::workspace_confinement;
use crate::workspace::WorkspaceSettings;
use command::Surroundings;
use hooks::{Hook, HookContext, HookEvent, HookOrigin, Matcher};
use llm::CancellationToken;
use processes::mark_of;
use protocol::{EventKind, Incarnation, Member, NetworkSetting, Recipient};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use teamdir::{TeamDir, new_request_id};
use tools::{CommandAccess, Confinement, LEVEL_VARIABLE};
use tracing::warn;

/// The variable with the hooks of the workspace, for the server that an engine starts in its sandbox. There the
/// records of trust and the user's own file cannot be read.
const VARIABLE: &str = "TEAM_TASK_HOOKS";

/// The hooks for tasks, for a program that acts as a member, or as the user, who leads the team with it.
#[derive(Debug, Clone)]
pub struct TaskHooks {
    team: TeamDir,
    member: Option<Member>,
    hooks: Vec<Hook>,
    /// What the hooks of the workspace run in. Its folder is the one that whoever acts works in.
    confinement: Confinement,
}

/// A hook does not want a task to be created or completed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tool} was not run: a hook blocks it: {reason}")]
pub struct TaskRefused {
    tool: String,
    reason: String,
}

/// What the variable has.
#[derive(Serialize, Deserialize)]
struct Passed {
    /// The folder that the member works in.
    folder: PathBuf,
    /// The network of the sandbox around the server.
    network: NetworkSetting,
    hooks: Vec<PassedHook>,
}

/// A hook in the variable.
#[derive(Serialize, Deserialize)]
struct PassedHook {
    event: HookEvent,
    command: String,
    seconds: u64,
}

impl TaskHooks {
    /// As people have set them. Those of a workspace that is not trusted are left out. All begin in the folder of
    /// the confinement.
    #[must_use]
    pub fn of_settings(
        team: &TeamDir,
        member: Option<&Member>,
        settings: &WorkspaceSettings,
        is_trusted: bool,
        confinement: Confinement,
    ) -> Self {
        let mut hooks = settings.config.hooks();
        hooks.retain(|hook| is_trusted || hook.origin == HookOrigin::User);
        Self::new(team, member, hooks, confinement)
    }

    fn new(
        team: &TeamDir,
        member: Option<&Member>,
        mut hooks: Vec<Hook>,
        confinement: Confinement,
    ) -> Self {
        hooks.retain(is_for_tasks);
        Self {
            team: team.clone(),
            member: member.cloned(),
            hooks,
            confinement,
        }
    }

    /// Those that the process of this member has passed on to the server of its engine. The sandbox of the engine
    /// confines them already; the variables that are meant for the engine, such as its keys, are kept from them.
    #[must_use]
    pub fn passed_on(team: &TeamDir, member: &Member) -> Self {
        let passed = std::env::var(VARIABLE).unwrap_or_default();
        let passed = serde_json::from_str(&passed).unwrap_or_else(|_| Passed {
            folder: team.workspace().to_path_buf(),
            network: NetworkSetting::default(),
            hooks: Vec::new(),
        });
        let confinement = Confinement {
            has_sandbox: false,
            ..workspace_confinement(&passed.folder, passed.network)
        };
        let hooks = passed.hooks.into_iter().map(|passed| Hook {
            event: passed.event,
            matcher: Matcher::default(),
            command: passed.command,
            timeout: Duration::from_secs(passed.seconds),
            origin: HookOrigin::Workspace,
        });
        Self::new(team, Some(member), hooks.collect(), confinement)
    }

    /// Runs the hooks if this call creates or completes a task. Refuses with the reason of the one that blocks it.
    pub async fn before(
        &self,
        tool: &str,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Result<(), TaskRefused> {
        let Some((event, id)) = task_event(tool, arguments) else {
            return Ok(());
        };
        let hooks: Vec<&Hook> = self
            .hooks
            .iter()
            .filter(|hook| hook.event == event)
            .collect();
        if hooks.is_empty() {
            return Ok(());
        }
        let mut input = self.common(event);
        let fields = task_fields(&self.team, self.name(), arguments, id);
        if let (Value::Object(input), Value::Object(fields)) = (&mut input, fields) {
            input.extend(fields);
        }
        let mut said = HookAnswers::default();
        for hook in hooks {
            match hooks::run(hook, format!("{input}\n"), self.context(hook), cancel).await {
                Ok(reply) => {
                    if said.add(reply) {
                        break;
                    }
                }
                Err(error) => self.failed(hook, &error.to_string()),
            }
        }
        match said.block {
            Some(reason) => Err(TaskRefused {
                tool: tool.to_owned(),
                reason,
            }),
            None => Ok(()),
        }
    }

    /// What hooks read of whoever acts.
    fn common(&self, event: HookEvent) -> Value {
        let (name, incarnation) = (self.name(), self.incarnation());
        let owner = self.owner();
        json!({
            "session_id": format!("{name}-{incarnation}"),
            "transcript_path": self.team.layout().transcript(&owner),
            "cwd": self.confinement.workspace,
            "permission_mode": "default",
            "hook_event_name": event,
            "member": name,
            "role": self.member.as_ref().map_or("user", |member| &member.spec.role),
            "incarnation": incarnation,
        })
    }

    fn name(&self) -> &str {
        self.member
            .as_ref()
            .map_or("user", |member| member.spec.name.as_str())
    }

    fn incarnation(&self) -> Incarnation {
        self.member
            .as_ref()
            .map_or(Incarnation(0), |member| member.incarnation)
    }

    /// Whose files the hooks use. The user has the lead's, as everything that leads the team.
    fn owner(&self) -> Recipient {
        let member = self.member.as_ref();
        member.map_or(Recipient::Lead, |member| {
            Recipient::Member(member.spec.name.clone())
        })
    }

    fn context(&self, hook: &Hook) -> HookContext {
        let owner = self.owner();
        let id = new_request_id();
        let outputs = self.team.layout().member_outputs(&owner);
        // A team whose lead has never run has no such folder yet. What cannot be written fails the hook.
        let _ = std::fs::create_dir_all(&outputs);
        HookContext {
            folder: self.confinement.workspace.clone(),
            project: self.team.workspace().to_path_buf(),
            surroundings: match hook.origin {
                HookOrigin::User => hooks::outside(),
                HookOrigin::Workspace => self.confined(),
            },
            mark: format!("{}.hook.{id}", mark_of(&self.team, &owner)),
            scratch: outputs.join(format!("hook-{id}.txt")),
        }
    }

    fn confined(&self) -> Surroundings {
        let mut confined = self.confinement.surroundings(CommandAccess::Full);
        if let Surroundings::Environment(variables) = &mut confined
            && let Some(level) = std::env::var_os(LEVEL_VARIABLE)
        {
            // The sandbox around this process is in force.
            variables.retain(|(name, _)| name != LEVEL_VARIABLE);
            variables.push((LEVEL_VARIABLE.into(), level));
        }
        confined
    }

    fn failed(&self, hook: &Hook, reason: &str) {
        let event = hook.event;
        warn!("a {event} hook failed: {reason}: {}", hook.command);
        let failed = EventKind::HookFailed {
            member: self.owner(),
            incarnation: self.incarnation(),
            hook: event.to_string(),
            command: hook.command.chars().take(SHOWN_CHARS).collect(),
            reason: reason.to_owned(),
        };
        if let Err(error) = self.team.log_event(failed) {
            warn!("the event log cannot be written: {error}");
        }
    }
}

/// The variable that passes the hooks of the workspace on, if there are some for tasks. They run in this folder,
/// and reach this network.
pub(crate) fn pass_on(
    hooks: &[Hook],
    folder: PathBuf,
    network: NetworkSetting,
) -> Option<(String, String)> {
    let hooks: Vec<PassedHook> = hooks
        .iter()
        .filter(|hook| is_for_tasks(hook) && hook.origin == HookOrigin::Workspace)
        .map(|hook| PassedHook {
            event: hook.event,
            command: hook.command.clone(),
            seconds: hook.timeout.as_secs(),
        })
        .collect();
    if hooks.is_empty() {
        return None;
    }
    let passed = Passed {
        folder,
        network,
        hooks,
    };
    let text = serde_json::to_string(&passed).ok()?;
    Some((VARIABLE.to_owned(), text))
}

fn is_for_tasks(hook: &Hook) -> bool {
    matches!(
        hook.event,
        HookEvent::TaskCreated | HookEvent::TaskCompleted
    )
}
