//! A member's desk: its mail, journal, state and log around an agent.
//!
//! # Theory of operation
//!
//! An agent knows nothing of teams; it asks a [`Host`](agent::Host). A [`MemberRuntime`] is what such a host
//! is made of when the agent is a member of a team. It owns the member's post, so it is the one
//! that takes mail, appends to the journal and says what the member is doing.
//!
//! **Letters.** Mail is committed to the journal when it is taken, and said to the model later. Each
//! letter has a number, its place among all mail of the journal, and is said to the model under the
//! id `mail:<number>`. The agent records which ids it has said; so the next life finds, by reading
//! the journal once ([`Recovered`]), which letters are still to be said. Numbers cannot collide, as the
//! ids that senders choose could.
//!
//! **MailHandler.** The program looks at every letter before the model does. A [`MailHandler`] decides what it
//! means to this member, and whether it is shown.
//!
//! **State.** [`MemberRuntime::set_phase`] and the events of the agent keep `state.json`. Two promises about
//! its order let others find out whether a team is at rest: the phase `working` is written before
//! mail is taken, and everything a turn sends is sent before another phase is written.
//!
//! **Reports.** What the lead is told at the end of a turn bears a number that is kept in the
//! journal, so that a death between the end and the telling is made up for, once.

mod backoff;
mod build;
mod gate;
mod host;
mod inner;
mod live;
mod logging;
mod mail;
mod recovered;
mod runtime;
mod status;
mod turn;

pub use backoff::Backoff;
pub use build::{AgentTools, ChosenModel, ModelError, choose_model, variables};
pub use gate::gate;
pub use host::{Hooks, RuntimeHost};
pub use inner::{MailHandler, Price, Treatment};
pub use logging::{LogFilter, LogFormat, LogOptions, log_to_stderr};
pub use mail::MailItem;
pub use recovered::Recovered;
pub use runtime::{MemberRuntime, RuntimeError};
pub use turn::{AgentRunner, FailureCause, TurnFailure, TurnOutcome};
