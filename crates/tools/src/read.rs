//! The tool that reads a file.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Seek};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::ToolContext;
use crate::image;
use crate::line_numbers;
use crate::registry::blocking;
use crate::seen::Snapshot;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::{LIMIT, first_chars};

/// The maximum number of characters of a line.
const LONGEST_LINE: usize = 2_000;
/// The characters that are reserved for the notes at the end.
const NOTES: usize = 200;
/// The number of bytes that are checked to detect text.
const SAMPLE: u64 = 8 * 1024;
/// The maximum number of bytes that are read to count the remaining lines.
const COUNTED: u64 = 16 * 1024 * 1024;

/// Shows lines of a file of the workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadFile;

/// The arguments of [`ReadFile`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFileArgs {
    /// The path of the file, from the workspace.
    path: String,
    /// The first line to show, counted from 1.
    offset: Option<u64>,
    /// How many lines to show.
    limit: Option<u64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Read a text file, or `limit` lines of it from line \
         `offset` on. Each line is shown after its number and an arrow (`12→text`), which are not \
         part of the file: leave them out of edits. Long files are shown in part, with the number \
         of lines left. Also shows a PNG, JPEG, GIF or WebP image.";
    const EFFECT: Effect = Effect::Read;
    type Args = ReadFileArgs;

    async fn call(
        &self,
        args: ReadFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let context = context.clone();
        blocking(move || read(&context, &args)).await
    }
}

fn read(context: &ToolContext, args: &ReadFileArgs) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_str();
    let (files, place) = context.files(path)?;
    let opened = files.open_file(&place);
    let mut opened = opened.map_err(|error| ToolError::new(error.to_string()))?;
    let failed = |error| ToolError::new(format!("{path}: {error}"));
    let snapshot = Snapshot::read(&mut opened).map_err(failed)?;
    let shown = match &snapshot.content {
        // What is shown is what counts as seen, even if the file changes meanwhile.
        Some(content) => read_from(std::io::Cursor::new(content), opened.size, args),
        None => {
            opened.file.rewind().map_err(failed)?;
            read_from(opened.file, opened.size, args)
        }
    };
    let output = shown?;
    context.seen.saw(&snapshot);
    Ok(output)
}

fn read_from(
    mut file: impl Read + Seek,
    size: u64,
    args: &ReadFileArgs,
) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_str();
    let failed = |error| ToolError::new(format!("{path}: {error}"));
    let mut sample = Vec::new();
    let sampled = file.by_ref().take(SAMPLE).read_to_end(&mut sample);
    sampled.map_err(failed)?;
    if sample.is_empty() {
        return Ok(ToolOutput::ok(format!("(empty file: {path})")));
    }
    if sample.contains(&0) {
        if let Some(media_type) = image::media_type(&sample) {
            file.rewind().map_err(failed)?;
            return image::output(path, media_type, file, size);
        }
        return Ok(ToolOutput::ok(describe(path, size, &sample)));
    }
    file.rewind().map_err(failed)?;
    let mut lines = Lines::new(BufReader::new(file));
    let first = args.offset.unwrap_or(1).max(1);
    let skipped = lines.skip(first - 1).map_err(failed)?;
    if skipped < first - 1 || (first > 1 && lines.at_end().map_err(failed)?) {
        return Err(ToolError::new(format!(
            "offset {first} is beyond the end: {path} has {skipped} lines"
        )));
    }
    let most = args.limit.unwrap_or(u64::MAX);
    show(&mut lines, first, most, size)
        .map_err(failed)
        .map(ToolOutput::ok)
}

/// The next lines, as many as are wanted and fit.
fn show<R: BufRead>(
    lines: &mut Lines<R>,
    first: u64,
    most: u64,
    size: u64,
) -> std::io::Result<String> {
    let mut text = String::new();
    let mut room = LIMIT - NOTES;
    let mut shown = 0;
    while shown < most {
        let Some(line) = lines.next(LONGEST_LINE)? else {
            break;
        };
        let number = line_numbers::prefix(first + shown);
        // One more for its newline.
        let length = number.chars().count() + line.chars().count() + 1;
        if length > room {
            lines.put_back(line);
            break;
        }
        room -= length;
        text.push_str(&number);
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    text.pop();
    let (left, all) = lines.count(COUNTED)?;
    let next = first + shown;
    if left > 0 {
        let end = if text.is_empty() { "" } else { "\n" };
        let more = if all { "" } else { "at least " };
        let _ = write!(text, "{end}... ({more}{left} more lines)");
        if most > shown {
            let _ = write!(
                text,
                "\n[the file has {size} bytes; read on with offset {next}]"
            );
        }
    }
    Ok(text)
}

/// The lines of a file, without ever holding a long one in memory.
struct Lines<R> {
    reader: R,
    /// A line that was put back.
    back: Option<String>,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader, back: None }
    }

    fn at_end(&mut self) -> std::io::Result<bool> {
        Ok(self.back.is_none() && self.reader.fill_buf()?.is_empty())
    }

    fn put_back(&mut self, line: String) {
        self.back = Some(line);
    }

    /// The next line without its newline, cut to `most` characters.
    fn next(&mut self, most: usize) -> std::io::Result<Option<String>> {
        if let Some(line) = self.back.take() {
            return Ok(Some(line));
        }
        // Enough bytes for that many characters of any size.
        let enough = most * 4;
        let mut kept = Vec::new();
        let mut length: u64 = 0;
        let ended = self.each_part(|part| {
            let room = enough.saturating_sub(kept.len()).min(part.len());
            kept.extend_from_slice(part.get(..room).unwrap_or_default());
            length += part.len() as u64;
        })?;
        if !ended && length == 0 {
            return Ok(None);
        }
        if kept.len() as u64 == length && kept.last() == Some(&b'\r') {
            kept.pop();
        }
        let line = String::from_utf8_lossy(&kept);
        let short = first_chars(&line, most);
        if short.len() == line.len() && kept.len() as u64 + 1 >= length {
            return Ok(Some(line.into_owned()));
        }
        Ok(Some(format!(
            "{short}... [line cut, it has {length} bytes]"
        )))
    }

    /// Skips lines. Returns the number of skipped lines.
    fn skip(&mut self, count: u64) -> std::io::Result<u64> {
        let mut skipped = 0;
        while skipped < count {
            let mut length = 0;
            let ended = self.each_part(|part| length += part.len())?;
            if !ended && length == 0 {
                break;
            }
            skipped += 1;
        }
        Ok(skipped)
    }

    /// Counts the remaining lines. Returns also whether the count is complete.
    fn count(&mut self, most: u64) -> std::io::Result<(u64, bool)> {
        let mut count = u64::from(self.back.is_some());
        let mut bytes = 0;
        let mut open = false;
        while bytes < most {
            let part = self.reader.fill_buf()?;
            let Some(last) = part.last() else {
                return Ok((count + u64::from(open), true));
            };
            open = *last != b'\n';
            let length = part.len();
            count += part.iter().filter(|byte| **byte == b'\n').count() as u64;
            bytes += length as u64;
            self.reader.consume(length);
        }
        Ok((count + u64::from(open), self.at_end()?))
    }

    /// Calls `part` with the parts of the next line. Returns whether it ended in a newline.
    fn each_part(&mut self, mut part: impl FnMut(&[u8])) -> std::io::Result<bool> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(buffer.len());
            part(buffer.get(..length).unwrap_or_default());
            self.reader.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// Describes a file that is not text.
fn describe(path: &str, size: u64, sample: &[u8]) -> String {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7fELF", "an ELF program or library"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive or a document in one"),
        (b"\x1f\x8b", "gzip data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    let kind = KINDS.iter().find(|(start, _)| sample.starts_with(start));
    let kind = kind.map_or("of unknown kind", |(_, kind)| kind);
    let start: Vec<String> = sample.iter().take(16).map(|b| format!("{b:02x}")).collect();
    let start = start.join(" ");
    format!(
        "Binary file {path}: {size} bytes, {kind}; it starts with {start}. Use bash to inspect it."
    )
}
