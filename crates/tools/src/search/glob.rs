//! The tool that finds files by their names.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Tree;
use crate::context::ToolContext;
use crate::registry::blocking;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::workspace::Workspace;

/// The most files that are shown.
const MAX_SHOWN_FILES: usize = 200;

/// Finds files of the workspace by a pattern of their names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

/// The arguments of [`Glob`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobArgs {
    /// Such as `*.rs`, `src/**/*.ts` or `**/{Makefile,*.mk}`.
    pattern: String,
    /// The folder to search; the workspace if absent.
    path: Option<String>,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Find files by a pattern of their names, the most recently \
         changed first. Files that git ignores are left out.";
    const EFFECT: Effect = Effect::Read;
    type Args = GlobArgs;

    async fn call(&self, args: GlobArgs, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (workspace, path) = context.files(args.path.as_deref().unwrap_or("."))?;
        let tree = Tree::new(&workspace, &path, Some(&args.pattern), &context.cancel)?;
        blocking(move || find(&workspace, &tree)).await
    }
}

fn find(workspace: &Workspace, tree: &Tree) -> Result<ToolOutput, ToolError> {
    let found: Mutex<Vec<(SystemTime, PathBuf)>> = Mutex::new(Vec::new());
    tree.visit(|| {
        |path: &Path, entry: &ignore::DirEntry| {
            let changed = entry.metadata().ok().and_then(|data| data.modified().ok());
            let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((changed, path.to_owned()));
            true
        }
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let all = found.len();
    let shown = found.iter().map(|(_, path)| path);
    let shown = shown.filter(|path| workspace.open_beneath(path).is_ok());
    let shown = shown.take(MAX_SHOWN_FILES);
    let mut lines: Vec<String> = shown
        .map(|path| workspace.name(path).display().to_string())
        .collect();
    if lines.is_empty() {
        return Ok(ToolOutput::ok("No files match."));
    }
    if all > MAX_SHOWN_FILES {
        lines.push(format!("... and {} more files", all - MAX_SHOWN_FILES));
    }
    Ok(ToolOutput::ok(lines.join("\n")))
}
