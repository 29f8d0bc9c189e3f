//! The tool with which a member lets a helper search the workspace for it.
//!
//! The helper is an agent of its own in the same process: with the member's model or one that is set for helpers, an empty
//! conversation and tools that only read. What it reads fills its context and not the member's, which
//! gets the answer alone. It has no name, no mail and no journal: to the rest of the team it is one call
//! of a tool. If the process dies in the middle, the call counts as interrupted like any other.
//!
//! What its model costs is the member's: the calls go through the member's budget, and the live state
//! and the event log count them.

use crate::build::BudgetedModels;
use crate::call_rules::{CallDecision, CallVerdict};
use crate::host::images_hidden;
use crate::logging::excerpt;
use crate::runtime::MemberRuntime;
use agent::{
    Agent, Conversation, Event, Host, Log, LogError, MayRun, Outcome, Prompt, Record, Settings,
    Sources,
};
use llm::{CancellationToken, Model, ToolUse};
use protocol::UserMessage;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use tools::{
    Access, CommandAccess, DuplicateTool, Effect, Registry, SeenFiles, Tool, ToolContext,
    ToolError, ToolOutput,
};
use tracing::info;

/// How often the helper's model may be asked.
const MAX_ROUNDS: u32 = 40;
/// How many tokens the helper may use, input and output of all its requests together.
const MAX_TOKENS: u64 = 1_500_000;

const SYSTEM: &str = "You are a short-lived helper of a coding agent. Find out what you are asked and \
     answer; you can only read. Search with several calls at once, read what matters, and stop as soon \
     as you know. Your last message is all that the agent gets: answer in full, with paths, line numbers \
     and exact names, and say what you did not find.";
const LAST_ROUND: &str =
    "This is your last round. Answer now with what you know; no more tools are run.";

/// The model of helpers.
#[derive(Clone)]
pub(crate) struct HelperModel {
    pub(crate) model: Arc<dyn Model>,
    /// Whether it is another model than the member's.
    pub(crate) is_own: bool,
    pub(crate) settings: Settings,
}

impl MemberRuntime {
    /// Sets the model of the member's helpers.
    pub(crate) fn set_helper(&self, models: &BudgetedModels) {
        let (model, settings) = models.explore.clone();
        self.lock().helper = Some(HelperModel {
            is_own: !Arc::ptr_eq(&model, &models.model),
            model,
            settings,
        });
    }
}

/// What a helper works with.
#[derive(Clone)]
pub(crate) struct Explore {
    pub(crate) runtime: MemberRuntime,
    /// The tools of the member that only read.
    pub(crate) tools: Vec<&'static str>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExploreArgs {
    /// What to find out, with everything the helper needs to know: it knows nothing of your
    /// conversation.
    question: String,
}

impl Explore {
    /// The tools that a helper may have, of those that the member has.
    pub(crate) fn tools_of(registry: &Registry) -> Vec<&'static str> {
        let names = ["read_file", "grep", "glob", "list_dir", "bash"];
        let has = |name: &&str| registry.effect(name, "").is_some();
        names.into_iter().filter(has).collect()
    }

    fn registry(&self) -> Result<Registry, DuplicateTool> {
        let mut registry = Registry::new();
        registry.add(tools::ReadFile)?;
        registry.add(tools::Grep)?;
        registry.add(tools::Glob)?;
        registry.add(tools::ListDir)?;
        // A command can be kept from changing things only in a whole sandbox.
        if self.runtime.can_confine() {
            registry.add(tools::Bash)?;
        }
        registry.retain(|name| self.tools.contains(&name));
        Ok(registry)
    }

    async fn explore(
        &self,
        question: String,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let registry = self.registry();
        let registry = registry.map_err(|error| ToolError::from_error(&error))?;
        let chosen = self.runtime.lock().helper.clone();
        let chosen = chosen.ok_or_else(|| ToolError::new("no model was chosen for helpers"))?;
        let settings = Settings {
            max_rounds: MAX_ROUNDS,
            ..chosen.settings
        };
        let cancel = context.cancel.child_token();
        let mut host = HelperHost {
            runtime: self.runtime.clone(),
            limit: cancel.clone(),
            own_model: chosen.is_own.then(|| chosen.model.name().to_owned()),
            asked_at: Instant::now(),
            rounds: 0,
            tokens: 0,
        };
        let mut helper = Agent::new(
            chosen.model,
            Arc::new(registry),
            ToolContext {
                // What only the helper has read, the member has not seen.
                seen: SeenFiles::default(),
                ..context.clone()
            },
            settings,
            Conversation::new(),
        );
        let input = vec![UserMessage::from_person(question)];
        let outcome = helper.run_turn(input, &mut host, &cancel).await;
        let said = || helper.conversation().last_reply();
        match outcome {
            Outcome::Finished { text } if !text.trim().is_empty() => Ok(ToolOutput::ok(text)),
            Outcome::Finished { .. } => Err(ToolError::new("the helper ended without an answer")),
            Outcome::RoundLimit { .. } => Err(unfinished("rounds", &said())),
            Outcome::CutOff { text } => Err(unfinished("output", &text)),
            Outcome::Interrupted if !context.cancel.is_cancelled() => {
                Err(unfinished("tokens", &said()))
            }
            Outcome::Interrupted => Err(ToolError::cancelled()),
            Outcome::Failed { error } => Err(ToolError::from_error(&error)),
        }
    }
}

fn unfinished(limit: &str, said: &str) -> ToolError {
    ToolError::new(format!(
        "the helper reached its limit of {limit} without an answer; ask for less. It said last: {said}"
    ))
}

impl Tool for Explore {
    const NAME: &'static str = "explore";
    const DESCRIPTION: &'static str = "Let a short-lived helper find something out: it searches and reads \
        in a context of its own and returns only its answer. Use it for questions that take many searches \
        or long files. It can only read. Several calls run at the same time.";
    const EFFECT: Effect = Effect::Read;
    type Args = ExploreArgs;

    async fn call(
        &self,
        args: ExploreArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if args.question.trim().is_empty() {
            return Err(ToolError::new("the question is empty"));
        }
        self.explore(args.question, context).await
    }
}

/// The program around a helper. Nothing of its conversation is kept.
struct HelperHost {
    runtime: MemberRuntime,
    /// Ends the helper when it has used its tokens.
    limit: CancellationToken,
    /// The model that is asked, if it is another one than the member's.
    own_model: Option<String>,
    asked_at: Instant,
    rounds: u32,
    tokens: u64,
}

impl Log for HelperHost {
    fn append(&mut self, _: &Record) -> Result<(), LogError> {
        Ok(())
    }

    fn next_archive(&self) -> Result<String, LogError> {
        Ok(self.records_path())
    }

    fn records_path(&self) -> String {
        "no file (a helper's conversation is not kept)".to_owned()
    }
}

impl Sources for HelperHost {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        let is_last = self.rounds + 1 == MAX_ROUNDS;
        is_last
            .then(|| UserMessage::new(LAST_ROUND))
            .into_iter()
            .collect()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }
}

impl HelperHost {
    /// What the member's rules say. Nobody is asked about what a helper wants to know.
    fn decide(&self, tool_use: &ToolUse, effect: Effect, commands: CommandAccess) -> MayRun {
        let text = tool_use.replayed_input().get();
        let arguments = serde_json::from_str(text).unwrap_or_default();
        let decision = self.runtime.decide(&tool_use.name, &arguments, effect);
        let CallDecision {
            verdict,
            why,
            extent,
        } = decision;
        match verdict {
            CallVerdict::Allow if !extent.network => MayRun::Yes(Access {
                commands,
                files: extent.files,
            }),
            CallVerdict::Allow | CallVerdict::Ask { .. } | CallVerdict::Deny => {
                let name = &tool_use.name;
                MayRun::No(ToolError::new(format!(
                    "{name} is not for a helper: {why}; say so in your answer"
                )))
            }
        }
    }
}

impl Host for HelperHost {
    fn prompt(&mut self) -> Prompt {
        self.asked_at = Instant::now();
        let folder = self.runtime.folder();
        let folder = folder.display();
        Prompt {
            system: format!("{SYSTEM}\nThe workspace is {folder}."),
            shared_system: 0,
            reminder: None,
        }
    }

    fn may_run(&mut self, tool_use: &ToolUse, effect: Option<Effect>) -> MayRun {
        match effect {
            None => MayRun::Yes(Access::default()),
            Some(effect @ Effect::Read) => self.decide(tool_use, effect, CommandAccess::Full),
            Some(effect @ Effect::Execute) if self.runtime.can_confine() => {
                self.decide(tool_use, effect, CommandAccess::ReadOnly)
            }
            Some(Effect::Execute | Effect::State | Effect::Mutate | Effect::Ask) => {
                let text = format!("a helper can only read; {} is not for it", tool_use.name);
                MayRun::No(ToolError::new(text))
            }
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Replied { model, usage } => {
                self.rounds += 1;
                let used = usage.unwrap_or_default();
                self.tokens = self.tokens.saturating_add(used.total_input() + used.output);
                if self.tokens > MAX_TOKENS {
                    self.limit.cancel();
                }
                let took = self.asked_at.elapsed();
                let asked = self.own_model.as_deref();
                self.runtime.helper_replied(asked, model, usage, took);
            }
            Event::ToolStarted {
                name, arguments, ..
            } => {
                info!("explore > {name} {}", excerpt(&arguments));
                self.runtime.helper_runs(&name);
            }
            Event::Waiting(waiting) => info!("explore: {waiting}"),
            Event::Switched(switch) => match &mut self.own_model {
                Some(own) => {
                    info!("explore: {switch}");
                    *own = switch.to;
                }
                None => self.runtime.lock().switched(switch),
            },
            Event::ImagesHidden { model } => info!("explore: {}", images_hidden(&model)),
            Event::Text(_)
            | Event::Thinking(_)
            | Event::ToolFinished { .. }
            | Event::Compacting
            | Event::Compacted { .. } => {}
        }
    }
}
