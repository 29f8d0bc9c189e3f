//! The signals that ask the lead to leave.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for the end.
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Returns when one has come.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
