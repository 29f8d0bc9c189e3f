//! How a long conversation is kept short enough for its model.
//!
//! # Theory of operation
//!
//! Everything here is a function over the turns of a conversation. Who stores the turns, who asks
//! the model and when, is the caller's business.
//!
//! Sizes are bytes, and an [`Estimator`] turns them into tokens. It begins with four bytes a token
//! and follows what the model reports of its requests. [`Limits`] says how much is too much.
//!
//! - *Clearing* ([`plan_clearing`], [`clear_results`]) replaces old tool results by a short
//!   placeholder. It waits until half of the window is full and then clears many at once, because each
//!   change makes the provider's prompt cache miss for everything behind it.
//! - *Compaction* ([`plan_compaction`], [`Plan`]) replaces the whole conversation by a summary that
//!   the model writes, what the program carries over by itself ([`Carried`]), and what the model has
//!   not seen yet. If there is no summary with all its parts to be had, [`Plan::cut`] keeps the newest
//!   turns instead.
//!
//! **Invariant:** what these functions make of a valid conversation is a valid conversation: no tool
//! use loses its result, and it starts with the user.
//!
//! **Invariant:** no message that the model has not answered yet is dropped. A very long one may be
//! shortened in its middle, with a note about what is missing.
//!
//! **Invariant:** what people said is there word for word, however many compactions there were, up to
//! a share of the window. What is left out of it is named with the file that has it.

mod clear;
mod compact;
mod estimate;
mod kept;
mod limits;
mod summary;
mod transcript;

pub use clear::{Cleared, ClearingRules, clear_results, plan_clearing};
pub use compact::{Carried, KEPT_WHOLE, Plan, plan_compaction};
pub use estimate::{Estimator, block_bytes, turns_bytes};
pub use limits::Limits;
pub(crate) use summary::{Fault, check};
pub use transcript::{clip, transcript};
