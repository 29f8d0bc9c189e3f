//! The loop under a scripted model: every reason to stop, every fault, every way to be interrupted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod asking;
mod background;
mod compaction;
mod interrupts;
mod long;
mod reminder;
mod replay;
mod stops;
mod support;
mod tool_calls;
