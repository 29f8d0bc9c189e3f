//! What the loop waits for besides its own jobs: news of files, and signals.

use member::MemberRuntime;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often files are looked at that nobody reports changes of.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// News of the lead's mail, of requests and of the board.
#[derive(Default)]
pub(crate) struct Watch {
    reports: Option<AsyncFd<OwnedFd>>,
    /// When the mail has to be looked at even without news.
    pub(crate) wake_at: Option<Instant>,
}

impl Watch {
    /// Finds out how this desk hears of news. That can change while it runs.
    pub(crate) fn check(&mut self, runtime: &MemberRuntime) {
        match (runtime.descriptor(), &self.reports) {
            (Some(descriptor), None) => self.reports = readable(descriptor).ok(),
            (None, Some(_)) => self.reports = None,
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// Returns when there may be news.
    pub(crate) async fn news(&self) {
        match &self.reports {
            None => tokio::time::sleep(POLL_INTERVAL).await,
            Some(reports) => match reports.readable().await {
                // Whoever is woken takes all there is, and so waits for the next change.
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => pending().await,
            },
        }
    }
}

/// Lets the runtime wait until a descriptor is readable.
pub(crate) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same until it is dropped, which it is with the
    // value made from it.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    registered.map_err(Into::into)
}

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
