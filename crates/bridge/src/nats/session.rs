//! One connection to a broker, from its beginning to its end.

mod apply;
mod presence;

use super::broker::{Broker, Seen, in_words};
use super::presence::{BEAT, Presence, Twin, greet_every, heard_within};
use super::progress::Progress;
use super::receiver::Receiver;
use super::sender::{Published, Sender};
use super::{InboxWatch, NatsError, collect, show};
use crate::core::{Core, REST_AFTER};
use crate::transport::TransportError;
use async_nats::{Message, RequestErrorKind, Subscriber};
use backoff::Backoff;
use futures_util::stream::StreamExt;
use protocol::{HostId, MAX_FRAMES_UNDER_WAY};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::{debug, warn};

/// How often at most what a host has applied is removed from the stream.
const REMOVE_EVERY: Duration = Duration::from_secs(10);
/// The first and the longest pause after the broker did not store a frame.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(20));

/// What is kept from one connection to the next.
#[derive(Default)]
pub(super) struct Memory {
    seen: Option<Seen>,
    /// Of this process.
    instance: Instance,
}

/// Tells two processes apart that bear the name of the same host.
struct Instance(String);

impl Default for Instance {
    fn default() -> Self {
        Self(teamdir::new_message_id().to_string())
    }
}

/// Another host, in this connection.
#[derive(Default)]
struct Contact {
    progress: Progress,
    presence: Presence,
    /// What people were shown of it last: nothing, or a problem or none.
    shown: Option<Option<String>>,
    /// Why it does not get on, although it is there.
    problem: Option<String>,
    /// Whether the broker is asked to store frames for it.
    is_publishing: bool,
    publish_again: Option<Instant>,
    failures: Backoff,
    /// How far the frames that it has applied were removed from the stream, and when.
    removed: (u64, Option<Instant>),
}

pub(super) struct Session<'a> {
    core: &'a mut Core,
    memory: &'a mut Memory,
    broker: Broker,
    address: &'a str,
    sender: Sender,
    publishing: JoinSet<Answer>,
    receiver: Receiver,
    direct: Subscriber,
    hellos: Subscriber,
    notes: Subscriber,
    asks: Subscriber,
    here: Subscriber,
    contacts: BTreeMap<HostId, Contact>,
    begun: Instant,
    greeted: Option<Instant>,
    twin: Twin,
}

/// What the broker has answered about frames for a host.
struct Answer {
    host: HostId,
    /// See [`Progress::beginnings`].
    beginnings: u64,
    published: Published,
}

/// What a session waits for.
enum Event {
    Frames(Result<(), TransportError>),
    Direct(Option<Message>),
    Published(Answer),
    Settle,
    Hello(Option<Message>),
    Note(Option<Message>),
    Ask(Option<Message>),
    Here(Option<Message>),
    Mail,
    /// What is not mail may have changed.
    Rest,
    Beat,
    Lost,
}

impl<'a> Session<'a> {
    pub(super) async fn begin(
        core: &'a mut Core,
        memory: &'a mut Memory,
        broker: Broker,
        address: &'a str,
    ) -> Result<Self, NatsError> {
        let me = core.me().clone();
        let (client, names) = (broker.client.clone(), broker.names.clone());
        match client.request(names.here(&me), Vec::new().into()).await {
            Ok(answer) if answer.payload != memory.instance.0.as_bytes() => {
                return Err(NatsError::Twice(me));
            }
            Ok(_) => {}
            Err(error) => match error.kind() {
                // Nobody is there, or it was killed and the broker has not noticed yet.
                RequestErrorKind::NoResponders | RequestErrorKind::TimedOut => {}
                RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded
                | RequestErrorKind::Other => return Err(ended(&error)),
            },
        }
        let subscribe = async |subject: String| {
            let subscribed = client.subscribe(subject).await;
            subscribed.map_err(|error| ended(&error))
        };
        let mut session = Self {
            here: subscribe(names.here(&me)).await?,
            direct: subscribe(names.whole_frames_to(&me)).await?,
            hellos: subscribe(names.hellos()).await?,
            notes: subscribe(names.notes_to(&me)).await?,
            asks: subscribe(names.asks_to(&me)).await?,
            sender: Sender::new(&broker),
            publishing: JoinSet::new(),
            receiver: Receiver::new(&broker, &me).await?,
            core,
            memory,
            broker,
            address,
            contacts: BTreeMap::new(),
            begun: Instant::now(),
            greeted: None,
            twin: Twin::default(),
        };
        for host in session.core.team().peers()? {
            session.contacts.entry(host).or_default();
        }
        session.look_at_stream().await?;
        session.core.set_listening(true);
        Ok(session)
    }

    pub(super) async fn run(mut self, watch: &mut InboxWatch) -> Result<Infallible, NatsError> {
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut lost = self.broker.lost.clone();
        let mut rest = None;
        loop {
            let settle = self.core.settle_at();
            let event = tokio::select! {
                received = self.receiver.receive() => Event::Frames(received),
                frame = self.direct.next() => Event::Direct(frame),
                Some(Ok(answer)) = self.publishing.join_next() => Event::Published(answer),
                () = until(settle) => Event::Settle,
                () = until(rest.map(Instant::into_std)) => Event::Rest,
                hello = self.hellos.next() => Event::Hello(hello),
                note = self.notes.next() => Event::Note(note),
                ask = self.asks.next() => Event::Ask(ask),
                asked = self.here.next() => Event::Here(asked),
                () = watch.changes.changed() => Event::Mail,
                _ = beats.tick() => Event::Beat,
                _ = lost.wait_for(|lost| *lost) => Event::Lost,
            };
            match event {
                Event::Frames(received) => {
                    received?;
                    self.apply().await?;
                }
                Event::Direct(message) => self.take_direct(&present(message)?).await?,
                Event::Hello(message) => self.hear_hello(&present(message)?).await?,
                Event::Published(answer) => self.hear_answer(answer),
                Event::Settle => self.settle().await?,
                Event::Note(message) => {
                    self.hear_note(&present(message)?)?;
                    if self.core.is_behind() {
                        collect(self.core, watch)?;
                    }
                }
                Event::Ask(message) => self.answer(&present(message)?).await?,
                Event::Here(message) => self.say_here(&present(message)?).await?,
                Event::Mail => {
                    // What is not moved now is moved then, or its error is shown.
                    let _ = self.core.collect_mail();
                    rest.get_or_insert_with(|| Instant::now() + REST_AFTER);
                }
                Event::Rest => {
                    rest = None;
                    collect(self.core, watch)?;
                }
                Event::Beat => {
                    collect(self.core, watch)?;
                    self.beat().await?;
                    self.apply().await?;
                }
                Event::Lost => {
                    let why = "the connection to the broker was lost".to_owned();
                    return Err(TransportError::Ended(why).into());
                }
            }
            self.publish();
            self.show_hosts();
        }
    }

    /// Publishes what waits in the outboxes. What the broker does not store stays there.
    fn publish(&mut self) {
        for (host, contact) in &mut self.contacts {
            let pauses = |at: Instant| at > Instant::now();
            if contact.is_publishing || contact.publish_again.is_some_and(pauses) {
                continue;
            }
            let frames = match self.core.outbox(host) {
                Some(outbox) => contact
                    .progress
                    .next(outbox.pending(), MAX_FRAMES_UNDER_WAY),
                None => continue,
            };
            if frames.is_empty() {
                continue;
            }
            contact.is_publishing = true;
            let beginnings = contact.progress.beginnings();
            let (sender, host) = (self.sender.clone(), host.clone());
            self.publishing.spawn(async move {
                let published = sender.send(&frames).await;
                Answer {
                    host,
                    beginnings,
                    published,
                }
            });
        }
    }

    /// The broker has answered.
    fn hear_answer(&mut self, answer: Answer) {
        if let Some(seen) = &mut self.memory.seen {
            seen.acknowledged(answer.published.last_sequence);
        }
        let Some(contact) = self.contacts.get_mut(&answer.host) else {
            return;
        };
        contact.is_publishing = false;
        match answer.published.accepted {
            Ok(seq) => {
                contact.progress.publish(answer.beginnings, seq);
                contact.failures.reset();
                contact.publish_again = None;
                contact.problem = None;
            }
            Err(error) => {
                let pause = contact.failures.delay(PAUSES.0, PAUSES.1);
                contact.failures.fail();
                contact.publish_again = Some(Instant::now() + pause);
                contact.problem = Some(format!("the broker does not store mail: {error}"));
            }
        }
    }

    /// Compares the numbers of the stream with those that are known.
    async fn look_at_stream(&mut self) -> Result<(), NatsError> {
        let now = Seen::new(&self.broker.look().await?);
        if let Some(lost) = self.memory.seen.as_ref().and_then(|seen| seen.lost(&now)) {
            warn!(
                "the stream '{}' of the broker has lost messages: {lost}. What other hosts have not applied is sent again",
                self.broker.names.stream()
            );
            for contact in self.contacts.values_mut() {
                contact.progress.start_over();
            }
        }
        self.memory.seen = Some(now);
        Ok(())
    }

    /// Asks the hosts that have not said that they have applied everything, and greets the others when it is
    /// time for it.
    async fn beat(&mut self) -> Result<(), NatsError> {
        let waiting = self.contacts.iter().filter(|(host, contact)| {
            let outbox = self.core.outbox(host);
            outbox.is_some_and(|outbox| contact.progress.published() > outbox.mark().accepted)
        });
        let waiting: Vec<HostId> = waiting.map(|(host, _)| host.clone()).collect();
        self.core.set_least_lease(heard_within(self.contacts.len()));
        // A beat may come a little early.
        let every = greet_every(self.contacts.len()).saturating_sub(BEAT / 2);
        let greets = self.greeted.is_none_or(|last| last.elapsed() >= every);
        // What nobody waits for is nothing that could be lost.
        if !waiting.is_empty() {
            self.look_at_stream().await?;
        }
        let me = self.core.me().clone();
        if greets {
            self.greeted = Some(Instant::now());
            let instance = self.memory.instance.0.clone();
            self.say(self.broker.names.hello(&me), instance.into_bytes())
                .await?;
        }
        for host in waiting {
            if let Some(contact) = self.contacts.get_mut(&host) {
                contact.presence.ask(std::time::Instant::now());
            }
            self.say(self.broker.names.ask(&host, &me), Vec::new())
                .await?;
        }
        self.remove_applied().await;
        Ok(())
    }

    /// Removes from the stream what other hosts have applied. It would be gone with its age; but until then it
    /// takes room, and a host never publishes it again, because the mark of its outbox is past it.
    async fn remove_applied(&mut self) {
        let me = self.core.me();
        for (host, contact) in &mut self.contacts {
            let Some(accepted) = self.core.outbox(host).map(|outbox| outbox.mark().accepted) else {
                continue;
            };
            let (removed, last) = contact.removed;
            let is_due = last.is_none_or(|last| last.elapsed() >= REMOVE_EVERY);
            // Only when all that was published is applied: then everything of this host is.
            if removed == accepted || !is_due || contact.progress.published() > accepted {
                continue;
            }
            let filter = self.broker.names.frames(host, me);
            match self.broker.stream.purge().filter(filter).await {
                Ok(_) => contact.removed = (accepted, Some(Instant::now())),
                Err(error) => {
                    debug!("what '{host}' has applied stays at the broker: {error}");
                    contact.removed.1 = Some(Instant::now());
                }
            }
        }
    }

    fn set_problem(&mut self, host: &HostId, problem: &str) {
        if let Some(contact) = self.contacts.get_mut(host) {
            contact.problem = Some(problem.to_owned());
        }
    }

    /// Shows people what has changed about the other hosts.
    fn show_hosts(&mut self) {
        let (hosts, now) = (self.contacts.len(), std::time::Instant::now());
        for (host, contact) in &mut self.contacts {
            let is_silent = contact
                .presence
                .is_silent(hosts, self.begun.into_std(), now);
            let problem = match &contact.problem {
                Some(problem) => Some(problem.clone()),
                None if is_silent => Some("its bridge is not connected to the broker".to_owned()),
                // It has its time to greet.
                None if !contact.presence.was_heard() => continue,
                None => None,
            };
            if contact.shown.as_ref() == Some(&problem) {
                continue;
            }
            if let Some(problem) = &problem {
                warn!("mail for the host '{host}' is queued: {problem}");
            }
            show(self.core, host, self.address, problem.as_deref());
            contact.shown = Some(problem);
        }
    }
}

async fn until(at: Option<std::time::Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn present(message: Option<Message>) -> Result<Message, NatsError> {
    let ended = || TransportError::Ended("the connection to the broker was lost".to_owned());
    Ok(message.ok_or_else(ended)?)
}

fn ended(error: &(dyn std::error::Error + 'static)) -> NatsError {
    TransportError::Ended(in_words(error)).into()
}
