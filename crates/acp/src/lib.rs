//! A client of the Agent Client Protocol, version 1: the agent of another program as the engine of a member.
//!
//! [`EngineChoice`] says which program that is, and how people get it. A [`Session`] is the protocol as a state
//! machine without I/O: lines of the agent and wishes of the caller go in, lines for the agent and events
//! come out. A [`Connection`] is the running program with its two streams of lines.
//!
//! **Invariant:** a prompt that was sent ends exactly once, in [`SessionEvent::Ended`] or in a failure, whatever the
//! agent sends.
//!
//! **Invariant:** of several options for a permission the first of the wanted kind is chosen. Ids differ between
//! agents and releases, and an option that allows for good is never chosen: who may do what is decided here.

mod choice;
mod connection;
mod schema;
mod session;
mod wire;

pub use choice::{ChoiceError, EngineChoice};
pub use connection::{Connection, Received};
pub use schema::Usage;
pub use session::{
    AgentCall, Failure, Opening, PromptEnd, Question, Session, SessionEvent, TeamServer, ToolKind,
    Verdict,
};
