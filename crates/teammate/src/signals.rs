//! Signals that ask the process to end.

use std::io::{self, IsTerminal as _};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGTERM, and by Ctrl-C where a person started the process.
///
/// SIGHUP says that a terminal was closed. It ends a teammate that a person started at that terminal; one
/// that was spawned has no terminal, and goes on.
pub(crate) fn termination() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let signals = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ];
    for signal in signals {
        tokio::spawn(wait(signal, token.clone()));
    }
    let hangup = signal(SignalKind::hangup())?;
    if io::stdin().is_terminal() {
        tokio::spawn(wait(hangup, token.clone()));
    }
    Ok(token)
}

async fn wait(mut signal: Signal, token: CancellationToken) {
    if signal.recv().await.is_some() {
        token.cancel();
    }
}
