//! What people allow and set, with real processes and a server that plays their models.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod files;
mod limits;
mod spending;
mod support;
