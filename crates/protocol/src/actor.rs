//! Who acts.

use crate::{AgentName, Incarnation, Message, Party};

/// Whoever does something in a team: a party, and for an agent its incarnation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Who acts.
    pub party: Party,
    /// `None` for the person and for the program itself.
    pub incarnation: Option<Incarnation>,
}

impl Actor {
    /// The person at the command line.
    pub const fn user() -> Self {
        Self {
            party: Party::User,
            incarnation: None,
        }
    }

    /// An incarnation of the lead.
    pub const fn lead(incarnation: Incarnation) -> Self {
        Self {
            party: Party::Lead,
            incarnation: Some(incarnation),
        }
    }

    /// An incarnation of a teammate.
    pub const fn member(name: AgentName, incarnation: Incarnation) -> Self {
        Self {
            party: Party::Member(name),
            incarnation: Some(incarnation),
        }
    }

    /// Returns the message with this actor as its sender.
    pub fn sign(&self, mut message: Message) -> Message {
        message.from = Some(self.party.clone().into());
        message.from_incarnation = self.incarnation;
        message
    }
}
