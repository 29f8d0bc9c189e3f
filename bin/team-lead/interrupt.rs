//! Handling of Ctrl-C.

use crate::failure::Failure;
use anyhow::Context;
use protocol::exit;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on Ctrl-C ends the process immediately with the exit code for interruption. For commands
/// that only read and have nothing to clean up.
pub(crate) fn exit_on_ctrl_c() -> Result<(), Failure> {
    let always = Arc::new(AtomicBool::new(true));
    flag::register_conditional_shutdown(SIGINT, i32::from(exit::INTERRUPTED), always)
        .context("cannot listen for Ctrl-C")?;
    Ok(())
}

/// From now on the first Ctrl-C sets the returned flag, and the second ends the process.
pub(crate) fn flag_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let pressed = Arc::new(AtomicBool::new(false));
    let code = i32::from(exit::INTERRUPTED);
    // In this order: at the first Ctrl-C the conditional shutdown finds the flag unset.
    flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&pressed))
        .and_then(|_| flag::register(SIGINT, Arc::clone(&pressed)))
        .context("cannot listen for Ctrl-C")?;
    Ok(pressed)
}
