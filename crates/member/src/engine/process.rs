//! The process of an agent: its program, its sandbox, and the session that outlives it.

use super::confine::find;
use crate::gate::gate;
use crate::runtime::MemberRuntime;
use crate::user_hooks::pass_on;
use acp::{
    Connection, EngineChoice, Failure, Opening, Received, Session, SessionEvent, TeamServer,
};
use command::{Save, SaveWhen, Spec};
use llm::CancellationToken;
use processes::mark_of;
use protocol::{NetworkSetting, Recipient};
use rules::PlanGate;
use sandbox::Level;
use std::path::Path;
use std::time::Duration;
use teamdir::new_request_id;
use tracing::{info, warn};

/// How long an agent may take to open its session.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
/// How long the processes of an agent that is replaced may take to end.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long an agent has to end its prompt after it was told to.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_secs(2);
/// How long an agent has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Choice(#[from] acp::ChoiceError),
    #[error("{program} is not installed, which the engine {engine} needs: {install}")]
    Missing {
        engine: String,
        program: String,
        install: String,
    },
    #[error(
        "the engine {0} has to reach its model, and its member has no network: give it --network on, or a list \
         of the hosts that it needs"
    )]
    NoNetwork(String),
    #[error(
        "the engine {0} uses tools of its own, and only a sandbox of level full keeps it from changing anything \
         before its plan is approved: see `team-lead sandbox check`"
    )]
    CannotGate(String),
    #[error("{engine}: {failure}; {login}")]
    Login {
        engine: String,
        failure: String,
        login: String,
    },
    #[error("{engine} did not begin: {reason}")]
    NotBegun { engine: String, reason: String },
    #[error("{0} was not started: {1}")]
    Start(String, #[source] command::StartError),
}

impl EngineError {
    /// Whether trying again would fail in the same way.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::Choice(_)
            | Self::Missing { .. }
            | Self::NoNetwork(_)
            | Self::CannotGate(_)
            | Self::Login { .. } => true,
            Self::NotBegun { .. } | Self::Start(..) => false,
        }
    }
}

/// A running agent with an open session.
pub(super) struct Running {
    pub(super) connection: Connection,
    pub(super) session: Session,
    /// Whether it may change the workspace.
    is_writable: bool,
    /// Whether the agent knows who it is.
    pub(super) is_introduced: bool,
    /// A prompt was given up, and the agent may still work on it.
    pub(super) is_stale: bool,
}

impl Running {
    /// Waits a moment for the end of a prompt that was cancelled. An agent that ends it can be given the next.
    pub(super) async fn settle(&mut self) {
        if !self.is_stale {
            return;
        }
        let ended = async {
            loop {
                let Received::Line(line) = self.connection.receive().await else {
                    return false;
                };
                for one in self.session.line(&line) {
                    match one {
                        SessionEvent::Send(line) => self.connection.send(line),
                        SessionEvent::Ended(_) => return true,
                        SessionEvent::Failed(_) => return false,
                        SessionEvent::Opened { .. }
                        | SessionEvent::Text(_)
                        | SessionEvent::Thought(_)
                        | SessionEvent::ToolStarted(_)
                        | SessionEvent::ToolEnded { .. }
                        | SessionEvent::Cost(_)
                        | SessionEvent::Asked(_)
                        | SessionEvent::AskWithdrawn(_)
                        | SessionEvent::Garbage => {}
                    }
                }
            }
        };
        let ended = tokio::time::timeout(CANCEL_LIMIT, ended).await;
        self.is_stale = !ended.unwrap_or(false);
        match self.is_stale {
            true => warn!("the engine has not ended its cancelled prompt, and is killed"),
            false => info!("the engine has ended its cancelled prompt"),
        }
    }
}

/// A prompt that runs. Dropped before its end, it cancels it.
pub(super) struct PromptGuard<'a> {
    pub(super) agent: &'a mut Running,
    pub(super) asking: CancellationToken,
    pub(super) is_over: bool,
}

impl<'a> PromptGuard<'a> {
    pub(super) const fn new(agent: &'a mut Running, asking: CancellationToken) -> Self {
        Self {
            agent,
            asking,
            is_over: false,
        }
    }
}

impl Drop for PromptGuard<'_> {
    fn drop(&mut self) {
        self.asking.cancel();
        if !self.is_over {
            self.agent.is_stale = true;
            for line in self.agent.session.cancel() {
                self.agent.connection.send(line);
            }
        }
    }
}

impl MemberRuntime {
    /// Whether an engine can work here at all.
    pub(super) fn check_engine(&self, choice: &EngineChoice) -> Result<(), EngineError> {
        let engine = choice.to_string();
        let program = choice.program();
        if find(program, &self.folder()).is_none() {
            return Err(EngineError::Missing {
                engine,
                program: program.to_owned(),
                install: choice.install(),
            });
        }
        let confinement = self.confinement();
        let is_cut_off = confinement.as_ref().is_some_and(|confinement| {
            confinement.level() != Level::None && confinement.network == NetworkSetting::Off
        });
        match is_cut_off {
            true => Err(EngineError::NoNetwork(engine)),
            false => Ok(()),
        }
    }

    /// The agent, started if it does not run or may do something else now.
    pub(super) async fn ensure_running(
        &self,
        choice: &EngineChoice,
        running: Option<Running>,
        is_new: bool,
    ) -> Result<Running, EngineError> {
        let is_writable = self.is_gate_open();
        if let Some(mut running) = running {
            running.settle().await;
            if running.is_writable == is_writable && !running.is_stale {
                return Ok(running);
            }
            end(&mut running.connection).await;
            if !running.is_stale {
                self.engine_ends();
            }
        }
        if !is_writable && !self.can_confine() {
            return Err(EngineError::CannotGate(choice.to_string()));
        }
        let earlier = match is_new {
            true => None,
            false => self.stored_session(choice),
        };
        self.start_engine(choice, earlier, is_writable).await
    }

    fn is_gate_open(&self) -> bool {
        let Recipient::Member(name) = self.owner() else {
            return true;
        };
        match gate(self.team(), name, self.plan().as_ref()) {
            PlanGate::NotRequired | PlanGate::Approved { .. } => true,
            PlanGate::Required | PlanGate::Pending { .. } | PlanGate::Rejected { .. } => false,
        }
    }

    async fn start_engine(
        &self,
        choice: &EngineChoice,
        earlier: Option<String>,
        is_writable: bool,
    ) -> Result<Running, EngineError> {
        let engine = choice.to_string();
        let spec = self.engine_spec(choice, is_writable);
        let started = Connection::start(&spec);
        let mut connection =
            started.map_err(|source| EngineError::Start(engine.clone(), source))?;
        let (mut session, first) = Session::begin(Opening {
            folder: self.folder(),
            team: self.team_server(),
            earlier,
            mode: choice.mode().map(str::to_owned),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        connection.send(first);
        let opened = open(&mut connection, &mut session, choice);
        let opened = tokio::time::timeout(OPEN_LIMIT, opened).await;
        let (id, is_restored) = opened.unwrap_or_else(|_| {
            Err(EngineError::NotBegun {
                engine,
                reason: format!("no session within {} s", OPEN_LIMIT.as_secs()),
            })
        })?;
        if !is_restored {
            self.withdraw_engine_asks("its engine has begun a new session");
        }
        self.store_session(choice, &id);
        Ok(Running {
            connection,
            session,
            is_writable,
            is_introduced: is_restored,
            is_stale: false,
        })
    }

    fn engine_spec(&self, choice: &EngineChoice, is_writable: bool) -> Spec {
        let (team, owner) = (self.team(), self.owner());
        let outputs = team.layout().member_outputs(owner);
        let id = new_request_id();
        let save = Save {
            max_bytes: 1 << 20,
            ..Save::new(outputs.join(format!("engine-{id}.txt")), SaveWhen::Large)
        };
        let command = format!("exec {}", choice.command());
        let mark = format!("{}.engine.{id}", mark_of(team, owner));
        let mut spec = Spec::new(&command, self.folder(), &mark, save);
        spec.surroundings = self.engine_surroundings(choice, is_writable);
        spec.limit = Duration::MAX;
        spec.grace = GRACE;
        spec
    }

    /// The program with the team's tools, for this incarnation.
    fn team_server(&self) -> Option<TeamServer> {
        let own = std::env::current_exe().ok()?;
        let text = |path: &Path| path.display().to_string();
        let (team, owner) = (self.team(), self.owner().to_string());
        let variables = [
            ("TEAM_DIR", text(team.layout().root())),
            ("TEAM_MEMBER", owner.clone()),
            ("TEAM_INCARNATION", self.incarnation().to_string()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        let asking = self.asking();
        let network = self.confinement().map(|all| all.network.clone());
        let network = network.unwrap_or_default();
        let hooks = asking
            .as_ref()
            .map(|asking| pass_on(&asking.settings.hooks, self.folder(), network));
        let folder = text(team.workspace());
        let args = ["-C", &folder, "mcp", "serve", "--member", &owner];
        Some(TeamServer {
            program: own.with_file_name("team-lead"),
            args: args.map(str::to_owned).to_vec(),
            environment: variables.into_iter().chain(hooks.flatten()).collect(),
        })
    }
}

/// Waits until the session is open.
async fn open(
    connection: &mut Connection,
    session: &mut Session,
    choice: &EngineChoice,
) -> Result<(String, bool), EngineError> {
    let engine = choice.to_string();
    loop {
        let happened = match connection.receive().await {
            Received::Line(line) => session.line(&line),
            Received::Gone { how, errors } => {
                let reason = super::died(&how, &errors);
                return Err(EngineError::NotBegun { engine, reason });
            }
        };
        for one in happened {
            match one {
                SessionEvent::Send(line) => connection.send(line),
                SessionEvent::Opened {
                    id,
                    is_restored,
                    agent,
                } => {
                    info!("{engine} is ready ({agent}, session {id}, restored: {is_restored})");
                    return Ok((id, is_restored));
                }
                SessionEvent::Failed(failure @ Failure::Login(_)) => {
                    return Err(EngineError::Login {
                        engine,
                        failure: failure.to_string(),
                        login: choice.login().to_owned(),
                    });
                }
                SessionEvent::Failed(failure) => {
                    let reason = failure.to_string();
                    return Err(EngineError::NotBegun { engine, reason });
                }
                SessionEvent::Text(_)
                | SessionEvent::Thought(_)
                | SessionEvent::ToolStarted(_)
                | SessionEvent::ToolEnded { .. }
                | SessionEvent::Cost(_)
                | SessionEvent::Asked(_)
                | SessionEvent::AskWithdrawn(_)
                | SessionEvent::Ended(_)
                | SessionEvent::Garbage => {}
            }
        }
    }
}

/// Ends an agent with all its processes, and waits for that: two of them must not write the same session.
async fn end(connection: &mut Connection) {
    connection.stop();
    let gone = async { while let Received::Line(_) = connection.receive().await {} };
    if tokio::time::timeout(END_LIMIT, gone).await.is_err() {
        warn!("the processes of the engine take long to end");
    }
}
