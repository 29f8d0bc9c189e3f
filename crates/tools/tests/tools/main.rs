//! The tools as a model meets them: through the registry, on real files and with real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod background;
mod bench;
mod confined;
mod edits;
mod escapes;
mod files;
mod orphans;
mod outside;
mod registry;
mod search;
mod seen;
mod shell;
