//! Members as real processes: started, killed, reaped, brought back and shut down.
//!
//! The tests wait for conditions and assert no times: the machine may be busy with anything else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod crash;
mod death;
mod idle_check;
mod shutdown;
mod spawn;
mod support;
