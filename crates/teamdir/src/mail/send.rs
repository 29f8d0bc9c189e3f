//! Sends one message to one inbox.

use crate::clock::now;
use crate::files::append::AppendError;
use crate::mail::inbox_writer::{Sending, append_alone};
use crate::mail::unsynced::UnsyncedInboxes;
use crate::roster::RosterError;
use crate::team_dir::TeamDir;
use protocol::{AgentName, JsonLine, MAX_LINE_BYTES, Message, MessageId, Recipient};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// How often a line is written beside others before its sender asks to be alone.
const TRIES: u32 = 8;

/// A message that was accepted: it will be in exactly one place, its recipient's journal or the
/// dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The message's identifier. Sending the same message again under it has no effect.
    pub id: MessageId,
    /// Whose inbox it went into, as the roster spells the name.
    pub to: Recipient,
}

/// Why a message was not accepted. The inbox is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The message names no recipient.
    #[error("the message names no recipient")]
    NoRecipient,
    /// Nobody in the team bears the name.
    #[error("there is no member called {name}; {}", known_names(known))]
    UnknownRecipient {
        /// The name that was given.
        name: AgentName,
        /// The names there are.
        known: Vec<AgentName>,
    },
    /// The message is too long for one line.
    #[error(
        "the message has {size} bytes, more than the {MAX_LINE_BYTES} allowed; \
         write it to a file and send the path"
    )]
    TooLong {
        /// Its size.
        size: usize,
    },
    /// The roster could not be read.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The inbox could not be written.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl SendError {
    /// Whether sending the same again cannot succeed, as opposed to a failure of the storage.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::NoRecipient | Self::UnknownRecipient { .. } | Self::TooLong { .. } => true,
            Self::Roster(_) | Self::Append(_) => false,
        }
    }
}

fn known_names(known: &[AgentName]) -> String {
    let names: Vec<&str> = known.iter().map(AgentName::as_str).collect();
    if names.is_empty() {
        return "the team has no members yet".to_owned();
    }
    format!("the members are {}", names.join(", "))
}

impl TeamDir {
    /// Puts a message into its recipient's inbox.
    ///
    /// An identifier and a time are added where they are missing. A caller that must survive its
    /// own death between sending and knowing about it chooses the identifier beforehand, and
    /// sends the same message again when it comes back.
    pub fn send(&self, mut message: Message) -> Result<Sent, SendError> {
        let to = match message.to.take() {
            None => return Err(SendError::NoRecipient),
            Some(to) => self.spelled(to)?,
        };
        message.to = Some(to.clone());
        message.timestamp.get_or_insert_with(now);
        let id = message.id.get_or_insert_with(new_message_id).clone();
        let line = message.to_line();
        if line.len() > MAX_LINE_BYTES {
            return Err(SendError::TooLong { size: line.len() });
        }
        let to = self.put_into_inbox(to, &line, None)?;
        Ok(Sent { id, to })
    }

    /// Appends a line that came from another host to the inbox of `to`. It is synced with `later`.
    pub fn deliver_line(
        &self,
        to: Recipient,
        line: &JsonLine,
        later: &mut UnsyncedInboxes,
    ) -> Result<Recipient, SendError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(SendError::TooLong { size: line.len() });
        }
        let to = self.spelled(to)?;
        self.put_into_inbox(to, line, Some(later))
    }

    /// Appends a line to the inbox of `to`, which the roster spells like this.
    fn put_into_inbox(
        &self,
        mut to: Recipient,
        line: &JsonLine,
        mut later: Option<&mut UnsyncedInboxes>,
    ) -> Result<Recipient, SendError> {
        let mut is_sent = false;
        for _ in 0..TRIES {
            match self.writers.append(self, &to, line, later.as_deref_mut()) {
                Ok(Sending::Done) => return Ok(to),
                Err(_) if is_sent => return Ok(to),
                Err(error) => return Err(error.into()),
                Ok(Sending::Uncertain) => {}
                Ok(Sending::SetAside) => is_sent = true,
            }
            // The inbox may be gone because its owner is.
            to = self.spelled(to)?;
        }
        // Whatever happens to the inbox all the time, nobody does it to who has the lock alone.
        match append_alone(self, &to, line) {
            Err(error) if !is_sent => Err(error.into()),
            Ok(()) | Err(_) => Ok(to),
        }
    }

    /// The recipient as the roster spells it. A name that is not there creates nothing.
    fn spelled(&self, to: Recipient) -> Result<Recipient, SendError> {
        let name = match to {
            Recipient::Lead => return Ok(Recipient::Lead),
            Recipient::Member(name) => name,
        };
        let roster = self.roster()?;
        match roster.member(&name) {
            Some(member) => Ok(Recipient::Member(member.spec.name.clone())),
            None => Err(SendError::UnknownRecipient {
                name,
                known: roster.members.iter().map(|m| m.spec.name.clone()).collect(),
            }),
        }
    }
}

/// A new identifier for a message: a random number for the process, and a count.
pub fn new_message_id() -> MessageId {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| Uuid::new_v4().as_u64_pair().0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    MessageId::new(&format!("{process:016x}-{count}")).expect("digits are a valid id")
}
