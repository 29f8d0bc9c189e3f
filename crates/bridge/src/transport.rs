//! How frames get from one host to another. A transport knows nothing of a team folder.
//!
//! The mark of the outbox moves only when the other host has applied the frames, so that a transport may lose
//! whatever was handed to it. A receiver may get a frame again that it has not acknowledged, and repeats of older
//! ones.

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
