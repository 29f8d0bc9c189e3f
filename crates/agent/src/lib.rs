//! The loop that lets a model work with tools, and a conversation that survives its process.
//!
//! # Theory of operation
//!
//! An [`Agent`] has a model, tools and a [`Conversation`]. [`Agent::run_turn`] asks the model, runs
//! the tools it wants, gives it their results and asks again, until it stops, the limit of rounds is
//! reached, something fails for good, or the turn is interrupted ([`Outcome`]).
//!
//! Everything around it is one [`Host`]. The host is the [`Log`] that keeps the conversation, and the
//! [`Sources`] that have messages for the model: those to insert after tool results, and those to
//! take when the model would stop. It also writes the prompt of each request, may refuse a tool, and
//! is notified of each [`Event`]. A host knows of teams, mail and terminals; nothing in here does.
//!
//! A conversation is the sum of its [`Record`]s. The agent first appends a record to the log and then
//! applies it to the conversation in memory; a later process applies the same records with the same
//! function ([`Conversation::apply`]) and so has the same conversation. Each record stands for
//! something that has happened: messages of the user's side, a reply, one tool's result. Between the
//! reply with a tool use and the result, nobody knows whether the tool did anything; if the process
//! dies there, the next one gives the model that answer, see [`INTERRUPTED`]. A tool whose turn had
//! not come gets another answer, see [`NOT_STARTED`].
//!
//! A host may want somebody asked before a call is run. The log then has a record that it was asked, and one
//! that it is started: a process that finds the first without the second knows that nothing of the call was
//! done, nor of those behind it, and goes on waiting. So a call that somebody allows is run at most once.
//!
//! Before every request the agent asks `context` whether the conversation is too long. What that
//! module makes of it is a record like any other.
//!
//! **Invariant:** every request is valid for every provider: tool results first and complete,
//! injections behind them in the same turn, nothing empty, ends with the user.
//!
//! **Invariant:** a request begins with all that the request before it had, but after a clearing, a
//! compaction or a change of the system prompt: so the provider's cache has it.
//!
//! **Invariant:** what has happened is in the log before the model is asked again.
//!
//! **Invariant:** a message with an id is shown to the model at most once, however often a source
//! offers it.

mod agent;
mod ask;
mod calls;
mod compaction;
mod context;
mod conversation;
mod host;
mod outcome;
mod person;
mod record;
mod reminder;
mod settings;

pub use agent::Agent;
pub use context::{
    Carried, Cleared, ClearingRules, Estimator, KEPT_WHOLE, Limits, Plan, block_bytes,
    clear_results, clip, plan_clearing, plan_compaction, transcript, turns_bytes,
};
pub use conversation::{Conversation, INTERRUPTED, NOT_STARTED};
pub use host::{
    Answered, AskedCall, EndedCall, Event, Host, Log, LogError, MayRun, Prompt, Sources,
};
pub use outcome::{Outcome, TurnError};
pub use person::{STOPPED, new_conversation};
pub use record::{LlmTypes, Record};
pub use settings::Settings;
