//! What hosts say to each other besides frames: that they are there, and how far they have got.

use super::{Session, ended};
use crate::judge::{StreamError, check_peer_mark};
use crate::nats::names::publisher;
use crate::nats::{NatsError, Note};
use async_nats::Message;
use protocol::HostId;
use std::time::Instant;
use tracing::{info, warn};

impl Session<'_> {
    pub(super) async fn hear_hello(&mut self, message: &Message) -> Result<(), NatsError> {
        let Some(host) = publisher(&message.subject) else {
            return Ok(());
        };
        let instance = String::from_utf8_lossy(&message.payload).into_owned();
        if host == *self.core.me() {
            let me = &self.memory.instance.0;
            // Of two that began at the same time, one goes on.
            return if instance != *me && self.twin.greet(&instance, me) {
                Err(NatsError::Twice(host))
            } else {
                Ok(())
            };
        }
        self.core.meet(&host)?;
        self.core.hear(&host);
        let contact = self.contacts.entry(host.clone()).or_default();
        if contact.presence.greet(&instance, Instant::now()) {
            info!("the host '{host}' is there");
            self.tell(&host, Note::default()).await?;
        }
        Ok(())
    }

    /// The other host says how far it has applied the frames of this one: the mark of the outbox moves.
    pub(super) fn hear_note(&mut self, message: &Message) -> Result<(), NatsError> {
        let (Some(host), Ok(note)) = (
            publisher(&message.subject),
            serde_json::from_slice::<Note>(&message.payload),
        ) else {
            return Ok(());
        };
        let Some(contact) = self.contacts.get_mut(&host) else {
            return Ok(());
        };
        contact.presence.answer(Instant::now());
        self.core.hear(&host);
        let Some(mut outbox) = self.core.outbox(&host) else {
            return Ok(());
        };
        let (me, mark) = (self.core.me(), outbox.mark());
        let sent = (&mark.epoch, mark.accepted, outbox.last());
        let mut checked = check_peer_mark((me, &host), sent, note.applied.as_ref());
        if let (Ok(()), Some(applied)) = (&checked, &note.applied) {
            let same_number = outbox.pending().find(|frame| frame.seq == applied.seq);
            if same_number.is_some_and(|frame| frame.id != applied.id) {
                checked = Err(StreamError::Forked {
                    from: host.clone(),
                    me: me.clone(),
                    seq: applied.seq,
                });
            }
        }
        if let Err(error) = checked {
            contact.problem = Some(error.to_string());
            return Ok(());
        }
        let seq = note.applied.as_ref().map_or(0, |applied| applied.seq);
        if seq > outbox.mark().accepted {
            // Frames get there, even if the broker has no room to store them.
            contact.failures.reset();
            contact.publish_again = None;
        }
        if let Err(error) = outbox.accept(seq) {
            // The frames are published again later, and are recognised there.
            warn!("the mark of the outbox for '{host}' stays behind: {error}");
        }
        if contact.progress.hear(seq, note.misses) {
            warn!(
                "the host '{host}' has not got what comes after frame {seq}, which the broker had accepted: it is sent again"
            );
        }
        let refused = note.refused;
        contact.problem =
            refused.map(|why| format!("it does not accept frames of this host: {why}"));
        Ok(())
    }

    pub(super) async fn answer(&mut self, message: &Message) -> Result<(), NatsError> {
        let Some(host) = publisher(&message.subject) else {
            return Ok(());
        };
        self.tell(&host, Note::default()).await
    }

    pub(super) async fn say_here(&self, message: &Message) -> Result<(), NatsError> {
        let Some(reply) = message.reply.clone() else {
            return Ok(());
        };
        let instance = self.memory.instance.0.clone();
        self.say(reply.to_string(), instance.into_bytes()).await
    }

    /// Tells a host how far its frames were applied.
    pub(super) async fn tell(&mut self, host: &HostId, note: Note) -> Result<(), NatsError> {
        let applied = self.core.settled(host)?;
        let note = Note { applied, ..note };
        let payload = serde_json::to_vec(&note).expect("text keys encode");
        self.say(self.broker.names.note(host, self.core.me()), payload)
            .await
    }

    pub(super) async fn say(&self, subject: String, payload: Vec<u8>) -> Result<(), NatsError> {
        let said = self.broker.client.publish(subject, payload.into()).await;
        said.map_err(|error| ended(&error))
    }
}
