//! Invariants of the rules under random events.

mod board;
mod plan;
mod request;
mod restart;
mod shutdown;
