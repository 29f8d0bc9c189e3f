//! Invariants of the rules under random events.

mod board;
mod order;
mod plan;
mod request;
mod restart;
mod shutdown;
