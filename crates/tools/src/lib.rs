//! The tools of a model: shell commands, files, searches, and background commands.
//!
//! # Theory of operation
//!
//! A [`Tool`] has a name, typed arguments and an asynchronous call. The [`Registry`] erases the
//! types: it generates the schemas, parses the arguments of a call, and turns every outcome, including
//! errors and panics, into a [`ToolOutput`], because a model can only act on text. Long texts are
//! shortened by one function ([`truncate()`]), which keeps both ends and names the file with the
//! complete text.
//!
//! Two mechanisms restrict what a model can do:
//!
//! * The [`Workspace`] is the boundary of the **file tools**. No path leads out of it, whatever links
//!   exist or change meanwhile, and nothing below a protected path is written. A path outside is used only
//!   by a call whose [`FileAccess`] has it, and secrets and control files not even then.
//! * A [`Confinement`] is the boundary of **commands**: the sandbox in which each of them runs, and its
//!   environment. Both keep to the list of protected names in the crate `sandbox`.
//!
//! Commands run through the crate `command`, which leaves no process behind. Background commands belong
//! to a [`Background`], which returns each completion once and kills running commands when it is
//! dropped.
//!
//! A file is replaced only if it is as its agent last saw it ([`SeenFiles`]), so that nobody's change is lost
//! unnoticed.
//!
//! **Invariants:** nothing here knows about teams or the protocols of models; paths are resolved only by
//! the workspace; the outcome of a call is never empty.

mod access;
mod ask;
mod background;
mod changes;
mod compact;
mod confinement;
mod context;
mod edit;
mod image;
mod line_numbers;
mod output_folder;
mod read;
mod registry;
mod schema;
mod search;
mod seen;
mod shell;
mod tool;
mod truncate;
mod workspace;
mod write;

pub use access::{Access, CommandAccess, FileAccess, IsHidden};
pub use ask::{AskUser, AskUserArgs};
pub use background::{
    Background, BackgroundRun, CheckBackground, FinishedTask, TaskState, render_finished,
};
pub use changes::{ChangedBy, Changes};
pub use compact::Compact;
pub use confinement::{Confinement, LEVEL_VARIABLE, Records};
pub use context::ToolContext;
pub use edit::EditFile;
pub use image::read_image;
pub use output_folder::OutputFolder;
pub use read::ReadFile;
pub use registry::{Call, Definition, DuplicateTool, DynamicTool, Registry};
pub use schema::Schema;
pub use search::glob::Glob;
pub use search::grep::Grep;
pub use search::list::ListDir;
pub use seen::SeenFiles;
pub use shell::Bash;
pub use tool::{Control, Effect, OutputImage, Tool, ToolError, ToolOutput};
pub use truncate::{LIMIT, Pieces, truncate};
pub use workspace::{OpenFile, OpenWorkspaceError, PathError, Workspace};
pub use write::WriteFile;
