//! Applies the frames that come, and tells their hosts when they are settled.

use super::Session;
use crate::core::ApplyError;
use crate::judge::StreamError;
use crate::nats::{NatsError, Note};
use async_nats::Message;
use protocol::{Frame, HostId, StreamEpoch};
use std::time::Duration;
use tracing::warn;

/// When frames come again that could not be stored here.
const STORE_AGAIN: Duration = Duration::from_secs(1);
/// When frames come again that a person has to do something about.
const REFUSED_AGAIN: Duration = Duration::from_secs(20);

impl Session<'_> {
    /// Applies a frame that has come before the stream brings it.
    pub(super) async fn take_direct(&mut self, message: &Message) -> Result<(), NatsError> {
        let core = &mut self.core;
        let is_next = self.receiver.take_direct(message, |from, epoch| {
            let applied = core.applied(from).ok().flatten();
            let applied = applied.filter(|mark| mark.epoch == *epoch);
            applied.map_or(0, |mark| mark.seq)
        });
        match is_next {
            true => self.apply().await,
            false => Ok(()),
        }
    }

    /// Applies the frames that have come, as far as they follow each other.
    pub(super) async fn apply(&mut self) -> Result<(), NatsError> {
        for stream in self.receiver.streams() {
            let applied = self.core.applied(&stream.0)?;
            let applied = applied.filter(|mark| mark.epoch == stream.1);
            let seq = applied.map_or(0, |mark| mark.seq);
            let frames = self.receiver.frames(&stream, seq);
            if !frames.is_empty() {
                self.apply_stream(&stream, &frames).await?;
            } else if self.core.settle_at().is_none() {
                // Only repeats have come.
                self.settle().await?;
            }
        }
        Ok(())
    }

    async fn apply_stream(
        &mut self,
        stream: &(HostId, StreamEpoch),
        frames: &[Frame],
    ) -> Result<(), NatsError> {
        let host = &stream.0;
        if host == self.core.me() {
            self.receiver.put_back(stream, REFUSED_AGAIN).await;
            return Ok(());
        }
        self.core.meet(host)?;
        self.contacts.entry(host.clone()).or_default();
        let mut note = Note::default();
        let mut back = None;
        match self.core.apply(frames) {
            // It is told when it is settled.
            Ok(()) if self.receiver.holds_many(stream) => return self.settle().await,
            Ok(()) => return Ok(()),
            Err(ApplyError::Stream(StreamError::Gap { .. })) => note.misses = true,
            Err(ApplyError::Stream(error)) => {
                self.set_problem(host, &error.to_string());
                note.refused = Some(error.to_string());
                back = Some(REFUSED_AGAIN);
            }
            Err(error) => {
                self.set_problem(host, &error.to_string());
                back = Some(STORE_AGAIN);
            }
        }
        self.settle().await?;
        self.tell(host, note).await?;
        match back {
            Some(delay) => self.receiver.put_back(stream, delay).await,
            None => self.receiver.keep_few(stream, STORE_AGAIN).await,
        }
        Ok(())
    }

    /// Makes what was applied last, and then tells the hosts that it comes from, and the broker.
    pub(super) async fn settle(&mut self) -> Result<(), NatsError> {
        if let Err(error) = self.core.settle() {
            // It is tried again; what was not told comes again.
            warn!("what was applied is not acknowledged yet: {error}");
            return Ok(());
        }
        for stream in self.receiver.streams() {
            let settled = self.core.settled(&stream.0)?;
            let Some(mark) = settled.filter(|mark| mark.epoch == stream.1) else {
                continue;
            };
            if self.receiver.holds(&stream, mark.seq) {
                self.tell(&stream.0, Note::default()).await?;
                self.receiver.acknowledge(&stream, mark.seq).await;
            }
        }
        Ok(())
    }
}
