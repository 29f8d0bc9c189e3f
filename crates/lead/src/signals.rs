//! The signals that ask the lead to leave, or to draw its screen again.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the lead handles.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    window_change: Signal,
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Ctrl-C or SIGTERM: leave, and end the team.
    Interrupt,
    /// SIGHUP: the terminal was closed. Leave, and let the team go on.
    Hangup,
    /// SIGWINCH: the terminal has another size.
    Resized,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            window_change: signal(SignalKind::window_change())?,
        })
    }

    /// Returns when one has come.
    pub(crate) async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => Request::Interrupt,
            _ = self.terminate.recv() => Request::Interrupt,
            _ = self.hangup.recv() => Request::Hangup,
            _ = self.window_change.recv() => Request::Resized,
        }
    }
}
