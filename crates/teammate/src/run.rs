//! The teammate's main loop: wait, tell the state machine what happened, perform what it says.

mod perform;

use crate::build_agent::build_agent;
use crate::claims::Claims;
use crate::hooks::TeammateHooks;
use crate::machine::{Event, Exit, LocalState, Startup, TeamState, TeammateMachine, TurnEnd};
use crate::mail_handler::TeammateMailHandler;
use crate::shutdown::ShutdownRequests;
use crate::start_options::{Ended, StartOptions, TeammateError};
use crate::trees::{self, OwnWork};
use crate::wait::{Owners, owners, wait};
use crate::{foreign, settings, signals};
use integration::Integration;
use member::{
    AgentRunner, MemberRuntime, Recovered, RuntimeHost, TurnOutcome, gate, prompt_spec, trim_heap,
};
use processes::mark_of;
use prompts::{CurrentPrompt, PromptSpec};
use protocol::UserMessage;
use protocol::{AgentName, Incarnation, Member, Phase, Recipient, RequestId};
use rules::PlanGate;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::{Background, Confinement};
use tracing::{Instrument, error, info_span, warn};

/// What a person types to allow the commands of this teammate more.
fn sandbox_remedy(name: &AgentName) -> String {
    format!(
        "team-lead shutdown {name} --wait, then team-lead spawn {name} ROLE --network on (or --sandbox off)"
    )
}

/// Runs this process as a teammate until it ends.
pub async fn run(options: StartOptions) -> Result<Ended, TeammateError> {
    let termination = signals::termination()?;
    let owner = Recipient::Member(options.name.clone());
    let (runtime, mut recovered) = MemberRuntime::start(&options.team, &owner, &options.log)?;
    if options.fresh {
        runtime.start_new_conversation(&mut recovered.conversation, None)?;
    }
    let member = entry(&runtime, &options.name)?;
    let config = &options.workspace.config;
    let member = settings::adopt(&options.team, member, config)?;
    let own_work = trees::enter(&runtime, &member, config)?;
    let sandbox = settings::sandbox(config, &member);
    let confinement = runtime.confine(&sandbox, sandbox_remedy(&options.name))?;
    // Commands that a killed incarnation left running would go on unseen. Whoever starts the process of a
    // member sees to that, but it may have been started by hand.
    if !is_previous_reaped(&member) {
        let mark = mark_of(&options.team, runtime.owner());
        command::kill_marked(|found| found.starts_with(&format!("{mark}.")));
    }
    if let Some(program) = member.spec.exec.clone() {
        return tokio::select! {
            ended = foreign::run(&runtime, &program, &confinement, &termination) => ended,
            () = runtime.team_gone() => Err(folder_removed(&runtime)),
        };
    }
    let span = info_span!("incarnation", member = %member.spec.name, n = runtime.incarnation().0);
    let start = (runtime, recovered, confinement, own_work);
    let mut teammate = Teammate::new(options, &member, start, termination)?;
    teammate.run().instrument(span).await
}

/// Whether the incarnation before this one was reaped, or there was none.
fn is_previous_reaped(member: &Member) -> bool {
    let previous = member.incarnation.0.saturating_sub(1);
    previous == 0 || member.reaped >= Some(Incarnation(previous))
}

/// The error of a process whose folder is gone, after a last line in its log.
fn folder_removed(runtime: &MemberRuntime) -> TeammateError {
    let folder = runtime.team().layout().root().to_path_buf();
    let error = TeammateError::FolderRemoved(folder);
    error!("{error}; this process ends");
    error
}

/// The member's entry in the roster.
fn entry(runtime: &MemberRuntime, name: &AgentName) -> Result<Member, TeammateError> {
    let roster = runtime.team().roster()?;
    let known = roster.member(name).cloned();
    known.ok_or_else(|| TeammateError::Dismissed(name.clone()))
}

/// What a process has before it is a teammate.
type Start = (MemberRuntime, Recovered, Arc<Confinement>, Option<OwnWork>);

struct Teammate {
    name: AgentName,
    runtime: MemberRuntime,
    machine: TeammateMachine,
    agent: AgentRunner<TeammateHooks>,
    claims: Claims,
    /// Present if it works in a tree of its own.
    own_work: Option<OwnWork>,
    shutdown_requests: Arc<ShutdownRequests>,
    background: Background,
    termination: CancellationToken,
    is_terminating: bool,
    /// Its model is the agent of another program.
    is_engine: bool,
    /// Notified when a turn has to wait for its model or for a person.
    turn_waits: Arc<Notify>,
    /// Whose end would free a task.
    owners: Owners,
    /// Whether what the start needed was given back to the system.
    is_heap_trimmed: bool,
    /// Events that answer actions, to be handled before anything is waited for.
    events: VecDeque<Event>,
    exit: Option<Exit>,
}

/// Lets the program see each message before the model does. Returns the shutdown requests among them.
fn handle_mail(
    runtime: &MemberRuntime,
    name: &AgentName,
    is_engine: bool,
) -> Arc<ShutdownRequests> {
    let requests = Arc::new(ShutdownRequests::new(runtime.team(), runtime.me()));
    runtime.set_mail_handler(Box::new(TeammateMailHandler {
        team: runtime.team().clone(),
        name: name.clone(),
        incarnation: runtime.incarnation(),
        shutdown_requests: Arc::clone(&requests),
        is_engine,
    }));
    requests
}

/// Ends what earlier processes asked. An engine may come back to what it asked in a turn that has not ended.
fn withdraw_old_asks(runtime: &MemberRuntime, recovered: &Recovered, engine: Option<&str>) {
    if let Some(engine) = engine.filter(|_| recovered.conversation.is_waiting()) {
        runtime.keep_engine_asks(engine);
    }
    runtime.withdraw_old_asks(&recovered.conversation);
}

impl Teammate {
    fn new(
        options: StartOptions,
        member: &Member,
        start: Start,
        termination: CancellationToken,
    ) -> Result<Self, TeammateError> {
        let (runtime, recovered, confinement, own_work) = start;
        let engine = settings::engine(&options.workspace.config, member);
        withdraw_old_asks(&runtime, &recovered, engine.as_deref());
        runtime.set_asking(settings::asking(&options.workspace.config, member)?);
        let name = member.spec.name.clone();
        let is_engine = engine.is_some();
        let shutdown_requests = handle_mail(&runtime, &name, is_engine);
        let background = Background::new();
        let unreported = recovered.unreported.clone();
        let unreported = unreported.filter(|_| !recovered.conversation.is_waiting());
        let reader = settings::reader(&options.workspace.config, member);
        let spec = PromptSpec {
            is_own_tree: own_work.is_some(),
            ..prompt_spec(&runtime.folder(), reader, &confinement)
        };
        let turn_waits = Arc::new(Notify::new());
        let (agent, input) = build_agent(
            &options,
            member,
            (&runtime, &spec),
            recovered,
            (
                &shutdown_requests,
                &background,
                own_work.as_ref(),
                &turn_waits,
            ),
        )?;
        let claims = Claims::new(&runtime, &member.spec.role, &background);
        let hooks = TeammateHooks {
            runtime: runtime.clone(),
            name: name.clone(),
            shutdown_requests: Arc::clone(&shutdown_requests),
            claims: claims.clone(),
            own_work: own_work.clone(),
            turn_waits: Arc::clone(&turn_waits),
            was_model_asked: false,
            is_engine,
        };
        let host = RuntimeHost::new(runtime.clone(), CurrentPrompt::new(spec), hooks);
        let mut teammate = Self {
            agent: AgentRunner::new(agent, host),
            machine: TeammateMachine::new(),
            name,
            runtime,
            claims,
            own_work,
            shutdown_requests,
            background,
            termination,
            is_terminating: false,
            is_engine,
            turn_waits,
            owners: Owners::default(),
            is_heap_trimmed: false,
            events: VecDeque::new(),
            exit: None,
        };
        teammate.start(input, unreported);
        Ok(teammate)
    }

    fn start(&mut self, input: Vec<UserMessage>, unreported: Option<String>) {
        if let Err(error) = self.claims.release_earlier() {
            warn!("tasks of an earlier incarnation stay claimed: {error}");
        }
        if self.claims.is_enabled() {
            self.runtime.watch_board();
        }
        let startup = Startup {
            input,
            unreported,
            local: self.local_state(),
            team: self.team_state(),
        };
        self.events.push_back(Event::Started(Box::new(startup)));
    }

    async fn run(&mut self) -> Result<Ended, TeammateError> {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.next_event().await,
            };
            for action in self.machine.handle(event, Instant::now()) {
                self.perform(action);
            }
            if let Some(exit) = self.exit.take() {
                self.agent.abandon();
                self.runtime.end_engine().await;
                return self.end(exit);
            }
        }
    }

    /// Waits until something happens.
    async fn next_event(&mut self) -> Event {
        let until = self.machine.wake_at();
        let watches_files = self.machine.watches_files();
        let is_busy = !self.agent.is_free();
        if !is_busy && !self.is_heap_trimmed {
            self.is_heap_trimmed = true;
            trim_heap();
        }
        let timer = async {
            match until {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.termination.cancelled(), if !self.is_terminating => {
                self.is_terminating = true;
                Event::TerminationRequested
            }
            () = self.runtime.team_gone() => Event::FolderRemoved,
            outcome = self.agent.ended(), if is_busy => self.turn_ended(outcome),
            () = self.turn_waits.notified(), if is_busy => Event::TurnWaits,
            () = self.background.finished(), if self.machine.watches_background() => {
                Event::BackgroundFinished
            }
            () = wait(&self.runtime, &self.owners, until), if watches_files => self.check(),
            () = timer, if !watches_files => self.check(),
        }
    }

    fn check(&self) -> Event {
        if self.runtime.is_team_gone() {
            Event::FolderRemoved
        } else if self.runtime.has_later_incarnation() {
            Event::Replaced
        } else {
            Event::Checked(self.local_state())
        }
    }

    fn local_state(&self) -> LocalState {
        LocalState {
            unread: self.runtime.has_unread(),
            undelivered: !self.runtime.pending_mail().is_empty(),
            mail_retry_at: self.runtime.mail_retry_at(),
            is_unanswered: self.agent.is_unanswered(),
            // An engine reads no mail during a prompt, so that its process looks for shutdown requests.
            is_turn_waiting: self.is_engine || self.runtime.phase() == Phase::Waiting,
            approved_shutdown: self.shutdown_requests.approved(),
        }
    }

    fn team_state(&self) -> TeamState {
        let member = entry(&self.runtime, &self.name).ok();
        let timeout = member.and_then(|member| member.spec.idle_timeout);
        TeamState {
            task: self.claims.state(),
            pending_plan: self.pending_plan(),
            background_running: self.background.running(),
            background_finished: self.background.has_finished(),
            has_dead_owner: false,
            idle_timeout: timeout.map(Duration::from_secs),
            unread: self.runtime.has_unread(),
        }
    }

    /// The same, after the claims of members whose processes are gone were returned to the board.
    fn check_team(&mut self) -> TeamState {
        self.owners = match self.claims.is_enabled() {
            true => owners(&self.runtime),
            false => Owners::default(),
        };
        let has_dead_owner = self.owners.has_dead;
        if has_dead_owner {
            processes::repair(self.runtime.team());
        }
        if let Some(own_work) = &self.own_work
            && Integration::is_queue_due(self.runtime.team())
        {
            own_work.integrate();
        }
        TeamState {
            has_dead_owner,
            ..self.team_state()
        }
    }

    fn pending_plan(&self) -> Option<RequestId> {
        let own = self.runtime.plan();
        match gate(self.runtime.team(), &self.name, own.as_ref()) {
            PlanGate::Pending { request_id, .. } => Some(request_id),
            PlanGate::NotRequired
            | PlanGate::Required
            | PlanGate::Approved { .. }
            | PlanGate::Rejected { .. } => None,
        }
    }

    fn turn_ended(&mut self, outcome: TurnOutcome) -> Event {
        if let TurnOutcome::Failed(failure) = &outcome {
            warn!("the turn failed: {}", failure.reason);
        }
        let hooks = self.agent.hooks();
        Event::TurnEnded(Box::new(TurnEnd {
            was_model_asked: hooks.is_some_and(|hooks| hooks.was_model_asked),
            approved_shutdown: self.shutdown_requests.approved(),
            team: self.team_state(),
            outcome,
        }))
    }
}
