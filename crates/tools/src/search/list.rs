//! The tool that lists a folder.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::registry::blocking;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::workspace::{EntryKind, Workspace};

/// The most entries that are shown.
const MAX_SHOWN_ENTRIES: usize = 500;

/// Lists a folder of the workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListDir;

/// The arguments of [`ListDir`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirArgs {
    /// The path of the folder, from the workspace; the workspace itself if absent.
    path: Option<String>,
}

impl Tool for ListDir {
    const NAME: &'static str = "list_dir";
    const DESCRIPTION: &'static str = "List a folder: subfolders with a slash, files with their \
         size in bytes, links with an @. Hidden and ignored entries are included.";
    const EFFECT: Effect = Effect::Read;
    type Args = ListDirArgs;

    async fn call(
        &self,
        args: ListDirArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let (files, place) = context.files(args.path.as_deref().unwrap_or("."))?;
        blocking(move || list(&files, &place)).await
    }
}

fn list(workspace: &Workspace, path: &str) -> Result<ToolOutput, ToolError> {
    let entries = workspace.entries(path);
    let mut entries = entries.map_err(|error| ToolError::new(error.to_string()))?;
    if entries.is_empty() {
        return Ok(ToolOutput::ok(format!("(empty folder: {path})")));
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let shown = entries
        .iter()
        .take(MAX_SHOWN_ENTRIES)
        .map(|entry| match entry.kind {
            EntryKind::Folder => format!("{}/", entry.name),
            EntryKind::File { size } => format!("{}  {size}", entry.name),
            EntryKind::Link => format!("{}@", entry.name),
            EntryKind::Other => format!("{}  (special file)", entry.name),
        });
    let mut lines: Vec<String> = shown.collect();
    if entries.len() > MAX_SHOWN_ENTRIES {
        lines.push(format!(
            "... and {} more entries",
            entries.len() - MAX_SHOWN_ENTRIES
        ));
    }
    Ok(ToolOutput::ok(lines.join("\n")))
}
