//! NATS JetStream as the mailbox: a server of its own for each measurement, a stream on disk, and a durable
//! consumer for each reader, which acknowledges with its next read what it has read.

use super::end::{End, Kind, LINE, Medium};
use super::team::contestants::{free_port, known_port, tool};
use super::worker::{self, Job};
use anyhow::Context as _;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Message};
use futures_util::{FutureExt as _, StreamExt as _};
use std::path::Path;
use std::time::{Duration, Instant};
use test_support::{Worker, try_wait_for};
use tokio::runtime::Runtime;

const STREAM: &str = "mail";
/// How long the server may take to start.
const START: Duration = Duration::from_secs(30);
/// After this time what was read and not acknowledged comes again.
const ACK_WAIT: Duration = Duration::from_secs(1);
/// How many messages are taken at once.
const BATCH: usize = 1000;

/// Starts a server that ends with the value, and at the latest with this process.
pub(super) fn start(kind: Kind, dir: &Path) -> anyhow::Result<Worker> {
    let program = tool::NATS.path().context("nats-server is not installed")?;
    let sync = match kind {
        Kind::NatsSynced => "  sync_interval: always\n",
        _ => "",
    };
    let port = free_port(dir)?;
    let config =
        format!("listen: \"127.0.0.1:{port}\"\njetstream {{\n  store_dir: \"store\"\n{sync}}}\n");
    std::fs::write(dir.join("nats.conf"), config)?;
    let program = program.display().to_string();
    let arguments = [program.as_str(), "-c", "nats.conf", "-l", "nats.log"];
    worker::start(&Job::Exec {
        dir: dir.to_path_buf(),
        arguments: arguments.map(str::to_owned).to_vec(),
    })
}

/// A connection to the server.
pub(super) struct NatsEnd {
    runtime: Runtime,
    context: jetstream::Context,
    peer: String,
    messages: Option<pull::Stream>,
    /// What was read and is to be acknowledged.
    read: Vec<Message>,
}

impl NatsEnd {
    pub(super) fn open_to_send(medium: &Medium) -> anyhow::Result<Self> {
        let address = format!("127.0.0.1:{}", known_port(&medium.dir)?);
        let listens = || std::net::TcpStream::connect(&address).ok();
        try_wait_for(START, listens).context("nats-server does not start")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let context = runtime.block_on(async {
            let client = async_nats::connect(&address).await?;
            let context = jetstream::new(client);
            let config = Config {
                name: STREAM.to_owned(),
                subjects: vec!["mail.*".to_owned()],
                ..Config::default()
            };
            context.get_or_create_stream(config).await?;
            anyhow::Ok(context)
        })?;
        Ok(Self {
            runtime,
            context,
            peer: medium.peer.clone(),
            messages: None,
            read: Vec::new(),
        })
    }

    pub(super) fn open(medium: &Medium) -> anyhow::Result<Self> {
        let mut end = Self::open_to_send(medium)?;
        let config = pull::Config {
            durable_name: Some(medium.me.clone()),
            filter_subject: format!("mail.{}", medium.me),
            ack_wait: ACK_WAIT,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        let context = end.context.clone();
        let messages = end.runtime.block_on(async {
            let stream = context.get_stream(STREAM).await?;
            let consumer = stream.get_or_create_consumer(&medium.me, config).await?;
            let messages = consumer.stream().max_messages_per_batch(BATCH);
            anyhow::Ok(messages.messages().await?)
        })?;
        end.messages = Some(messages);
        Ok(end)
    }
}

impl End for NatsEnd {
    fn send(&mut self, content: &str) -> anyhow::Result<bool> {
        let line = format!("{content:<width$}", width = LINE);
        let subject = format!("mail.{}", self.peer);
        self.runtime.block_on(async {
            let published = self.context.publish(subject, line.into()).await?;
            published.await?;
            Ok(true)
        })
    }

    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>> {
        let messages = self.messages.as_mut().context("this end only sends")?;
        let read = std::mem::take(&mut self.read);
        let taken = self.runtime.block_on(async {
            for message in &read {
                message.ack().await.map_err(anyhow::Error::from_boxed)?;
            }
            let mut taken = Vec::new();
            let mut next = match deadline {
                Some(deadline) => {
                    match tokio::time::timeout_at(deadline.into(), messages.next()).await {
                        Ok(next) => next,
                        Err(_) => return anyhow::Ok(taken),
                    }
                }
                None => messages.next().await,
            };
            loop {
                taken.push(next.context("the server is gone")??);
                if taken.len() == BATCH {
                    return Ok(taken);
                }
                match messages.next().now_or_never() {
                    Some(more) => next = more,
                    None => return Ok(taken),
                }
            }
        })?;
        let text = |message: &Message| String::from_utf8(message.payload.to_vec());
        let texts = taken.iter().map(text).collect::<Result<_, _>>()?;
        self.read = taken;
        Ok(texts)
    }
}
