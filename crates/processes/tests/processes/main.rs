//! Members as real processes: started, killed, reaped, restarted and shut down.
//!
//! The tests wait for conditions and assert no times, because the machine may be busy.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod commands;
mod crash;
mod death;
mod idle_check;
mod shutdown;
mod spawn;
mod support;
