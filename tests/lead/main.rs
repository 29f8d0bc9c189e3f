//! The lead as a person or a program uses it: real processes, real files, a model that is a script or
//! a server on this machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod adoption;
mod deaths;
mod instructions;
mod leaving;
mod mail;
mod one_shot;
mod piped;
mod pty;
mod support;
mod terminal;
