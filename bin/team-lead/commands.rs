//! The commands, one module each.

pub(crate) mod budget;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod costs;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod limits;
pub(crate) mod logs;
pub(crate) mod mail;
pub(crate) mod notes;
pub(crate) mod process;
pub(crate) mod prompt;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod shutdown;
pub(crate) mod spawn;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod wait;
pub(crate) mod watch;
