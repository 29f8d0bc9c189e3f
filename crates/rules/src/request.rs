//! The states of a request: `pending -> approved | rejected | expired`.
//!
//! A request is a file that both sides may change and that any program may write, so every transition
//! checks who asks for it. A state other than `pending` is final: no function of this module ever changes
//! it.

mod answer;
mod expire;
mod open;

pub use answer::{AnswerSource, MAX_IGNORED, Response, Verdict, WhyIgnored, answer};
pub use expire::{Addressee, Author, ExpireReason, ExpireRefusal, abandoned, due, expire};
pub use open::{OpenPlanRefusal, OpenShutdownRefusal, Opening, open_plan, open_shutdown};

#[cfg(test)]
mod tests;
