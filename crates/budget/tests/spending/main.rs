//! Agents with budgets, against a loopback server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod alone;
mod support;
mod together;
