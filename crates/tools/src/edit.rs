//! The tool that replaces one passage of a file.

use std::io::Read;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};

use crate::context::ToolContext;
use crate::registry::blocking;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::{Pieces, truncate};
use crate::workspace::Workspace;

/// The largest file that can be edited.
const LARGEST: u64 = 16 * 1024 * 1024;
/// The number of context lines of the diff.
const AROUND: usize = 3;
/// The maximum number of characters of the diff.
const DIFF_LIMIT: usize = 4_000;

/// Replaces a text that occurs exactly once in a file of the workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct EditFile;

/// The arguments of [`EditFile`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFileArgs {
    /// The path of the file, from the workspace.
    path: String,
    /// The text to replace. It must occur exactly once.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replace a text in a file. The text must occur exactly once: \
         give enough of its surroundings.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = EditFileArgs;

    async fn call(
        &self,
        args: EditFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let workspace = Arc::clone(&context.workspace);
        blocking(move || edit(&workspace, &args)).await
    }
}

fn edit(workspace: &Workspace, args: &EditFileArgs) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_str();
    let failed = |error: &dyn std::fmt::Display| ToolError::new(error.to_string());
    if args.old_text.is_empty() {
        return Err(ToolError::new(
            "old_text is empty; use write_file to create or replace a whole file",
        ));
    }
    if args.old_text == args.new_text {
        return Err(ToolError::new("old_text and new_text are the same"));
    }
    let mut opened = workspace.open_file(path).map_err(|error| failed(&error))?;
    if opened.size > LARGEST {
        let size = opened.size;
        return Err(ToolError::new(format!(
            "{path} is too large to edit: it has {size} bytes, more than {LARGEST}"
        )));
    }
    let mut content = Vec::new();
    let read = (&mut opened.file)
        .take(LARGEST + 1)
        .read_to_end(&mut content);
    read.map_err(|error| ToolError::new(format!("{path}: {error}")))?;
    let change = Change::find(content, args)?;
    let edited = change.edited();
    let written = workspace.replace_version(path, &edited, opened.version);
    written.map_err(|error| failed(&error))?;
    let diff = change.diff(&edited);
    let diff = truncate(&Pieces::whole(&diff), DIFF_LIMIT, None);
    Ok(ToolOutput::ok(format!("Edited {path}\n{diff}")))
}

/// A passage of a file, and its replacement.
struct Change {
    content: Vec<u8>,
    start: usize,
    end: usize,
    new: Vec<u8>,
}

impl Change {
    fn find(content: Vec<u8>, args: &EditFileArgs) -> Result<Self, ToolError> {
        let (old, new) = if all_lines_end_with_crlf(&content) {
            (to_crlf(&args.old_text), to_crlf(&args.new_text))
        } else {
            (args.old_text.clone(), args.new_text.clone())
        };
        let old = old.as_bytes();
        let mut places = content
            .windows(old.len())
            .enumerate()
            .filter(|(_, window)| *window == old)
            .map(|(at, _)| at);
        let first = places.next();
        let more = places.count();
        match first {
            Some(start) if more == 0 => Ok(Self {
                start,
                end: start + old.len(),
                new: new.into_bytes(),
                content,
            }),
            Some(_) => Err(ToolError::new(format!(
                "Expected 1 occurrence, found {}; include more of the surrounding text",
                more + 1
            ))),
            None => Err(ToolError::new(format!(
                "Expected 1 occurrence, found 0: Text not found in {}; read the file and copy the \
                 text exactly, with its spaces",
                args.path
            ))),
        }
    }

    fn edited(&self) -> Vec<u8> {
        let before = self.content.get(..self.start).unwrap_or_default();
        let after = self.content.get(self.end..).unwrap_or_default();
        [before, &self.new, after].concat()
    }

    /// The change as a unified diff with one hunk.
    fn diff(&self, edited: &[u8]) -> String {
        let start = lines_back(&self.content, self.start);
        let end_of_new = self.start + self.new.len();
        let old = self.content.get(start..lines_on(&self.content, self.end));
        let new = edited.get(start..lines_on(edited, end_of_new));
        let old = String::from_utf8_lossy(old.unwrap_or_default());
        let new = String::from_utf8_lossy(new.unwrap_or_default());
        let before = self.content.get(..start).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let mut text = format!(
            "@@ -{line},{} +{line},{} @@\n",
            old.lines().count(),
            new.lines().count()
        );
        for change in TextDiff::from_lines(&*old, &*new).iter_all_changes() {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text.push_str(change.value().trim_end_matches(['\r', '\n']));
            text.push('\n');
        }
        text.pop();
        text
    }
}

/// The start of the line that is `AROUND` lines before the one that `at` is in.
fn lines_back(content: &[u8], at: usize) -> usize {
    let before = content.get(..at).unwrap_or_default().iter().enumerate();
    let mut ends = before.rev().filter(|(_, byte)| **byte == b'\n');
    ends.nth(AROUND).map_or(0, |(end, _)| end + 1)
}

/// The end of the line that is `AROUND` lines after the one that `at` is in.
fn lines_on(content: &[u8], at: usize) -> usize {
    // If the change ended with a line end, the line it is in is the one before.
    let from = at.saturating_sub(1);
    let after = content.iter().enumerate().skip(from);
    let mut ends = after.filter(|(_, byte)| **byte == b'\n');
    ends.nth(AROUND).map_or(content.len(), |(end, _)| end + 1)
}

fn all_lines_end_with_crlf(content: &[u8]) -> bool {
    let mut before = 0;
    let mut any = false;
    for byte in content {
        if *byte == b'\n' {
            if before != b'\r' {
                return false;
            }
            any = true;
        }
        before = *byte;
    }
    any
}

fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}
