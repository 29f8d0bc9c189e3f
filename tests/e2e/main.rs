//! The two programs as a person uses them, and the folder as other programs see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod demo;
mod drain;
mod fixture;
mod logs;
mod mail;
mod python_member;
mod readme;
mod requests;
mod shutdown;
mod support;
mod tour;
mod usage;
mod wait;
