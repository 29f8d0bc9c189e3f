//! Tools for the tests of a program in which several processes share a folder
//! of plain files and must survive `kill -9`, a full disk and a power cut.
//!
//! - [`wait_until`], [`wait_for`] and [`try_wait_for`] wait for a condition
//!   with a limit. No other code of the tests sleeps.
//! - [`Worker`] is a child process whose output lines are read with a limit,
//!   and which never outlives its test. [`Rng`] chooses moments by a seed.
//!   A [`Gate`] holds a process up.
//! - [`AtTerminal`] is a program at a terminal of its own.
//! - [`TempTeam`] is a team in a folder of its own, deleted on drop.
//! - [`git`] and [`init_repository`] work on repositories.
//! - [`faults`] runs a command and, at a chosen system call of a marked
//!   region, kills it, tears a write or makes the call fail.
//! - [`llm_server`] is a loopback server that plays a provider of models, with
//!   faults and gates.
//! - [`forbid_namespaces`] makes a machine without user namespaces of this one, for one command.
//! - [`NatsServer`] is a real NATS server, [`nats_cluster`] a cluster of them.
//! - [`SshServer`] is a real server of SSH. A [`Relay`] is a bad network in front of a server.
//! - [`SmallDisk`] is a disk that is soon full, [`LoopDisk`] a disk whose power
//!   can be cut. Where they cannot be had they return a [`Skip`], which
//!   [`report_skip`] puts on standard error.

mod disk;
pub mod faults;
pub mod llm_server;
mod namespaces;
mod nats;
mod process;
mod relay;
mod repository;
mod rng;
mod ssh;
mod team;
mod terminal;
mod wait;

pub use disk::{LoopDisk, Skip, SmallDisk, report_skip};
pub use namespaces::forbid_namespaces;
pub use nats::{NatsConfig, NatsPlace, NatsServer, nats_cluster};
pub use process::{Gate, Worker};
pub use relay::{Network, Relay};
pub use repository::{commit_all, git, git_command, init_repository, name_person};
pub use rng::Rng;
pub use ssh::SshServer;
pub use team::TempTeam;
pub use terminal::AtTerminal;
pub use wait::{try_wait_for, wait_for, wait_until};
