//! Ctrl-C.

use crate::failure::Failure;
use anyhow::Context;
use protocol::exit;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on Ctrl-C ends the process at once, with the exit code for it. For commands that only
/// look: there is nothing to put in order.
pub(crate) fn at_once() -> Result<(), Failure> {
    let always = Arc::new(AtomicBool::new(true));
    flag::register_conditional_shutdown(SIGINT, i32::from(exit::INTERRUPTED), always)
        .context("cannot listen for Ctrl-C")?;
    Ok(())
}

/// From now on the first Ctrl-C sets the flag that this returns, and the second ends the process.
pub(crate) fn once_gracefully() -> Result<Arc<AtomicBool>, Failure> {
    let pressed = Arc::new(AtomicBool::new(false));
    let code = i32::from(exit::INTERRUPTED);
    // In this order: the first one finds the flag not yet set.
    flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&pressed))
        .and_then(|_| flag::register(SIGINT, Arc::clone(&pressed)))
        .context("cannot listen for Ctrl-C")?;
    Ok(pressed)
}
