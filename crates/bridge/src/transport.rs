//! How frames get from one host to another. A transport knows nothing of a team folder.
//!
//! A bridge holds one half of each. `send` returns when the frames are accepted durably: over SSH when the
//! other host has applied them, with a broker when it has stored them. Only then does the mark of
//! the outbox move, so that a transport may lose whatever it has not accepted. A receiver may get a frame
//! again that it has not acknowledged, and repeats of older ones.

use protocol::{Frame, HostId};
use std::future::Future;

/// Why frames could not be taken to their host. They are sent again when there is a connection.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The connection has ended; a new one may work.
    #[error("the connection has ended: {0}")]
    Ended(String),
    /// What came is no frame, or does not follow the rules. A new connection would bring the same.
    #[error("{0}")]
    Refused(String),
}

/// The half that sends.
pub trait SendFrames {
    /// Hands over frames for one host, at most [`protocol::MAX_FRAMES_UNDER_WAY`], in their order. Returns the
    /// number of the last one that was accepted durably.
    fn send(&mut self, frames: &[Frame]) -> impl Future<Output = Result<u64, TransportError>>;
}

/// The half that receives.
pub trait ReceiveFrames {
    /// Waits for frames. Can be dropped at any time.
    fn receive(&mut self) -> impl Future<Output = Result<Vec<Frame>, TransportError>>;

    /// The frames of `from` up to the number `seq` are applied and synced: they need not be brought again.
    fn acknowledge(
        &mut self,
        from: &HostId,
        seq: u64,
    ) -> impl Future<Output = Result<(), TransportError>>;
}
