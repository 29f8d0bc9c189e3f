//! A client of Model Context Protocol servers: their tools as tools of a model.
//!
//! # Theory of operation
//!
//! [`Servers`] are those that a member may use. None is started before a call needs it. A program
//! (`connect.rs`) runs through the crate `command`, in the sandbox of the member with its own network and
//! its own variables, so that nothing of it is left when the member ends. An address is reached by this
//! process. `server/discover` is tried first, and `initialize` if the server is of the older era. A server
//! that has ended is started again by the next call; the call that it ended with is not repeated, because it
//! may have had its effect.
//!
//! **Accepted tools** (`accepted.rs`). The tools of a server, with descriptions and schemas, are recorded in the user's
//! state folder the first time. When the server has others later, none of its tools run until a person has
//! accepted the change: a description is text for the model, and a change of it can be an attack.
//!
//! **Two forms** (`registry.rs`). If the schemas of all accepted tools fit in a budget, each is a tool of its own,
//! `mcp__SERVER__TOOL`. Otherwise the model has two tools: `tool_search` returns descriptions and schemas,
//! and `mcp_call` calls. Either way the tools of a request stay the same while the process runs, so that
//! providers keep their caches.
//!
//! **Invariants:** what a server sends is limited in length, number and time, whatever it is; a tool that
//! does not say that it only reads counts as one that changes things; the member's keys reach no server.

mod accepted;
mod call;
mod changed;
mod connect;
mod described;
mod output;
mod registry;
mod server;
mod spec;

pub use accepted::{AcceptedTools, Change, StoreError};
pub use changed::{ChangedTools, WeakServers};
pub use connect::ConnectError;
pub use described::DescribedTool;
pub use registry::{CALL_EFFECT, CALL_TOOL, SEARCH_EFFECT, SEARCH_TOOL, add_tools, judged_call};
pub use server::{Checked, ProgressSink, ServerContext, Servers, ToolsError};
pub use spec::{ServerSpec, Transport};
