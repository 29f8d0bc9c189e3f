//! Starts a server, or reaches it, and learns its tools.

use crate::described::Listed;
use crate::server::{ProgressSink, ServerContext};
use crate::spec::{ServerSpec, Transport};
use command::{Captured, Dialogue, Finished, Job, Save, SaveWhen, Spec, StartError, Surroundings};
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, RoleClient};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tools::{CommandAccess, ToolError};

/// How long a server may take to start and to list its tools.
const START_LIMIT: Duration = Duration::from_secs(45);
/// The longest message of a server.
const MOST_LINE_BYTES: usize = 8 * 1024 * 1024;
/// A program of a server runs as long as its member.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How long a program that has ended may take to be gone.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How many of its last characters a person or a model is shown.
const SHOWN_CHARS: usize = 600;
/// How much of its standard error is kept.
const KEPT_BYTES: usize = 16 * 1024;

/// Why a server is not there.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("it could not be started: {}", ToolError::from_error(.0))]
    Start(#[from] StartError),
    #[error("it could not be started: {0}")]
    Output(ToolError),
    #[error("it could not be talked with: {0}")]
    System(#[from] io::Error),
    #[error("its address or a header of it cannot be used: {0}")]
    Address(String),
    #[error("{}{}", initialize_text(.0), said_text(.1))]
    Begin(Box<ClientInitializeError>, String),
    #[error("it does not list its tools: {0}")]
    List(#[from] Box<ServiceError>),
    #[error("it has not answered within {} s", START_LIMIT.as_secs())]
    Late,
}

/// The error without what the server sent, which may be long.
fn initialize_text(error: &ClientInitializeError) -> String {
    let text = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback.to_string(),
        error => error.to_string(),
    };
    text.chars().take(400).collect()
}

/// What the program wrote to standard error, if anything.
fn said_text(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!("; it wrote: {said}"),
    }
}

/// A server that answers.
pub(crate) struct Connection {
    pub(crate) service: RunningService<RoleClient, Client>,
    pub(crate) listed: Listed,
    /// Dropping it ends the program.
    _job: Option<Job>,
}

impl Connection {
    pub(crate) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Whether the server said that its tools have changed, since the last time.
    pub(crate) fn take_changed(&self) -> bool {
        let client = self.service.service();
        client.have_tools_changed.swap(false, Ordering::AcqRel)
    }

    pub(crate) async fn list(&mut self, name: &str) -> Result<(), ConnectError> {
        let listed = tokio::time::timeout(START_LIMIT, self.service.list_all_tools()).await;
        let tools = listed.map_err(|_| ConnectError::Late)?;
        self.listed = Listed::of(name, tools.map_err(Box::new)?);
        Ok(())
    }

    /// The protocol that was agreed on.
    pub(crate) fn version(&self) -> String {
        let info = self.service.peer().peer_info();
        info.map_or_else(String::new, |info| info.protocol_version.to_string())
    }
}

/// This program, as servers see it.
pub(crate) struct Client {
    server: String,
    progress: Option<ProgressSink>,
    have_tools_changed: AtomicBool,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("team-lead", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(sink) = &self.progress else {
            return;
        };
        let of = progress
            .total
            .map_or_else(String::new, |total| format!("/{total}"));
        let message = progress.message.unwrap_or_default();
        let message: String = message.chars().take(200).collect();
        let text = format!("{} {}{of} {message}", self.server, progress.progress);
        sink(text.trim_end());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.have_tools_changed.store(true, Ordering::Release);
    }
}

pub(crate) async fn connect(
    spec: &ServerSpec,
    context: &ServerContext,
) -> Result<Connection, ConnectError> {
    let connected = tokio::time::timeout(START_LIMIT, begin(spec, context)).await;
    let (service, job) = connected.map_err(|_| ConnectError::Late)??;
    let mut connection = Connection {
        service,
        listed: Listed::default(),
        _job: job,
    };
    connection.list(&spec.name).await?;
    Ok(connection)
}

type Begun = (RunningService<RoleClient, Client>, Option<Job>);

async fn begin(spec: &ServerSpec, context: &ServerContext) -> Result<Begun, ConnectError> {
    let client = || Client {
        server: spec.name.clone(),
        progress: context.progress.clone(),
        have_tools_changed: AtomicBool::new(false),
    };
    match &spec.transport {
        Transport::Stdio { command, args, .. } => {
            let line = ServerSpec::shell_command(command, args);
            let begin = async |lifecycle| {
                let surroundings = surroundings(&spec.transport, context);
                begin_program(start(&line, surroundings, context)?, client(), lifecycle).await
            };
            let begun = begin(either_era()).await;
            match begun {
                // It has answered `server/discover`, but speaks older versions alone.
                Err(ConnectError::Begin(error, _)) if is_older(&error) => {
                    begin(ClientLifecycleMode::Initialize).await
                }
                begun => begun,
            }
        }
        Transport::Http { url, headers } => {
            let transport = http(url, headers)?;
            let service = serve_client_with_lifecycle(client(), transport, either_era()).await;
            let service = match service {
                Ok(service) => service,
                // Servers of the older era refuse what comes before `initialize` in several ways.
                Err(_) => {
                    let (transport, older) = (http(url, headers)?, ClientLifecycleMode::Initialize);
                    let service = serve_client_with_lifecycle(client(), transport, older).await;
                    service.map_err(|error| ConnectError::Begin(Box::new(error), String::new()))?
                }
            };
            Ok((service, None))
        }
    }
}

fn is_older(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::NoCompatibleProtocolVersion { .. }
    )
}

async fn begin_program(
    (job, dialogue, said): (Job, Dialogue, LastWords),
    client: Client,
    lifecycle: ClientLifecycleMode,
) -> Result<Begun, ConnectError> {
    let input = pipe::Sender::from_owned_fd(OwnedFd::from(dialogue.input))?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(dialogue.output))?;
    let transport = AsyncRwTransport::new_client(output, input);
    let transport = transport.with_max_line_length(MOST_LINE_BYTES);
    match serve_client_with_lifecycle(client, transport, lifecycle).await {
        Ok(service) => Ok((service, Some(job))),
        Err(error) => {
            drop(job);
            let said = tokio::time::timeout(LAST_WORDS, said).await;
            let said = said.ok().and_then(Result::ok).unwrap_or_default();
            Err(ConnectError::Begin(Box::new(error), said))
        }
    }
}

fn either_era() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// What the program of a server runs in: what the member's commands run in, but for its own network,
/// variables and files.
fn surroundings(transport: &Transport, context: &ServerContext) -> Surroundings {
    let Transport::Stdio {
        env,
        network,
        readable,
        ..
    } = transport
    else {
        return Surroundings::Environment(Vec::new());
    };
    let mut surroundings = match &context.confinement {
        Some(confinement) => {
            let mut confinement = (**confinement).clone();
            confinement.network = network.clone();
            confinement.readable.extend(readable.iter().cloned());
            confinement.surroundings(CommandAccess::Full)
        }
        None => Surroundings::Environment(Vec::new()),
    };
    let variables = match &mut surroundings {
        Surroundings::Sandbox { description, .. } => Some(&mut description.environment),
        Surroundings::Environment(variables) => Some(variables),
        Surroundings::Inherited => None,
    };
    if let Some(variables) = variables {
        let own = env.iter();
        variables.extend(own.map(|(name, value)| (name.into(), value.into())));
    }
    surroundings
}

/// What a program has written to standard error, when it has ended.
type LastWords = oneshot::Receiver<String>;

fn start(
    line: &str,
    surroundings: Surroundings,
    context: &ServerContext,
) -> Result<(Job, Dialogue, LastWords), ConnectError> {
    let errors = context
        .output
        .new_file("mcp")
        .map_err(ConnectError::Output)?;
    let save = Save {
        max_bytes: 4 * 1024 * 1024,
        ..Save::new(errors, SaveWhen::Large)
    };
    let spec = Spec {
        memory: KEPT_BYTES,
        surroundings,
        ..Spec::new(line, &context.folder, &context.mark, save).with_limit(NO_LIMIT)
    };
    let (sender, said) = oneshot::channel();
    let done = move |finished: Finished| {
        tracing::debug!(end = ?finished.end, "an MCP server has ended");
        // Nobody listens once it has begun well.
        let _ = sender.send(last_words(&finished.output));
    };
    let (job, dialogue) = command::start_dialogue(&spec, done)?;
    Ok((job, dialogue, said))
}

fn last_words(output: &Captured) -> String {
    let text = String::from_utf8_lossy(&output.tail).into_owned();
    let text = match text.is_empty() {
        true => String::from_utf8_lossy(&output.head).into_owned(),
        false => text,
    };
    let skipped = text.chars().count().saturating_sub(SHOWN_CHARS);
    text.chars().skip(skipped).collect()
}

fn http(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, ConnectError> {
    // Fails if it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let wrong = |what: &str| ConnectError::Address(what.to_owned());
    // A redirect would carry the headers to an address that nobody has trusted.
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| ConnectError::Address(error.to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(Arc::<str>::from(url));
    config.max_sse_event_size = MOST_LINE_BYTES;
    for (name, value) in headers {
        let parsed = (
            reqwest::header::HeaderName::try_from(name.as_str()),
            reqwest::header::HeaderValue::try_from(value.as_str()),
        );
        let (Ok(name), Ok(value)) = parsed else {
            return Err(wrong(name));
        };
        config.custom_headers.insert(name, value);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
