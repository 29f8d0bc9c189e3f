//! Frames over NATS JetStream, for many hosts.
//!
//! # Theory of operation
//!
//! A team has one stream at the broker. Each frame is a message on a subject of its own, which the stream
//! stores once and refuses for ever after (`broker.rs`), so that publishing it again is always safe. A host
//! has a durable consumer for what is for it; it applies a frame, syncs it, and only then lets the broker
//! forget that it is to come.
//!
//! A broker can lose what it has accepted: a stream is deleted, a disk is replaced, a server without synced
//! writes loses power. A frame therefore stays in the outbox until the other host says that it has applied it, in
//! a `Note`; what was published is remembered for the connection alone (`progress.rs`), and published again when
//! the numbers of the stream show a loss, or when the other host does not get on.
//!
//! Notes, and the greetings that hosts find each other by, are plain messages that nobody stores: each is
//! repeated when it is asked for.
//!
//! Who may be here at all is decided by the broker, by its users and their permissions.

mod address;
mod broker;
mod certificate;
mod names;
mod presence;
mod progress;
mod receiver;
mod sender;
mod session;

pub use address::{AddressError, NatsAddress};

use crate::core::{CollectError, Core, OpenError, SettleError};
use crate::transport::TransportError;
use backoff::Backoff;
use broker::Broker;
use protocol::{AppliedMark, Extra, HostId, Peer};
use serde::{Deserialize, Serialize};
use session::{Memory, Session};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use teamdir::{Changes, PathError, RosterError, TeamFileError, WatchChoice, Watcher, now};
use tracing::{info, warn};

/// The first and the longest pause between two connections.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));
/// How long a missed notification about new mail costs.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a broker is used.
#[derive(Debug, Clone)]
pub struct Settings {
    pub address: NatsAddress,
    /// A `.creds` file of a NATS user.
    pub credentials: Option<PathBuf>,
    /// Certificates to trust instead of those of the system.
    pub root_certificates: Option<PathBuf>,
    /// The host that the lead is at home on, if it is another one.
    pub lead: Option<HostId>,
    /// After this time the broker forgets a message. One that was not applied is published again.
    pub max_age: Duration,
    /// JetStream's own window for duplicates, which nothing here relies on.
    pub duplicate_window: Duration,
}

impl Settings {
    pub const fn new(address: NatsAddress) -> Self {
        Self {
            address,
            credentials: None,
            root_certificates: None,
            lead: None,
            max_age: Duration::from_secs(14 * 24 * 3600),
            duplicate_window: Duration::from_secs(120),
        }
    }
}

/// As whom a broker was asked to let this host in, in the words of what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginUser {
    #[error(
        "it refuses the user of the credentials in {}; ask whoever runs the broker for new ones, and name their file \
         with `--credentials FILE`",
        .0.display()
    )]
    Credentials(PathBuf),
    #[error("check the user and the password in `TEAM_NATS_URL`")]
    Password,
    #[error(
        "it wants to know a user; name a file of credentials with `--credentials FILE`, or give the user and the \
         password in `TEAM_NATS_URL`"
    )]
    None,
}

/// Why a bridge to a broker has ended, or could not do something.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("the broker at {address} does not let this user in: {user}")]
    Login { address: String, user: LoginUser },
    #[error(
        "cannot use the credentials in {}: {error}; name the file of a user of the broker with `--credentials FILE`",
        path.display()
    )]
    Credentials { path: PathBuf, error: io::Error },
    #[error(
        "cannot use the certificates in {}: {error}; name a file in the format PEM with `--root-certificates FILE`",
        path.display()
    )]
    Certificates { path: PathBuf, error: io::Error },
    #[error(
        "the certificate of the broker at {address} is not trusted ({why}): name the certificate of whoever has \
         signed it with `--root-certificates FILE`"
    )]
    Untrusted { address: String, why: String },
    #[error(
        "another bridge is connected to the broker as '{0}': two hosts bear the name, or this one runs twice. Give \
         one of them another name (`team-lead bridge --name NAME`)"
    )]
    Twice(HostId),
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Mark(#[from] TeamFileError),
    #[error(transparent)]
    Outbox(#[from] PathError),
    #[error(transparent)]
    Settle(#[from] SettleError),
}

impl NatsError {
    /// Whether a person has to do something before it can work.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Transport(TransportError::Refused(_))
            | Self::Login { .. }
            | Self::Credentials { .. }
            | Self::Certificates { .. }
            | Self::Untrusted { .. }
            | Self::Twice(_)
            | Self::Open(_)
            | Self::Collect(CollectError::Runs { .. }) => true,
            // A lost connection, or a disk that is full.
            Self::Transport(TransportError::Ended(_))
            | Self::Collect(_)
            | Self::Roster(_)
            | Self::Mark(_)
            | Self::Outbox(_)
            | Self::Settle(_) => false,
        }
    }
}

/// What a host says to another about its frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    /// How far they were applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applied: Option<AppliedMark>,
    /// Whether a later one came.
    #[serde(default)]
    misses: bool,
    /// Why the next one has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Is the bridge of this host at a broker, until `stop` or until a person has to do something. While the
/// broker cannot be reached, mail goes on to be moved into the outboxes.
pub async fn run(
    core: &mut Core,
    settings: &Settings,
    stop: impl Future<Output = ()>,
) -> Result<(), NatsError> {
    if let Some(lead) = &settings.lead {
        core.follow_lead(lead)?;
    }
    let mut watch = InboxWatch::new(core);
    let mut memory = Memory::default();
    let mut backoff = Backoff::default();
    let mut stop = pin!(stop);
    loop {
        let connection = async {
            let team = core.team().roster()?.team_name.0.clone();
            let broker = Broker::connect(settings, &team, core.me()).await?;
            let address = settings.address.to_string();
            let session = Session::begin(core, &mut memory, broker, &address).await?;
            info!("connected to {address}");
            backoff.reset();
            session.run(&mut watch).await
        };
        let error = tokio::select! {
            () = &mut stop => return Ok(()),
            ended = connection => match ended {
                Ok(never) => match never {},
                Err(error) => error,
            },
        };
        core.set_listening(false);
        show_all_unreachable(core, settings, &error);
        if error.is_refusal() {
            return Err(error);
        }
        let pause = backoff.delay(PAUSES.0, PAUSES.1);
        backoff.fail();
        warn!("mail for other hosts is queued, next try in {pause:?}: {error}");
        tokio::select! {
            () = &mut stop => return Ok(()),
            queued = queue_for(core, &mut watch, pause) => queued?,
        }
    }
}

/// Moves mail into the outboxes while there is no connection.
async fn queue_for(
    core: &mut Core,
    watch: &mut InboxWatch,
    pause: Duration,
) -> Result<(), NatsError> {
    let until = tokio::time::Instant::now() + pause;
    while tokio::time::Instant::now() < until {
        collect(core, watch)?;
        if let Err(error) = core.settle_if_due() {
            warn!("what was read may be read again: {error}");
        }
        let next = until.min(tokio::time::Instant::now() + LOOK_EVERY);
        let _ = tokio::time::timeout_at(next, watch.changes.changed()).await;
    }
    Ok(())
}

/// Moves mail into the outboxes. A full disk is no reason to end: the mail stays where it is.
fn collect(core: &mut Core, watch: &mut InboxWatch) -> Result<(), NatsError> {
    core.watch(&mut watch.watcher);
    match core.collect() {
        Err(error @ CollectError::Runs { .. }) => Err(error.into()),
        Err(error) => {
            warn!("mail stays in its inbox: {error}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn show_all_unreachable(core: &Core, settings: &Settings, error: &NatsError) {
    let address = settings.address.to_string();
    for host in core.team().peers().unwrap_or_default() {
        show(core, &host, &address, Some(&error.to_string()));
    }
}

fn show(core: &Core, host: &HostId, address: &str, problem: Option<&str>) {
    core.show_peer(
        host,
        &Peer {
            address: Some(address.to_owned()),
            reachable: problem.is_none(),
            since: Some(now()),
            problem: problem.map(str::to_owned),
            extra: Extra::new(),
        },
    );
}

/// Notices changes of what [`Core::collect`] reads.
struct InboxWatch {
    watcher: Watcher,
    changes: Changes,
}

impl InboxWatch {
    fn new(core: &Core) -> Self {
        let mut watcher = Watcher::new(&core.team().layout().inbox_dir(), WatchChoice::Auto);
        let changes = watcher.changes();
        Self { watcher, changes }
    }
}
