//! Hooks: commands that people run when something happens to a member.
//!
//! Names, input, exit codes and output are those of Claude Code, so that scripts that people have can be used.
//! A hook reads one JSON object from its standard input. Exit code 0 says that it has nothing against what
//! happens, or prints what it wants as JSON; 2 blocks what happens, with the standard error as the reason for
//! the model; everything else is a failure of the hook, which blocks nothing.
//!
//! [`Hook`] says when a command is run, [`run()`] runs it, and [`Reply::read`] says what its output means. None of
//! this knows of teams: whoever runs a hook builds its input and does what the reply says.
//!
//! **Invariant:** a hook ends within its time limit, and what it prints takes a bounded amount of memory.

mod detached;
mod event;
mod hook;
mod names;
mod reply;
mod run;

pub use detached::start_detached;
pub use event::HookEvent;
pub use hook::{DEFAULT_TIMEOUT, Hook, HookOrigin, Matcher, MatcherError};
pub use names::{claude_input, claude_name};
pub use reply::{Decision, Reply, ReplyError};
pub use run::{HookContext, HookError, outside, run};
