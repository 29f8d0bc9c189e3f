//! The tool that writes a file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::registry::blocking;
use crate::seen::Snapshot;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::workspace::{Expected, PathError, Workspace};

/// Creates or atomically replaces a file of the workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteFile;

/// The arguments of [`WriteFile`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileArgs {
    /// The path of the file, from the workspace.
    path: String,
    /// The whole content of the file.
    content: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Write a whole file. Missing folders are created. An existing \
         file is replaced only if you have read it and it has not changed since; to change a part of \
         it, use edit_file.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = WriteFileArgs;

    async fn call(
        &self,
        args: WriteFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let context = context.clone();
        blocking(move || write(&context, &args)).await
    }
}

fn write(context: &ToolContext, args: &WriteFileArgs) -> Result<ToolOutput, ToolError> {
    let WriteFileArgs { path, content } = args;
    let (files, place) = context.files(path)?;
    let expected = expected(context, &files, &place)?;
    let written = files.replace_file(&place, content.as_bytes(), expected);
    let location = written.map_err(|error| ToolError::new(error.to_string()))?;
    context.seen.wrote(&location, content.as_bytes());
    let bytes = content.len();
    Ok(ToolOutput::ok(format!("Wrote {bytes} bytes to {path}")))
}

/// What must be there when the file is written. An existing file must be known; an empty one has nothing
/// to lose.
fn expected(context: &ToolContext, files: &Workspace, path: &str) -> Result<Expected, ToolError> {
    let Ok(mut opened) = files.open_file(path) else {
        // If something is there that cannot be opened, writing fails and says why.
        return Ok(Expected::Nothing);
    };
    let now = Snapshot::read(&mut opened);
    let now = now.map_err(|error| ToolError::new(format!("{path}: {error}")))?;
    context.seen.must_be_same(&now, path)?;
    if opened.size > 0 && !context.seen.has(&now.location) {
        // To read a file that must not be written would be in vain.
        let protected = files.must_not_be_protected(path);
        let refused = protected.err();
        let refused = refused.unwrap_or_else(|| PathError::Exists(path.to_owned()));
        return Err(ToolError::new(refused.to_string()));
    }
    Ok(Expected::File(now.version))
}
