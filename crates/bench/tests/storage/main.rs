//! The team folder under fire: real processes, real kills, real full disks.
//!
//! The numbers in names such as `inv_05` are those of the list in `crates/README.md`.
//! `TEAM_TEST=long` runs the long versions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod board;
mod crash_points;
mod disk;
mod history;
mod kills;
mod members;
mod power;
mod shared_syncs;
mod starts;
mod support;
mod tasks;
mod waking;
