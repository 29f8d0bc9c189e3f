//! Who acts.

use coordination::Actor;
use protocol::{AgentName, Incarnation, Message, Party};

/// Who does something in a team, and in which life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Who.
    pub party: Party,
    /// Which life, where that is an agent.
    pub incarnation: Option<Incarnation>,
}

impl Me {
    /// The person at the command line.
    pub const fn user() -> Self {
        Self {
            party: Party::User,
            incarnation: None,
        }
    }

    /// This life of the lead.
    pub const fn lead(incarnation: Incarnation) -> Self {
        Self {
            party: Party::Lead,
            incarnation: Some(incarnation),
        }
    }

    /// This life of a teammate.
    pub const fn member(name: AgentName, incarnation: Incarnation) -> Self {
        Self {
            party: Party::Member(name),
            incarnation: Some(incarnation),
        }
    }

    /// The same for the rules of the board.
    pub fn actor(&self) -> Actor {
        Actor {
            who: self.party.clone(),
            incarnation: self.incarnation,
        }
    }

    /// The message, signed.
    pub(crate) fn sign(&self, mut message: Message) -> Message {
        message.from = Some(self.party.clone().into());
        message.from_incarnation = self.incarnation;
        message
    }
}
