//! Runs shell commands so that none of their processes remains afterwards.
//!
//! # Theory of operation
//!
//! Three processes take part. The **owner** is the process that calls [`start`] or [`run`]. It forks
//! a **reaper**, which forks the **leader**: the shell with the command, in a process group of its
//! own. The reaper executes no program. It waits, and it is the subreaper of all its
//! descendants, so that a process whose parent has exited becomes its child, even after `setsid` or
//! `nohup`.
//!
//! Two pipes connect owner and reaper. Nothing is ever written to the first: when the owner closes it,
//! or dies, the reaper reads end of file and stops the command. Through the second the reaper reports
//! how the leader ended, and that no process is left.
//!
//! However the command ends (the leader exits, the time limit passes, it is cancelled, or the owner
//! is killed with SIGKILL), the reaper does the same: SIGTERM to the group and to all of its
//! own children, a short grace period, then SIGKILL until no child is left. Only then the command is
//! finished, so a background child neither blocks a call nor survives it.
//!
//! Standard output and standard error are one pipe, which keeps their order, unless the owner talks with the
//! command ([`start_dialogue`]). A thread of the owner
//! reads it, keeps both ends in memory and writes the whole to a file when it is long ([`Save`]).
//! The thread and its state need no runtime; [`run`] is a thin asynchronous wrapper.
//!
//! # In a sandbox
//!
//! With [`Surroundings::Sandbox`] the reaper stays outside, where the command can neither see nor signal
//! it, and everything above holds unchanged. At level `full` there is no reaper: the command has a pid
//! namespace, so that the kernel kills every process of it when the shell ends or any process above it
//! is killed. The outer process of the sandbox takes the place of the reaper. It passes SIGTERM on, kills
//! everything as soon as the owner is gone, and ends exactly as the command did, when no process is left.
//! The first four points below do not apply there.
//!
//! # What can still escape
//!
//! * A program that removes [`MARK`] from the environment of a child **and** puts it in a session of
//!   its own releases it on purpose. It keeps running and is no longer tracked. This is how a command
//!   starts a daemon.
//! * The reaper can be killed with SIGKILL by the very command it watches. The leader then dies with
//!   it (`PR_SET_PDEATHSIG`), and the owner kills every process that carries the mark. A
//!   process without the mark keeps running.
//! * If owner and reaper are killed at the same instant, the leader dies and its children keep running.
//!   A later process finds them by their mark ([`marked_processes()`], [`kill_marked`]).
//! * A program that runs as another user cannot be signalled, and one that is blocked in the
//!   kernel dies later. The reaper gives up after ten seconds and reports that
//!   ([`Finished::left_behind`]).
//! * Where there is no `/proc`, only the group is killed, and only with SIGTERM once the leader is gone.
//!
//! **Invariants:** dropping a [`Job`] stops its command; no signal is sent to a process id that could
//! belong to another process; memory does not grow with the output.

mod capture;
mod dialogue;
mod environment;
mod job;
mod lifecycle;
mod marked_processes;
mod pidfd;
mod reaper;
mod record;
mod session;
mod shell_word;
mod spec;
mod supervisor;

pub use capture::{Captured, Saved};
pub use dialogue::{Dialogue, start_dialogue};
pub use job::{Finished, Job, StartError, run, start};
pub use lifecycle::End;
pub use marked_processes::{MARK, MarkedProcess, kill_marked, marked_processes};
pub use pidfd::Pidfd;
pub use session::session_of;
pub use shell_word::shell_word;
pub use spec::{ProxySpec, Save, SaveWhen, Spec, Surroundings};
