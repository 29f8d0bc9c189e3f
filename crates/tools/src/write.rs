//! The tool that writes a file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::registry::blocking;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};

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
    const DESCRIPTION: &'static str =
        "Write a file, replacing what is there. Missing folders are created.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = WriteFileArgs;

    async fn call(
        &self,
        args: WriteFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let workspace = Arc::clone(&context.workspace);
        let WriteFileArgs { path, content } = args;
        blocking(move || {
            let written = workspace.replace_file(&path, content.as_bytes());
            written.map_err(|error| ToolError::new(error.to_string()))?;
            let bytes = content.len();
            Ok(ToolOutput::ok(format!("Wrote {bytes} bytes to {path}")))
        })
        .await
    }
}
