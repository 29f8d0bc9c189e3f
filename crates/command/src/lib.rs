//! Runs shell commands so that nothing of them is left when they are over.
//!
//! # Theory of operation
//!
//! Three processes take part. The **owner** is the process that calls [`start`] or [`run`]. It forks
//! a **keeper**, which forks the **leader**: the shell with the command, in a process group of its
//! own. The keeper executes no program. It waits, and it is the subreaper of everything below it, so
//! that a process whose parent has gone becomes the keeper's child wherever it went, `setsid` and
//! `nohup` included.
//!
//! Two pipes join owner and keeper. Nothing is ever written to the first: when the owner closes it,
//! or dies in whatever way, the keeper reads its end and stops the command. Over the second the
//! keeper reports how the leader ended, and that nothing is left.
//!
//! However it comes to an end (the leader exits, the wall-clock limit passes, somebody cancels, the
//! owner is killed with SIGKILL), the keeper does the same: SIGTERM to the group and to all of its
//! own children, a short grace, then SIGKILL until no child is left. Only then the command is
//! finished, so that a child left in the background neither stalls a call nor survives it.
//!
//! Standard output and standard error are one pipe, which keeps their order. A thread of the owner
//! reads it, keeps both ends in memory and writes the whole to a file when it is long ([`Save`]).
//! The thread and its state do not need a runtime; [`run`] is the thin asynchronous skin.
//!
//! # What can still get away
//!
//! * A program that removes [`MARK`] from the environment of a child **and** puts it in a session of
//!   its own lets it go on purpose. It stays alive, and nobody here looks after it any more. Whoever
//!   starts a daemon from within a command does both.
//! * The keeper can be killed with SIGKILL by the very command it watches. The leader then dies with
//!   it (`PR_SET_PDEATHSIG`), and the owner kills every process that carries the mark. What has no
//!   mark lives on.
//! * If owner and keeper are killed at the same instant, the leader dies and its children live on.
//!   A later process finds them by their mark ([`survivors()`], [`kill_survivors`]).
//! * A program that runs as another user cannot be signalled by us, and one that is stuck in the
//!   kernel dies later. The keeper gives up after ten seconds and says so
//!   ([`Finished::left_behind`]).
//! * Where there is no `/proc`, only the group is killed, and only with SIGTERM once the leader is gone.
//!
//! **Invariants:** dropping a [`Job`] stops its command; no signal is sent to a number that could
//! belong to somebody else; memory does not grow with the output.

mod capture;
mod environment;
mod job;
mod lifecycle;
mod reaper;
mod record;
mod session;
mod spec;
mod survivors;

pub use capture::{Captured, Saved};
pub use job::{Finished, Job, StartError, run, start};
pub use lifecycle::End;
pub use session::session_of;
pub use spec::{Save, SaveWhen, Spec};
pub use survivors::{MARK, Survivor, kill_survivors, survivors};
