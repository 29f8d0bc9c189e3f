//! The rules as a caller sees them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod commands;
mod examples;
mod files;
mod properties;
mod support;
mod verdicts;
mod web;
