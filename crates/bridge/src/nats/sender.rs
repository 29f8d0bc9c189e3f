//! Publishes frames, each on a subject of its own.

use super::broker::{Broker, in_words, is_store_refusal};
use super::names::Names;
use crate::transport::TransportError;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use bytes::Bytes;
use protocol::Frame;

/// A longer frame is cut into parts, so that it does not come to the other host directly as well.
const MOST_DIRECT: usize = 32 << 10;

/// Publishes frames. One is accepted when JetStream has acknowledged all its parts.
#[derive(Clone)]
pub(super) struct Sender {
    context: Context,
    stream: Stream,
    names: Names,
    part_bytes: usize,
}

/// What became of frames.
pub(super) struct Published {
    /// The number of the last one that was accepted.
    pub(super) accepted: Result<u64, TransportError>,
    /// The highest number that the broker has given to a message.
    pub(super) last_sequence: u64,
}

/// A part of a frame on its way to the broker.
struct UnderWay {
    seq: u64,
    subject: String,
    payload: Bytes,
    answer: Result<PublishAckFuture, PublishError>,
}

impl Sender {
    pub(super) fn new(broker: &Broker) -> Self {
        Self {
            context: broker.context.clone(),
            stream: broker.stream.clone(),
            names: broker.names.clone(),
            part_bytes: broker.part_bytes,
        }
    }

    async fn publish(&self, frame: &Frame) -> Result<Vec<UnderWay>, TransportError> {
        let encoded = serde_json::to_vec(frame);
        let encoded = encoded.map_err(|error| TransportError::Refused(error.to_string()))?;
        let encoded = Bytes::from(encoded);
        let part_bytes = match encoded.len() > MOST_DIRECT {
            true => self.part_bytes.min(encoded.len().div_ceil(2)),
            false => self.part_bytes,
        };
        let of = encoded.len().div_ceil(part_bytes);
        let mut parts = Vec::with_capacity(of);
        for part in 0..of {
            let begin = part * part_bytes;
            let payload = encoded.slice(begin..encoded.len().min(begin + part_bytes));
            let subject = self.names.part(frame, part, of);
            let message = PublishMessage::build()
                .payload(payload.clone())
                .expected_stream(self.names.stream());
            let answer = self.context.send_publish(subject.clone(), message).await;
            parts.push(UnderWay {
                seq: frame.seq,
                subject,
                payload,
                answer,
            });
        }
        Ok(parts)
    }

    /// Waits for the broker's answer about one part. Returns the number that the broker has given to it, or 0 if
    /// it was there already.
    async fn confirm(&self, part: UnderWay) -> Result<u64, TransportError> {
        let answer = match part.answer {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(ack) => return Ok(ack.sequence),
            Err(error) => error,
        };
        if is_store_refusal(&error) {
            // It is there already, or there is no room for it. Both are said with the same number.
            let found = self.find(&part.subject, &part.payload, &error).await;
            return found.map(|()| 0);
        }
        Err(match error.kind() {
            PublishErrorKind::StreamNotFound => {
                TransportError::Ended("the broker has no stream for this team any more".to_owned())
            }
            PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::MaxPayloadExceeded
            | PublishErrorKind::Other => TransportError::Ended(in_words(&error)),
        })
    }

    /// A message that the broker has under this subject counts as accepted, if it is the same.
    async fn find(
        &self,
        subject: &str,
        payload: &Bytes,
        refused: &PublishError,
    ) -> Result<(), TransportError> {
        match self.stream.get_last_raw_message_by_subject(subject).await {
            Ok(stored) if stored.payload == *payload => Ok(()),
            Ok(_) => Err(TransportError::Refused(format!(
                "the broker has another frame under the number that this host gives to its next one ({subject}): this \
                 host has come back with an old disk, or two hosts bear its name. Give one of them another name \
                 (`team-lead bridge --name NAME`)"
            ))),
            Err(error) => match error.kind() {
                LastRawMessageErrorKind::NoMessageFound => {
                    Err(TransportError::Ended(in_words(refused)))
                }
                LastRawMessageErrorKind::JetStream(inner)
                    if inner.error_code() == ErrorCode::NO_MESSAGE_FOUND =>
                {
                    Err(TransportError::Ended(in_words(refused)))
                }
                LastRawMessageErrorKind::JetStream(_)
                | LastRawMessageErrorKind::InvalidSubject
                | LastRawMessageErrorKind::Other => Err(TransportError::Ended(in_words(&error))),
            },
        }
    }
}

impl Sender {
    /// Hands over frames for one host, at most [`protocol::MAX_FRAMES_UNDER_WAY`], in their order, and waits until
    /// they are accepted.
    pub(super) async fn send(&self, frames: &[Frame]) -> Published {
        let mut last_sequence = 0;
        let accepted = self.send_all(frames, &mut last_sequence).await;
        Published {
            accepted,
            last_sequence,
        }
    }

    async fn send_all(
        &self,
        frames: &[Frame],
        last_sequence: &mut u64,
    ) -> Result<u64, TransportError> {
        let mut under_way = Vec::new();
        for frame in frames {
            under_way.extend(self.publish(frame).await?);
        }
        let (mut accepted, mut failed) = (None, None);
        for part in under_way {
            let seq = part.seq;
            match self.confirm(part).await {
                Ok(sequence) => {
                    *last_sequence = sequence.max(*last_sequence);
                    accepted = Some(seq);
                }
                Err(error) => {
                    // A frame is accepted with its last part only. Those behind a failed one are published again
                    // with it, and are found then; a server that does not answer is waited for once, not for
                    // each of them.
                    accepted = accepted.filter(|accepted| *accepted < seq).or_else(|| {
                        let before = frames.iter().map(|frame| frame.seq);
                        before.take_while(|before| *before < seq).last()
                    });
                    failed = Some(error);
                    break;
                }
            }
        }
        match (accepted, failed) {
            (_, Some(refused @ TransportError::Refused(_))) => Err(refused),
            (Some(accepted), _) => Ok(accepted),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(0),
        }
    }
}
