//! The tools a model is given to work with: a shell, files, and commands in the background.
//!
//! # Theory of operation
//!
//! A [`Tool`] has a name, typed arguments and an asynchronous call. The [`Registry`] forgets the
//! types: it generates the schemas, parses the arguments of a call, once, and turns whatever
//! happens into a [`ToolOutput`], because a model can act on a text but not on an error, a panic or
//! silence. Every text is shortened by the same function ([`truncate()`]), which keeps both ends and
//! says where the whole is.
//!
//! Two things stand between a model and the machine, and they are not alike:
//!
//! * The [`Workspace`] is a **boundary for the file tools**. No path leads out of it, whatever links
//!   there are and whoever changes them meanwhile, and nothing below a protected path is written.
//! * The [`Policy`] is a **guard against accidents**, no more. It reads a command the way a shell
//!   would and refuses what is known to end badly, such as `rm -rf /`. A command that is set on doing
//!   harm finds a way around it. Whoever needs a sandbox has to put the whole process in one.
//!
//! Commands run under the `supervisor`, which leaves no process behind. Those in the background
//! belong to a [`Background`], which hands out each completion once and kills what still runs when
//! it is dropped.
//!
//! **Invariants:** nothing here knows of a team or of a model's protocol; a path is resolved by the
//! workspace only; the outcome of a call is never empty.

mod background;
mod compact;
mod context;
mod edit;
mod policy;
mod read;
mod registry;
mod schema;
mod shell;
mod tool;
mod truncate;
mod workspace;
mod write;

pub use background::{
    Background, BackgroundRun, CheckBackground, FinishedTask, TaskState, render_finished,
};
pub use compact::Compact;
pub use context::{OutputFolder, ToolContext};
pub use edit::EditFile;
pub use policy::{Invocation, Policy, PolicyError, Redirect, Rule};
pub use read::ReadFile;
pub use registry::{Definition, DuplicateTool, Registry};
pub use shell::Bash;
pub use tool::{Control, Effect, Tool, ToolError, ToolOutput};
pub use truncate::{LIMIT, Pieces, truncate};
pub use workspace::{OpenFile, OpenWorkspaceError, PathError, Workspace};
pub use write::WriteFile;
