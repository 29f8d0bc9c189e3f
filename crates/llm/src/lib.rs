//! A client for language models: one interface, whichever provider serves them.
//!
//! # Theory of operation
//!
//! A conversation is a list of [`Turn`]s that belong to no provider. A
//! [`Request`] carries it, with the system text and the tools, to a [`Model`],
//! and the answer is a [`Reply`], whose blocks become the next turn exactly as
//! they came. While it comes in, the model emits [`Event`]s.
//!
//! Three layers make a model of a provider:
//!
//! - *Encoding* turns a request into the body of the provider's wire format. It
//!   first brings the conversation into the order that providers insist on, and
//!   refuses one that cannot be brought there, see [`Request::validate`].
//! - *Decoding* turns the bytes of an answer into events and a reply. It is pure
//!   and takes the bytes in pieces of any size, see [`Decoder`] and [`sse`].
//! - The *HTTP client* sends requests, reads replies, and retries where that may
//!   help. How long it waits is a pure function, see [`RetryPolicy`]. A failure
//!   that retries do not cure is a [`ModelError`] that says what to do.
//!
//! What clients learn from refusals are [`LearnedSettings`], which the caller may keep for later ones.
//!
//! A [`TunedModel`] adds what is set for one model, and a [`FallbackModel`] is a list of models, of
//! which the first that can be reached answers.
//!
//! [`Anthropic`] and [`OpenAi`], which speaks two wire formats, are such models; [`ScriptModel`] plays recorded
//! turns from a file, see [`script`]. [`ModelChoice`] says which one is meant.
//!
//! **Invariant:** a reply is returned only if its end marker came. The caller never
//! sees a tool use of a reply that was cut off.
//!
//! **Invariant:** a key leaves a [`Secret`] only into the header of a request.
//! Every text of a server or a library is searched for it before it becomes part
//! of an error.
//!
//! **Invariant:** nothing in this crate reads the environment or prints.

mod anthropic;
pub mod choice;
mod conversation;
mod decode;
mod error;
mod failure;
mod fallback;
mod http;
mod images;
mod json;
mod learned_settings;
pub mod limits;
mod model;
mod openai;
mod output_limit;
mod provider_tools;
mod request;
pub mod retry;
pub mod script;
mod secret;
pub mod sse;
mod tuned;
mod web;

pub use anthropic::{
    ANTHROPIC_ADDRESS, ANTHROPIC_VERSION, Anthropic, AnthropicAuth, AnthropicConfig,
};
pub use choice::{ModelChoice, VariableOrigin, Variables, is_script, parse_dotenv, parse_models};
pub use conversation::{Block, InputError, Provider, Role, ToolResult, ToolUse, Turn};
pub use decode::{DecodeError, Decoder};
pub use error::{Detail, ModelError};
pub use failure::ErrorInfo;
pub use fallback::FallbackModel;
pub use http::{ClientError, ClientOptions};
pub use images::Image;
pub use json::RawJson;
pub use learned_settings::LearnedSettings;
pub use limits::ReplyLimit;
pub use model::{
    BoxFuture, Event, EventSink, Model, Reply, StopReason, Switch, Usage, WaitReason, Waiting,
};
pub use openai::{Dialect, OPENAI_ADDRESS, OpenAi, OpenAiConfig, OpenAiWire, TokenField};
pub use provider_tools::ProviderToolUse;
pub use request::{
    Effort, Request, RequestError, SharedStart, Thinking, ToolChoice, ToolSpec, Tuning,
};
pub use retry::RetryPolicy;
pub use script::{ScriptError, ScriptModel};
pub use secret::Secret;
pub use tokio_util::sync::CancellationToken;
pub use tuned::{ModelSettings, TunedModel};
pub use web::{WebHosts, WebTools};
