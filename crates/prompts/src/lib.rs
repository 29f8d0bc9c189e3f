//! What a model is told about itself, its place and its work: the system prompt of every member.
//!
//! # Theory of operation
//!
//! A [`SystemPrompt`] is a list of typed [`Part`]s, which are always written in the order of
//! [`PartKind`]. [`PromptSpec::build`] makes it: the running member and `team-lead prompt show` call the
//! same function, so what is shown is what the model is told.
//!
//! **Cache.** Providers charge little for a prefix that they have seen before, and the system prompt is
//! the start of every request. So everything in it is read once, when it is built, and it is built again
//! only when little is lost: see [`CurrentPrompt`]. What changes more often belongs in the reminder at
//! the end of a request, which lead and teammate write.
//!
//! **Size.** Each sentence about how a team works costs a model attention that its work needs. The texts
//! in `base.rs` have a limit, which a test keeps.
//!
//! To add a part: a variant of [`PartKind`] at its place in the order, and its text in
//! [`PromptSpec::build`].

mod base;
mod current;
mod environment;
mod git;
mod instructions;
mod part;
mod roles;
mod skills;
mod spec;
mod text;

pub use current::{CurrentPrompt, SystemText};
pub use part::{Part, PartKind, SystemPrompt, tokens};
pub use skills::SkillTool;
pub use spec::{PromptSpec, Reader, UserFolders, unusable_texts};
pub use text::one_line;
