//! The connection to a broker: its stream with the rules that frames rely on, and the consumer of this host.

use super::address::Login;
use super::certificate::untrusted;
use super::names::Names;
use super::{LoginUser, NatsError, Settings};
use crate::transport::TransportError;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event};
use protocol::HostId;
use std::fs::File;
use std::time::Duration;
use tokio::sync::watch;
use tracing::warn;

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// After this time a message that was not acknowledged comes again.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// A frame is cut into parts of what a server takes; a server that takes less than this is refused.
const LEAST_PAYLOAD: usize = 32 << 10;
/// What of a message is not its payload.
const AROUND_PAYLOAD: usize = 4 << 10;

/// A connection that is ready for frames.
pub(super) struct Broker {
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) names: Names,
    pub(super) stream: jetstream::stream::Stream,
    pub(super) consumer: jetstream::consumer::PullConsumer,
    /// The largest part of a frame.
    pub(super) part_bytes: usize,
    /// True when the connection was lost.
    pub(super) lost: watch::Receiver<bool>,
}

/// What was seen of the stream last: a later look shows whether it has lost anything since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// The broker's name for when it was made: only compared, because clocks are not trusted.
    created: String,
    last: u64,
}

impl Seen {
    pub(super) fn new(info: &Info) -> Self {
        Self {
            created: info.created.to_string(),
            last: info.state.last_sequence,
        }
    }

    /// The broker has acknowledged a message with this number.
    pub(super) fn acknowledged(&mut self, sequence: u64) {
        self.last = self.last.max(sequence);
    }

    /// What has been lost since, in words.
    pub(super) fn lost(&self, now: &Self) -> Option<String> {
        if self.created != now.created {
            return Some("it was deleted, and is a new one now".to_owned());
        }
        (now.last < self.last).then(|| {
            format!(
                "it had {} messages and has come back with {}",
                self.last, now.last
            )
        })
    }
}

/// An error of the client with its causes, in one line.
pub(super) fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = inner.source();
    }
    words
}

fn ended(error: &(dyn std::error::Error + 'static)) -> NatsError {
    TransportError::Ended(in_words(error)).into()
}

impl Broker {
    pub(super) async fn connect(
        settings: &Settings,
        team: &str,
        me: &HostId,
    ) -> Result<Self, NatsError> {
        let (client, lost) = connect(settings).await?;
        let part_bytes = client.max_payload().saturating_sub(AROUND_PAYLOAD);
        if part_bytes < LEAST_PAYLOAD {
            let why = format!(
                "the server takes messages of {} bytes only: set `max_payload` of nats-server to 1MB, its default",
                client.max_payload()
            );
            return Err(TransportError::Refused(why).into());
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWER);
        let names = Names::new(team);
        let stream = stream(&context, &names, settings).await?;
        let consumer = stream
            .get_or_create_consumer(me.as_str(), consumer_config(&names, me))
            .await
            .map_err(|error| ended(&error))?;
        Ok(Self {
            client,
            context,
            names,
            stream,
            consumer,
            part_bytes,
            lost,
        })
    }

    /// How the stream stands now.
    pub(super) async fn look(&self) -> Result<Info, NatsError> {
        self.stream.get_info().await.map_err(|error| ended(&error))
    }
}

async fn connect(settings: &Settings) -> Result<(Client, watch::Receiver<bool>), NatsError> {
    let (lose, lost) = watch::channel(false);
    let mut options = ConnectOptions::new()
        .connection_timeout(ANSWER)
        .request_timeout(Some(ANSWER))
        .ping_interval(Duration::from_secs(10))
        // A new connection is made by the bridge, which then looks at the stream first.
        .max_reconnects(1)
        .event_callback(move |event| {
            match event {
                Event::Disconnected | Event::Closed | Event::LameDuckMode => {
                    let _ = lose.send(true);
                }
                Event::ServerError(error) => warn!("the broker says: {error}"),
                Event::SlowConsumer(_)
                | Event::ClientError(_)
                | Event::Connected
                | Event::Draining => {}
            }
            std::future::ready(())
        });
    match settings.address.login() {
        Some(Login::Password { user, password }) => {
            options = options.user_and_password(user.clone(), password.clone());
        }
        Some(Login::Token(token)) => options = options.token(token.clone()),
        None => {}
    }
    if let Some(path) = &settings.credentials {
        options = options
            .credentials_file(path)
            .await
            .map_err(|error| NatsError::Credentials {
                path: path.clone(),
                error,
            })?;
    }
    if let Some(path) = &settings.root_certificates {
        File::open(path).map_err(|error| NatsError::Certificates {
            path: path.clone(),
            error,
        })?;
        options = options.add_root_certificates(path.clone());
    }
    let connected = options.connect(settings.address.servers()).await;
    let client = connected.map_err(|error| not_connected(settings, &error))?;
    Ok((client, lost))
}

/// What a failed connection means: whether a person has to do something about it.
fn not_connected(settings: &Settings, error: &ConnectError) -> NatsError {
    let address = settings.address.to_string();
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            let user = match (&settings.credentials, settings.address.login()) {
                (Some(path), _) => LoginUser::Credentials(path.clone()),
                (None, Some(_)) => LoginUser::Password,
                (None, None) => LoginUser::None,
            };
            NatsError::Login { address, user }
        }
        ConnectErrorKind::ServerParse
        | ConnectErrorKind::Dns
        | ConnectErrorKind::TimedOut
        | ConnectErrorKind::Tls
        | ConnectErrorKind::Io
        | ConnectErrorKind::MaxReconnects => {
            let words = in_words(error);
            match untrusted(&words) {
                Some(why) => NatsError::Untrusted { address, why },
                None => TransportError::Ended(words).into(),
            }
        }
    }
}

/// The stream of the team, which is made if there is none.
async fn stream(
    context: &Context,
    names: &Names,
    settings: &Settings,
) -> Result<jetstream::stream::Stream, NatsError> {
    let wanted = stream_config(names, settings);
    let stream = match context.get_or_create_stream(wanted.clone()).await {
        Ok(stream) => stream,
        Err(error) => {
            let refusal = "stream replicas > 1 not supported";
            let words = in_words(&error);
            return Err(if words.contains(refusal) {
                TransportError::Refused(format!("{words}: these servers are no cluster")).into()
            } else {
                TransportError::Ended(words).into()
            });
        }
    };
    let found = &stream.cached_info().config;
    let keeps_rules = found.max_messages_per_subject == 1
        && found.discard == DiscardPolicy::New
        && found.discard_new_per_subject
        && found.retention == RetentionPolicy::Limits
        && found.subjects == wanted.subjects;
    if keeps_rules {
        return Ok(stream);
    }
    Err(TransportError::Refused(format!(
        "the stream '{name}' of the broker has other rules than a bridge makes it with: nothing is sent. If nobody \
         else uses it, delete it with `nats stream rm {name}`",
        name = wanted.name
    ))
    .into())
}

/// One message for each subject, and the second is refused: a frame is stored once, however often it is
/// published and however much later.
fn stream_config(names: &Names, settings: &Settings) -> Config {
    Config {
        name: names.stream(),
        subjects: vec![names.all_frames()],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_age: settings.max_age,
        duplicate_window: settings.duplicate_window,
        num_replicas: settings.address.replicas(),
        ..Config::default()
    }
}

fn consumer_config(names: &Names, me: &HostId) -> pull::Config {
    pull::Config {
        durable_name: Some(me.to_string()),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        filter_subject: names.frames_to(me),
        // Frames that wait for an earlier one must not keep it from coming.
        max_ack_pending: -1,
        ..pull::Config::default()
    }
}

/// Whether the broker has refused to store a message, for whatever reason.
pub(super) fn is_store_refusal(error: &jetstream::context::PublishError) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|source| source.downcast_ref::<jetstream::Error>())
        .is_some_and(|error| error.error_code() == ErrorCode::STREAM_STORE_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_has_lost_something_is_recognised() {
        let seen = |created: &str, last| Seen {
            created: created.to_owned(),
            last,
        };
        let mut known = seen("a", 4);
        assert_eq!(known.lost(&seen("a", 4)), None);
        known.acknowledged(7);
        assert_eq!(known.lost(&seen("a", 9)), None);
        assert!(known.lost(&seen("a", 6)).is_some());
        assert!(known.lost(&seen("b", 9)).is_some());
    }
}
