//! The Responses API of OpenAI, which its newest models need for tools.
//!
//! It is used without the server's memory: every request has the whole conversation, and the server keeps
//! none of it. What the model produced is a list of *items*. They are kept and sent back unchanged,
//! encrypted reasoning included.

mod decode;
mod encode;

pub(crate) use decode::ResponseAssembler;
pub(super) use encode::{ResponsesSettings, bound_items, encode};
