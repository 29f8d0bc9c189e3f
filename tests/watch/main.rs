//! Seeing what goes on and what is wrong, with the real programs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod doctor;
mod picture;
mod pty;
mod replay;
mod screen;
mod support;
