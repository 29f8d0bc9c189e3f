//! Runs a command so that it sees, changes and reaches only what a [`Description`] lists.
//!
//! # Theory of operation
//!
//! [`prepare`] takes a [`std::process::Command`] and adds a step between fork and exec. The caller
//! keeps the command: it sets standard input and output, spawns it, waits for it, signals it and
//! bounds its time as it does without a sandbox. This form was chosen over a helper program because
//! it costs half as much per command, needs no second executable that has to be found, and because a
//! caller may have a step of its own before exec: a supervisor that forks in an earlier `pre_exec`
//! gets the sandbox below itself by calling [`prepare`] after it.
//!
//! With namespaces two more processes take part:
//!
//! ```text
//! caller ── outer ── init ── command
//!            │        │
//!            │        └ process 1 of the pid namespace; its exit kills all that is left
//!            └ the child that the caller knows; outside of the pid namespace
//! ```
//!
//! *outer* creates the namespaces, passes every signal it gets on to *init*, and ends with the very
//! status of the command: the same exit code, or killed by the same signal. *init* builds the file
//! tree ([`Description`]), gives all rights up, starts the command in a session of its own, reaps
//! orphans, and forwards signals that come from outside to the command's process group. When the
//! command ends, *init* exits, the kernel kills every other process of the namespace, and only then
//! *outer* ends: when `wait` returns, nothing is left.
//!
//! A pipe that only the caller holds is the lifeline: when the caller drops its [`Session`] or dies,
//! *outer* kills *init*. If *outer* is killed with SIGKILL, *init* gets SIGKILL from the kernel. No
//! part relies on the thread that spawned the command.
//!
//! With [`Network::Proxy`] *init* listens on a loopback address of the command's network and sends the
//! listening socket to the caller. A socket belongs to the network it was made in, so that a proxy in
//! the caller's process accepts connections there and makes its own in the machine's network. No
//! process and no path inside the sandbox takes part.
//!
//! Where the kernel refuses namespaces, the step only applies limits, Landlock rules and the system
//! call filter, and the command is the caller's own child. [`Layers::probe`] finds out which it is by
//! running a command, once; [`Level`] says what is promised.
//!
//! # What differs from a command without a sandbox
//!
//! * A signal for the child reaches the whole process group of the command. SIGSTOP stops only
//!   *outer*: it cannot be passed on.
//! * The command has no controlling terminal.
//! * What it leaves in the background ends with it.
//! * `/tmp` is empty at the start and gone at the end.
//!
//! # What gets through
//!
//! * Local sockets with a path inside a readable or writable folder. Do not list folders with
//!   sockets of servers in them.
//! * Names that do not exist cannot be protected: [`Session::created`] finds them afterwards. If the
//!   caller is killed first, [`Unfinished`] finds them by the record that [`Description::record`] asked for.
//! * A program outside that replaces a protected file by renaming another over it removes the
//!   protection from that name while the command runs.
//! * With [`Network::Proxy`] whatever the proxy outside lets through.
//! * With [`Network::On`] the command reaches every server on the machine's loopback interface.
//! * Programs that the command changed in a writable folder and that are run outside later, such as
//!   a build script, or git in a repository that the command made in a subfolder.
//! * A file or folder that is the standard input, where the kernel has no Landlock: it can be opened
//!   again through `/proc`.
//! * There is no bound on memory or processor time of all processes together.
//! * At [`Level::Landlock`]: everything inside a writable folder, names and command lines of other
//!   processes, and processes that are left behind.

mod aliases;
mod child;
mod description;
mod descriptors;
mod error;
mod extend;
mod filter;
mod git;
mod landlock_rules;
mod layout;
mod mounts;
mod network;
mod probe;
mod record;
mod rename;
mod session;
mod snapshot;
mod syscalls;
mod watch;
pub mod workspace;

pub use description::{Content, Description, Limits, Network, Placeholder};
pub use descriptors::PROXY;
pub use error::{PrepareError, StartError, Step};
pub use probe::{Layer, Layers, Level, Missing};
pub use record::{RecordState, Unfinished, records};
pub use rename::RenamedFile;
pub use session::{EndPipe, Session, prepare};
