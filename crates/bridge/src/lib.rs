//! The bridge of a host: moves mail between its team folder and those of other hosts.
//!
//! # Theory of operation
//!
//! The folder stays the interface on each host. Each member is *at home* on one host, and so is the lead; the
//! roster of every other host has it with the name of that host. On those hosts the bridge is the reader of
//! its inbox: [`Core::collect`] moves what lies there into the outbox of that host, a file of numbered
//! [`protocol::Frame`]s. A [`transport`] takes frames to their host; when they are accepted there the mark of
//! the outbox moves. [`Core::apply`] takes in what came from another host by the rules of `judge.rs`. A moment later
//! [`Core::settle`] syncs it with what else has come, and only then is it acknowledged: nobody who reads mail waits
//! for that (`settle.rs`).
//!
//! Whoever is killed at any step, the step is done again, and recognised: a frame by its number, a message
//! by its sender and id.
//!
//! **Invariant:** what another host may cause here is decided in `admit.rs` alone.

mod admit;
mod core;
mod forward;
mod home;
mod judge;
mod lease;
pub mod nats;
mod pipe;
mod quota;
mod run;
pub mod ssh;
pub mod transport;

pub use admit::{
    BundleRefused, Refusal, admit_answer, admit_bundle, admit_mail, admit_members, admit_part,
    admit_request,
};
pub use core::{ApplyError, CollectError, Core, OpenError, SettleError, Starter};
pub use judge::{StreamError, Verdict, check_peer_mark, judge};
pub use lease::LEASE;
pub use pipe::{Hello, Pipe, PipeReceiver, PipeSender};
pub use run::{RunError, Side, run_pipe};
