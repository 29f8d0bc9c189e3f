//! Builds the lead, runs it, and closes everything.

use crate::console::{Console, ConsoleOptions, ConsoleWriter, Input, Mode, Output};
use crate::hooks::{LeadHandle, LeadHooks};
use crate::integrator::Integrator;
use crate::jobs::{JobResult, Jobs};
use crate::machine::{self, LeadMachine};
use crate::mail_handler::LeadMailHandler;
use crate::main_loop::{Finish, Lead, State};
use crate::model::{self, BuiltModel, ModelSwitch};
use crate::opening_lines::{show_end, show_work_info};
use crate::run_error::RunError;
use crate::session::{Resume, begin_session, choose_session};
use crate::signals::Signals;
use crate::starter::TrustedStarter;
use crate::steering::Steering;
use agent::Agent;
use config::Config;
use member::{
    AgentRunner, AgentTools, AskSettings, Clearance, LogOptions, MemberRuntime, Recovered,
    RuntimeError, RuntimeHost, SandboxSettings, WorkspaceSettings, prompt_spec,
};
use processes::Programs;
use prompts::{CurrentPrompt, PromptSpec, Reader};
use protocol::{Caps, MemberRules, NetworkSetting, Recipient, SandboxMode, Tuning};
use std::sync::Arc;
use std::time::{Duration, Instant};
use team_tools::{AgentHandle, AnswerRequest, Starter, TeamContext, TeammateDefaults, lead_tools};
use teamdir::{JoinError, SessionError, TeamDir};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tools::{Background, Confinement, DuplicateTool, Registry};
use tracing::{Instrument, info_span};

/// How long jobs may take to end with the process. All of them may be killed at any time.
const LAST_JOBS: Duration = Duration::from_millis(200);

/// What can be chosen about a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The only prompt; without one they are typed.
    pub prompt: Option<String>,
    /// Which conversation is continued.
    pub resume: Resume,
    /// Whether the team goes on when the lead leaves.
    pub keep: bool,
    /// The models of the lead and of the teammates it starts, between commas.
    pub model: Option<String>,
    /// How those are asked.
    pub tuning: Tuning,
    /// Whether those use the web with the tools of their providers.
    pub web: Option<bool>,
    pub settings: WorkspaceSettings,
    /// For the members that are started.
    pub clearance: Clearance,
    /// Whether commands of the lead and of the teammates it starts run in a sandbox.
    pub sandbox: Option<SandboxMode>,
    /// What those commands reach over the network.
    pub network: Option<NetworkSetting>,
    /// What the lead and the teammates it starts may do, by the command line.
    pub permissions: Option<MemberRules>,
    /// The name of the person who runs it, where it is known.
    pub person: Option<String>,
    /// What the team may spend in this run, besides its budget.
    pub budget: Caps,
    /// How long the whole run may take.
    pub timeout: Option<Duration>,
    /// Whether what only a person could answer is ended at once, because there is none.
    pub deny_asks: bool,
    /// How many times the model may be asked in a turn; 0 is without limit.
    pub max_rounds: u32,
    /// How many tokens the model's window holds, whatever is known about the model.
    pub window: Option<u64>,
    /// How long members have to answer when the lead leaves.
    pub leave_timeout: Duration,
    pub console_options: ConsoleOptions,
    pub log: LogOptions,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub code: u8,
    /// The answer to the prompt, if it was not printed.
    pub answer: Option<String>,
}

/// What a person types to allow the commands of the lead more.
const SANDBOX_REMEDY: &str =
    "team-lead run --network on (or --sandbox off), after this run has ended";

/// Runs the lead until it leaves.
pub fn run(team: &TeamDir, options: &RunOptions) -> Result<Ended, RunError> {
    let settings = &options.settings;
    let model = model::choose(options)?;
    let mut clearance = options.clearance.clone();
    if let Some(model) = &model.for_teammates {
        clearance.allow_model(team, model)?;
    }
    let starter = Arc::new(TrustedStarter::new(Programs::find()?, clearance));
    // When the last conversation ended, if the lead was killed.
    let written = team.journal_written(&Recipient::Lead).unwrap_or_default();
    let (runtime, mut recovered) = open(team, &options.log)?;
    choose_session(&runtime, &mut recovered, written, &options.resume)?;
    let model = model.or_that_of(&recovered.conversation, options);
    budget::begin_run(team, runtime.incarnation(), &options.budget)?;
    let chosen = (options.sandbox.clone(), options.network.clone());
    let sandbox = sandbox_settings(chosen, &settings.config);
    let confinement = runtime.confine(&sandbox, SANDBOX_REMEDY.to_owned())?;
    let model = model.build(&runtime, options);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mode = Mode::choose(options.prompt.is_some());
    let (console, input) = Console::open(mode, &options.console_options, team.workspace());
    let builder = LeadBuilder {
        team,
        options,
        mode,
        runtime: &runtime,
        console: &console,
        confinement: &confinement,
    };
    let span = info_span!("incarnation", member = "lead", n = runtime.incarnation().0);
    let finish = executor.block_on(
        builder
            .run(model, starter, recovered, input)
            .instrument(span),
    );
    executor.shutdown_timeout(LAST_JOBS);
    // The limits hold for members that go on without their lead.
    if finish.as_ref().is_ok_and(|finish| finish.has_ended_team) && !runtime.is_team_gone() {
        let _ = budget::end_run(team, runtime.incarnation());
    }
    let ended =
        finish.map(|finish| close(&console, finish, options.console_options.returns_answer));
    console.close();
    if !runtime.is_team_gone() {
        let _ = runtime.close();
    }
    ended
}

/// How the lead's commands are confined: as its options say, else the configuration.
pub fn sandbox_settings(
    chosen: (Option<SandboxMode>, Option<NetworkSetting>),
    config: &Config,
) -> SandboxSettings {
    let (mode, network) = chosen;
    let mode = mode.or_else(|| config.sandbox().value);
    let network = network.or_else(|| config.network().value);
    SandboxSettings {
        mode: mode.unwrap_or_default(),
        network: network.unwrap_or_default(),
    }
}

fn open(team: &TeamDir, log: &LogOptions) -> Result<(MemberRuntime, Recovered), RunError> {
    let opened =
        MemberRuntime::start(team, &Recipient::Lead, log).map_err(|error| match error {
            RuntimeError::MemberSession(SessionError::Join(holder @ JoinError::Held { .. })) => {
                RunError::Held {
                    folder: team.layout().root().display().to_string(),
                    holder,
                }
            }
            error @ (RuntimeError::MemberSession(_) | RuntimeError::Recovered(_)) => {
                RunError::MemberRuntime(error)
            }
        })?;
    // Nobody reaps a lead, so the next one recovers its events. They only inform people.
    let _ = processes::recover_events(team, &Recipient::Lead);
    Ok(opened)
}

fn close(console: &Console, finish: Finish, return_answer: bool) -> Ended {
    let Finish {
        code, mut answer, ..
    } = finish;
    if let Some(text) = answer.take_if(|_| !return_answer) {
        console.writer().write(&Output::Answer(&text));
    }
    Ended { code, answer }
}

struct LeadBuilder<'a> {
    team: &'a TeamDir,
    options: &'a RunOptions,
    mode: Mode,
    runtime: &'a MemberRuntime,
    console: &'a Console,
    confinement: &'a Arc<Confinement>,
}

impl LeadBuilder<'_> {
    async fn run(
        &self,
        model: BuiltModel,
        starter: Arc<TrustedStarter>,
        mut recovered: Recovered,
        input: Receiver<Input>,
    ) -> Result<Finish, RunError> {
        let signals = Signals::listen()?;
        let writer = self.console.writer();
        let model_name = model.names.clone();
        let window = model.models.settings.limits.window;
        show_work_info(self.team.workspace(), &model_name, window, &writer);
        self.say_remarks(&model, &writer);
        let resume = &self.options.resume;
        let conversation = &mut recovered.conversation;
        begin_session(self.runtime, conversation, resume, &model.names)?;
        if *resume != Resume::No && self.mode == Mode::Terminal {
            show_end(conversation, &writer);
        }
        self.prepare_runtime(&recovered, &writer)?;
        let machine = self.machine(&recovered);
        let background = Background::new();
        let (jobs, job_results) = self.jobs(&starter);
        let spec = prompt_spec(self.team.workspace(), Reader::Lead, self.confinement);
        let registry = self.registry(&model, &spec, starter, &background)?;
        let steering = Steering::default();
        let hooks = LeadHooks::new(
            self.runtime.clone(),
            steering.clone(),
            writer.clone(),
            jobs.results(),
        );
        let agent = self.agent(model, registry, &background, recovered)?;
        let host = RuntimeHost::new(self.runtime.clone(), CurrentPrompt::new(spec), hooks);
        let timeout = self.options.timeout;
        let lead = Lead {
            runtime: self.runtime.clone(),
            machine,
            agent: AgentRunner::new(agent, host),
            background,
            writer,
            has_person: self.mode == Mode::Terminal,
            steering,
            model: model_name,
            model_switch: ModelSwitch::new(self.options),
            person: self.options.person.clone(),
            jobs,
            job_results,
            leave_timeout: self.options.leave_timeout,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            state: State::default(),
        };
        Ok(lead.run(input, signals).await)
    }

    /// Prints notes about the model and the sandbox.
    fn say_remarks(&self, model: &BuiltModel, writer: &ConsoleWriter) {
        for remark in &model.remarks {
            writer.notice(remark);
        }
        if self.confinement.has_sandbox
            && let Some(remark) = member::weakness(self.confinement.level())
        {
            writer.notice(&remark);
        }
    }

    fn prepare_runtime(
        &self,
        recovered: &Recovered,
        writer: &ConsoleWriter,
    ) -> Result<(), RunError> {
        self.runtime.withdraw_old_asks(&recovered.conversation);
        let config = &self.options.settings.config;
        let asking = AskSettings::of(config, None, self.options.permissions.as_ref())?;
        self.runtime.set_asking(asking);
        self.runtime
            .before_commit(team::record_before_commit(self.team));
        self.runtime.set_mail_handler(Box::new(LeadMailHandler {
            team: self.team.clone(),
            writer: writer.clone(),
        }));
        self.runtime.watch_board();
        self.runtime.watch_requests(true);
        self.runtime.announce();
        Ok(())
    }

    fn jobs(&self, starter: &Arc<TrustedStarter>) -> (Jobs, UnboundedReceiver<JobResult>) {
        let chosen = (self.options.sandbox.clone(), self.options.network.clone());
        let config = self.options.settings.config.clone();
        let sandbox = sandbox_settings(chosen, &config);
        Jobs::new(
            self.team.clone(),
            self.runtime.me(),
            Arc::clone(starter),
            (self.options.deny_asks, self.console.has_screen()),
            Integrator::new(config, sandbox),
        )
    }

    fn machine(&self, recovered: &Recovered) -> LeadMachine {
        let options = machine::Options {
            mode: self.mode,
            keep: self.options.keep,
        };
        let unfinished = recovered.conversation.is_waiting();
        let prompt = self.options.prompt.clone();
        LeadMachine::new(options, prompt, unfinished, Instant::now())
    }

    fn agent(
        &self,
        model: BuiltModel,
        mut registry: Registry,
        background: &Background,
        recovered: Recovered,
    ) -> Result<Agent, RunError> {
        let models = model.models;
        self.runtime.add_explore(&mut registry, &models)?;
        let settings = &self.options.settings;
        self.runtime.add_mcp_tools(&mut registry, settings, None)?;
        let tools = AgentTools {
            registry,
            background: background.clone(),
        };
        let conversation = recovered.conversation;
        let agent = self
            .runtime
            .build_agent(models.model, tools, models.settings, conversation)?;
        Ok(agent.with_lost_commands(&recovered.lost_commands))
    }

    fn registry(
        &self,
        model: &BuiltModel,
        spec: &PromptSpec,
        starter: Arc<TrustedStarter>,
        background: &Background,
    ) -> Result<Registry, DuplicateTool> {
        let context = TeamContext {
            team: self.team.clone(),
            me: self.runtime.me(),
            role: "lead".to_owned(),
            submitter: None,
        };
        let handle: Arc<dyn AgentHandle> = Arc::new(LeadHandle(self.runtime.clone()));
        let defaults = TeammateDefaults {
            model: model.for_teammates.clone(),
            tuning: self.options.tuning.clone(),
            web: self.options.web,
            sandbox: self.options.sandbox.clone(),
            network: self.options.network.clone(),
            permissions: self.options.permissions.clone(),
        };
        let starter: Arc<dyn Starter> = starter;
        let mut registry = registry((&context, &handle, background), spec, &starter, defaults)?;
        if self.options.settings.config.lead_decides().value == Some(true) {
            registry.add(AnswerRequest::new(context))?;
        }
        Ok(registry)
    }
}

/// The tools of a lead.
pub(crate) fn registry(
    parts: (&TeamContext, &Arc<dyn AgentHandle>, &Background),
    spec: &PromptSpec,
    starter: &Arc<dyn Starter>,
    defaults: TeammateDefaults,
) -> Result<Registry, DuplicateTool> {
    let (context, handle, background) = parts;
    let mut registry = lead_tools(context, handle, background, starter, defaults)?;
    if let Some(skills) = spec.skill_tool() {
        registry.add(skills)?;
    }
    Ok(registry)
}
