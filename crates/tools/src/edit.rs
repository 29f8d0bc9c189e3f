//! The tool that replaces passages of a file.

mod nearest;

use std::borrow::Cow;

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

use crate::context::ToolContext;
use crate::line_numbers;
use crate::registry::blocking;
use crate::seen::Snapshot;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::{Pieces, truncate};
use crate::workspace::Expected;

/// The largest file that can be edited.
pub(crate) const LARGEST: u64 = 16 * 1024 * 1024;
/// The number of context lines of the diff.
const AROUND: usize = 3;
/// The maximum number of characters of the diff.
const DIFF_LIMIT: usize = 4_000;

/// Replaces texts in a file of the workspace: all of them, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct EditFile;

/// The arguments of [`EditFile`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFileArgs {
    /// The path of the file, from the workspace.
    path: String,
    /// The text to replace. It must occur exactly once, unless `replace_all` is true.
    old_text: Option<String>,
    /// The text to put in its place.
    new_text: Option<String>,
    /// Whether to replace every occurrence.
    replace_all: Option<bool>,
    /// Several replacements, made in this order, instead of one `old_text` and `new_text`.
    edits: Option<Vec<Edit>>,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Edit {
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replace text in a file: `old_text` by `new_text`, or several \
         such `edits`, all or none. A text must occur exactly once (give enough of its \
         surroundings), unless `replace_all` is true. Refused if the file has changed since you last read \
         or wrote it.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = EditFileArgs;

    async fn call(
        &self,
        args: EditFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let context = context.clone();
        blocking(move || edit(&context, args)).await
    }
}

fn edit(context: &ToolContext, args: EditFileArgs) -> Result<ToolOutput, ToolError> {
    let path = args.path.clone();
    let path = path.as_str();
    let failed = |error: &dyn std::fmt::Display| ToolError::new(error.to_string());
    let edits = edits(args)?;
    let (files, place) = context.files(path)?;
    let mut opened = files.open_file(&place).map_err(|error| failed(&error))?;
    let now = Snapshot::read(&mut opened);
    let now = now.map_err(|error| ToolError::new(format!("{path}: {error}")))?;
    // A file that was never read may be edited: that the old text is there is known then.
    context.seen.must_be_same(&now, path)?;
    let Some(old) = now.content else {
        let size = opened.size;
        return Err(ToolError::new(format!(
            "{path} is too large to edit: it has {size} bytes, more than {LARGEST}"
        )));
    };
    let mut new = old.clone();
    for (at, edit) in edits.iter().enumerate() {
        let replaced = replace(&new, edit, path);
        new = replaced.map_err(|error| match edits.len() {
            1 => error,
            all => ToolError::new(format!(
                "edit {} of {all}, so nothing was changed: {error}",
                at + 1
            )),
        })?;
    }
    let written = files.replace_file(&place, &new, Expected::File(now.version));
    let location = written.map_err(|error| failed(&error))?;
    context.seen.wrote(&location, &new);
    let diff = truncate(&Pieces::whole(&diff(&old, &new)), DIFF_LIMIT, None);
    Ok(ToolOutput::ok(format!("Edited {path}\n{diff}")))
}

/// The replacements that the arguments ask for.
fn edits(args: EditFileArgs) -> Result<Vec<Edit>, ToolError> {
    let edits = match (args.old_text, args.new_text, args.edits) {
        (Some(old_text), Some(new_text), None) => vec![Edit {
            old_text,
            new_text,
            replace_all: args.replace_all,
        }],
        (None, None, Some(edits)) if !edits.is_empty() => edits,
        _ => {
            return Err(ToolError::new(
                "give either old_text and new_text, or edits with at least one of them",
            ));
        }
    };
    for edit in &edits {
        if edit.old_text.is_empty() {
            return Err(ToolError::new(
                "old_text is empty; use write_file to create or replace a whole file",
            ));
        }
        if edit.old_text == edit.new_text {
            return Err(ToolError::new("old_text and new_text are the same"));
        }
    }
    Ok(edits)
}

/// The content after one replacement. The line ends of the file are kept.
fn replace(content: &[u8], edit: &Edit, path: &str) -> Result<Vec<u8>, ToolError> {
    let (old, new) = if all_lines_end_with_crlf(content) {
        (to_crlf(&edit.old_text), to_crlf(&edit.new_text))
    } else {
        (edit.old_text.clone(), edit.new_text.clone())
    };
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let finder = Finder::new(old);
    let Some(first) = finder.find(content) else {
        return Err(not_found(content, edit, path));
    };
    if line_numbers::are_pasted(&edit.new_text) && !has_numbered_line(content) {
        return Err(pasted_numbers("new_text"));
    }
    let places: Vec<usize> = match edit.replace_all.unwrap_or(false) {
        true => finder.find_iter(content).collect(),
        false => {
            // The next match may overlap the first.
            let after = content.get(first + 1..).unwrap_or_default();
            if finder.find(after).is_some() {
                return Err(ToolError::new(
                    "Expected 1 occurrence, found 2 or more; include more of the surrounding text, \
                     or set replace_all",
                ));
            }
            vec![first]
        }
    };
    check_size(content.len(), places.len(), old.len(), new.len())?;
    Ok(join(content, &places, old.len(), new))
}

/// Refuses a result that could not be edited again, before it takes any memory.
fn check_size(size: usize, places: usize, old: usize, new: usize) -> Result<(), ToolError> {
    let rest = size.saturating_sub(places.saturating_mul(old));
    let size = rest.saturating_add(places.saturating_mul(new));
    match u64::try_from(size) {
        Ok(size) if size <= LARGEST => Ok(()),
        _ => Err(ToolError::new(format!(
            "the result is too large: it would have {size} bytes, more than {LARGEST}"
        ))),
    }
}

/// The content with other bytes at these places, which do not overlap.
fn join(content: &[u8], places: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places.iter().copied() {
        joined.extend_from_slice(content.get(from..place).unwrap_or_default());
        joined.extend_from_slice(new);
        from = place + length;
    }
    joined.extend_from_slice(content.get(from..).unwrap_or_default());
    joined
}

/// The numbers of `read_file` are no part of a file, unless it has such lines already.
fn has_numbered_line(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n');
    lines.any(|line| line_numbers::number(&String::from_utf8_lossy(line)).is_some())
}

fn pasted_numbers(argument: &str) -> ToolError {
    ToolError::new(format!(
        "the lines of {argument} begin with the numbers that read_file shows (such as `12→`); they are \
         not part of the file: give only what follows the arrows"
    ))
}

fn not_found(content: &[u8], edit: &Edit, path: &str) -> ToolError {
    if line_numbers::are_pasted(&edit.old_text) {
        return pasted_numbers("old_text");
    }
    let mut text = format!("Expected 1 occurrence, found 0: Text not found in {path}");
    match nearest::nearest(&text_of(content), &edit.old_text) {
        Some(nearest) => {
            text.push_str("; the nearest is ");
            text.push_str(&nearest);
        }
        None => text.push_str("; read the file and copy the text exactly, with its spaces"),
    }
    ToolError::new(text)
}

/// The change as a unified diff without file names.
pub(crate) fn diff(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (text_of(old), text_of(new));
    let diff = TextDiff::from_lines(&*old, &*new);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(AROUND).missing_newline_hint(false);
    unified.to_string().trim_end_matches('\n').to_owned()
}

/// Bytes as text with plain line ends, for people and models.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("\r\n") {
        return Cow::Owned(text.replace("\r\n", "\n"));
    }
    text
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
