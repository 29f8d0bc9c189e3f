//! Receives frames, and keeps their messages until they are acknowledged.
//!
//! What the stream has stored comes a while after it was published. A small frame therefore comes *directly*, too, as
//! soon as the broker has read it, and is taken if it is the next one. Nothing relies on that: its sender keeps it until
//! it is applied, and the copy from the stream is acknowledged when it comes.

use super::broker::{Broker, in_words};
use super::names::{Names, PartName};
use crate::transport::TransportError;
use async_nats::jetstream::consumer::pull::Stream;
use async_nats::jetstream::{AckKind, Message};
use bytes::Bytes;
use futures_util::future::FutureExt;
use futures_util::stream::StreamExt;
use protocol::{Frame, HostId, MAX_FRAME_BYTES, StreamEpoch};
use std::collections::BTreeMap;
use std::time::Duration;
use tracing::{debug, warn};

/// How many messages are taken at once.
const BATCH: usize = 64;
/// How many frames of one host are kept while an earlier one is missing.
const KEPT: usize = 128;
/// How often the broker says that there is nothing new.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The frames from one host in one epoch, by their numbers.
pub(super) type Held = BTreeMap<u64, Parts>;

pub(super) struct Receiver {
    messages: Stream,
    names: Names,
    me: HostId,
    held: BTreeMap<(HostId, StreamEpoch), Held>,
}

/// What has come of a frame.
pub(super) struct Parts {
    of: usize,
    parts: BTreeMap<usize, Part>,
    /// All of it.
    frame: Option<Frame>,
}

/// One message of a frame.
struct Part {
    payload: Bytes,
    /// What is acknowledged; absent until the copy from the stream has come.
    stored: Option<Message>,
}

/// Why messages of the broker make no frame.
#[derive(Debug, thiserror::Error)]
enum NoFrame {
    #[error("its subject is none of a frame")]
    Subject,
    #[error("it has more than {MAX_FRAME_BYTES} bytes")]
    TooLong,
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    #[error("its subject is that of another frame")]
    OtherFrame,
}

impl Receiver {
    pub(super) async fn new(broker: &Broker, me: &HostId) -> Result<Self, TransportError> {
        let messages = broker
            .consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .heartbeat(HEARTBEAT)
            .messages()
            .await
            .map_err(|error| TransportError::Ended(in_words(&error)))?;
        Ok(Self {
            messages,
            names: broker.names.clone(),
            me: me.clone(),
            held: BTreeMap::new(),
        })
    }

    /// Waits for messages. Can be dropped at any time.
    pub(super) async fn receive(&mut self) -> Result<(), TransportError> {
        let mut next = self.messages.next().await;
        for _ in 0..BATCH {
            match next {
                Some(Ok(message)) => self.take(message).await,
                Some(Err(error)) => return Err(TransportError::Ended(in_words(&error))),
                None => return Err(TransportError::Ended("nothing more comes".to_owned())),
            }
            match self.messages.next().now_or_never() {
                Some(more) => next = more,
                None => return Ok(()),
            }
        }
        // The one that is too many is kept for its turn.
        if let Some(Ok(message)) = next {
            self.take(message).await;
        }
        Ok(())
    }

    async fn take(&mut self, message: Message) {
        let subject = message.subject.to_string();
        let part = self.names.parse_part(&subject);
        let longest = MAX_FRAME_BYTES;
        let Some(part) = part.filter(|part| part.to == self.me && part.of <= longest) else {
            return discard(&message, &NoFrame::Subject).await;
        };
        let key = (part.from.clone(), part.epoch.clone());
        let held = self.held.entry(key).or_default();
        let parts = held.entry(part.seq).or_insert_with(|| Parts::new(part.of));
        if parts.of != part.of {
            // The sender has cut it anew for a server with other limits.
            *parts = Parts::new(part.of);
        }
        parts.parts.insert(part.part, Part::stored(message));
        if let Err(why) = parts.join(&part) {
            let Some(parts) = held.remove(&part.seq) else {
                return;
            };
            for message in parts.stored() {
                discard(message, &why).await;
            }
        }
    }

    /// Takes a frame that came directly, if it is the next one. `applied` is the number of the last one of its stream
    /// that was applied. Returns whether it was taken.
    pub(super) fn take_direct(
        &mut self,
        message: &async_nats::Message,
        applied: impl FnOnce(&HostId, &StreamEpoch) -> u64,
    ) -> bool {
        let Some(part) = self.names.parse_part(&message.subject) else {
            return false;
        };
        if part.to != self.me || part.from == self.me || part.of != 1 {
            return false;
        }
        let next = applied(&part.from, &part.epoch) + 1;
        let key = (part.from.clone(), part.epoch.clone());
        let held = self.held.get(&key);
        // One that has a gap before it, or is here, is left to the stream.
        if part.seq != next || held.is_some_and(|held| held.contains_key(&part.seq)) {
            return false;
        }
        let mut parts = Parts::new(1);
        let direct = Part {
            payload: message.payload.clone(),
            stored: None,
        };
        parts.parts.insert(part.part, direct);
        let is_frame = parts.join(&part).is_ok();
        if is_frame {
            self.held.entry(key).or_default().insert(part.seq, parts);
        }
        is_frame
    }

    /// Whose frames are here.
    pub(super) fn streams(&self) -> Vec<(HostId, StreamEpoch)> {
        self.held.keys().cloned().collect()
    }

    /// The whole frames of one host after the number `seq`, in their order.
    pub(super) fn frames(&self, stream: &(HostId, StreamEpoch), seq: u64) -> Vec<Frame> {
        let held = self.held.get(stream).into_iter();
        let after = held.flat_map(|held| held.range(seq + 1..));
        after.filter_map(|(_, parts)| parts.frame.clone()).collect()
    }

    /// Whether so many frames are here that those that were applied have to be acknowledged now.
    pub(super) fn holds_many(&self, stream: &(HostId, StreamEpoch)) -> bool {
        let held = self.held.get(stream);
        held.is_some_and(|held| held.len() >= KEPT / 2)
    }

    /// Whether there are messages of frames up to the number `seq`.
    pub(super) fn holds(&self, stream: &(HostId, StreamEpoch), seq: u64) -> bool {
        let held = self.held.get(stream);
        held.is_some_and(|held| held.range(..=seq).next().is_some())
    }

    /// The frames up to the number `seq` are applied and synced: the broker is told not to bring them again. What it
    /// does not hear comes again, and is recognised.
    pub(super) async fn acknowledge(&mut self, stream: &(HostId, StreamEpoch), seq: u64) {
        let Some(held) = self.held.get_mut(stream) else {
            return;
        };
        let rest = held.split_off(&(seq + 1));
        let applied = std::mem::replace(held, rest);
        if held.is_empty() {
            self.held.remove(stream);
        }
        for message in applied.values().flat_map(Parts::stored) {
            if let Err(error) = message.ack().await {
                debug!("a frame that was applied may come again: {error}");
            }
        }
    }

    /// Gives frames back to the broker, which brings them again after `delay`.
    pub(super) async fn put_back(&mut self, stream: &(HostId, StreamEpoch), delay: Duration) {
        self.put_back_from(stream, 0, delay).await;
    }

    /// Keeps only so many frames that wait for an earlier one.
    pub(super) async fn keep_few(&mut self, stream: &(HostId, StreamEpoch), delay: Duration) {
        let held = self.held.get(stream);
        let first_too_many = held.and_then(|held| held.keys().nth(KEPT).copied());
        if let Some(seq) = first_too_many {
            self.put_back_from(stream, seq, delay).await;
        }
    }

    async fn put_back_from(&mut self, stream: &(HostId, StreamEpoch), seq: u64, delay: Duration) {
        let Some(held) = self.held.get_mut(stream) else {
            return;
        };
        let back = held.split_off(&seq);
        if held.is_empty() {
            self.held.remove(stream);
        }
        for message in back.values().flat_map(Parts::stored) {
            // If this is lost, the message comes again by itself, later.
            if let Err(error) = message.ack_with(AckKind::Nak(Some(delay))).await {
                debug!("a message was not put back: {error}");
            }
        }
    }
}

impl Parts {
    fn new(of: usize) -> Self {
        Self {
            of,
            parts: BTreeMap::new(),
            frame: None,
        }
    }

    /// Its messages from the stream.
    fn stored(&self) -> impl Iterator<Item = &Message> {
        self.parts.values().filter_map(|part| part.stored.as_ref())
    }

    /// Makes a frame of the parts, once they are all here. It must be the one that its subject says, since
    /// the broker checks who may publish on a subject, and not what.
    fn join(&mut self, name: &PartName) -> Result<(), NoFrame> {
        let payloads = || self.parts.values().map(|part| &part.payload);
        let bytes: usize = payloads().map(|payload| payload.len()).sum();
        if bytes > MAX_FRAME_BYTES {
            return Err(NoFrame::TooLong);
        }
        if self.parts.len() < self.of || self.frame.is_some() {
            return Ok(());
        }
        let whole: Vec<u8> = payloads().flatten().copied().collect();
        let frame: Frame = serde_json::from_slice(&whole)?;
        let fits = frame.from == name.from
            && frame.to == name.to
            && frame.epoch == name.epoch
            && frame.seq == name.seq;
        if !fits {
            return Err(NoFrame::OtherFrame);
        }
        self.frame = Some(frame);
        Ok(())
    }
}

impl Part {
    fn stored(message: Message) -> Self {
        Self {
            payload: message.payload.clone(),
            stored: Some(message),
        }
    }
}

/// A message that no bridge has made is not brought again.
async fn discard(message: &Message, why: &NoFrame) {
    warn!(
        "a message of the broker on '{}' is no frame: {why}",
        message.subject
    );
    if let Err(error) = message.ack_with(AckKind::Term).await {
        debug!("it may come again: {error}");
    }
}
