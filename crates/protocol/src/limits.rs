//! Limits that hold whatever a model asks: `limits.json`, and `traffic.json`, which counts for them.

use crate::{Extra, Recipient, Timestamp};

/// How many members a team has at most, if nobody said otherwise.
const MEMBERS: u64 = 32;
/// How many messages two agents exchange in a minute at most, if nobody said otherwise.
const MESSAGES_PER_MINUTE: u64 = 20;
/// How long a message is at most, if nobody said otherwise.
const MESSAGE_BYTES: u64 = 64 << 10;
/// How much unread mail an inbox takes from agents, if nobody said otherwise.
const INBOX_BYTES: u64 = 4 << 20;

/// How many of the newest results of tools stay in a conversation, if nobody said otherwise.
pub const DEFAULT_KEPT_RESULTS: u16 = 3;
/// The percentage of a model's window from which on older results are cleared, if nobody said otherwise.
pub const DEFAULT_CLEAR_AT: u16 = 50;

record! {
    /// The limits of a team. What is absent has its default.
    pub struct TeamLimits {
        /// How many members the roster has at most.
        opt members: u64 => "members",
        /// How many members may ask their models at the same time. Absent is without limit.
        opt working: u64 => "working",
        /// How many messages two agents may exchange in a minute.
        opt messages_per_minute: u64 => "messages_per_minute",
        /// How many bytes the text of an agent's message may have.
        opt message_bytes: u64 => "message_bytes",
        /// The size of unread mail from which on an inbox takes no more from agents.
        opt inbox_bytes: u64 => "inbox_bytes",
    }
}

record! {
    /// How much agents have written to each other of late.
    pub struct Traffic {
        /// One entry for two agents that have.
        def pairs: Vec<Pair> => "pairs",
        /// How many conversations were stopped so far.
        def stops: u64 => "stops",
    }
}

record! {
    /// Two agents, in any order, and their messages of the last minute.
    pub struct Pair {
        /// One of them.
        req a: Recipient => "a",
        /// The other.
        req b: Recipient => "b",
        /// When messages went either way.
        def sent: Vec<Timestamp> => "sent",
        /// Until when they may not write to each other.
        opt stopped_until: Timestamp => "stopped_until",
        /// The number of that stop.
        opt stop: u64 => "stop",
        /// Whether the lead was notified of it.
        opt notified: bool => "notified",
    }
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self {
            members: None,
            working: None,
            messages_per_minute: None,
            message_bytes: None,
            inbox_bytes: None,
            extra: Extra::new(),
        }
    }
}

impl TeamLimits {
    /// How many members the roster has at most.
    pub fn max_members(&self) -> u64 {
        self.members.unwrap_or(MEMBERS)
    }

    /// How many messages two agents may exchange in a minute.
    pub fn max_messages_per_minute(&self) -> u64 {
        self.messages_per_minute.unwrap_or(MESSAGES_PER_MINUTE)
    }

    /// How many bytes the text of an agent's message may have.
    pub fn max_message_bytes(&self) -> u64 {
        self.message_bytes.unwrap_or(MESSAGE_BYTES)
    }

    /// The size of unread mail from which on an inbox takes no more from agents.
    pub fn max_inbox_bytes(&self) -> u64 {
        self.inbox_bytes.unwrap_or(INBOX_BYTES)
    }
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            pairs: Vec::new(),
            stops: 0,
            extra: Extra::new(),
        }
    }
}

impl Pair {
    /// Two agents that have not written yet.
    pub fn new(a: Recipient, b: Recipient) -> Self {
        Self {
            a,
            b,
            sent: Vec::new(),
            stopped_until: None,
            stop: None,
            notified: None,
            extra: Extra::new(),
        }
    }

    /// Whether it is about these two, in either order.
    pub fn is_of(&self, one: &Recipient, other: &Recipient) -> bool {
        (&self.a, &self.b) == (one, other) || (&self.a, &self.b) == (other, one)
    }
}
