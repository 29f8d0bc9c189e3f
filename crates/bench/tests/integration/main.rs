//! Own trees and the queue that brings the work back, with real repositories, kills and hostile trees.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod following;
mod full;
mod hostile;
mod kills;
mod landing;
mod large;
mod queue;
mod stranger;
mod strangers;
mod support;
mod trees;
