//! The tool that searches the contents of files.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Tree;
use crate::context::ToolContext;
use crate::registry::blocking;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::first_chars;
use crate::workspace::Workspace;

/// The number of matches that are shown by default.
const DEFAULT_SHOWN_MATCHES: usize = 200;
/// The search ends when it has found so many.
const MAX_MATCHES: usize = 5_000;
/// The most lines around a match.
const MOST_CONTEXT: usize = 20;
/// The maximum number of characters of a line.
const LONGEST_LINE: usize = 400;

/// The most bytes that the search of one file may take, which bounds the length of a line.
const HEAP: usize = 64 * 1024 * 1024;

/// Searches the files of the workspace for a regular expression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

/// The arguments of [`Grep`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArgs {
    /// A regular expression, as ripgrep takes it.
    pattern: String,
    /// The file or folder to search; the workspace if absent.
    path: Option<String>,
    /// Only files whose path matches, such as `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// What to show: the matching lines, only the files, or the number of matches for each file.
    show: Option<Show>,
    /// Lines to show before and after each match.
    context: Option<usize>,
    /// Whether upper and lower case are the same.
    ignore_case: Option<bool>,
    /// Whether a match may span lines.
    multiline: Option<bool>,
    /// How many matches or files to show, 200 if absent.
    limit: Option<usize>,
}

/// What a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Search the contents of files for a regular expression. Shows \
         matching lines with their numbers, by file. Binary files and files that git ignores are \
         left out.";
    const EFFECT: Effect = Effect::Read;
    type Args = GrepArgs;

    async fn call(&self, args: GrepArgs, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (workspace, path) = context.files(args.path.as_deref().unwrap_or("."))?;
        let tree = Tree::new(&workspace, &path, args.glob.as_deref(), &context.cancel)?;
        let matcher = matcher(&args)?;
        blocking(move || search(&workspace, &tree, &matcher, &args)).await
    }
}

fn matcher(args: &GrepArgs) -> Result<RegexMatcher, ToolError> {
    let multiline = args.multiline.unwrap_or(false);
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .dot_matches_new_line(multiline)
        .case_insensitive(args.ignore_case.unwrap_or(false));
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    let built = builder.build(&args.pattern);
    built.map_err(|error| ToolError::new(format!("wrong pattern: {error}")))
}

fn searcher(args: &GrepArgs) -> Searcher {
    let context = match args.show.unwrap_or_default() {
        Show::Lines => args.context.unwrap_or(0).min(MOST_CONTEXT),
        Show::Files | Show::Counts => 0,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .multi_line(args.multiline.unwrap_or(false))
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(HEAP))
        .build()
}

/// What was found in one file.
struct Found {
    path: PathBuf,
    matches: Vec<String>,
    count: usize,
}

fn search(
    workspace: &Workspace,
    tree: &Tree,
    matcher: &RegexMatcher,
    args: &GrepArgs,
) -> Result<ToolOutput, ToolError> {
    let show = args.show.unwrap_or_default();
    let total = AtomicUsize::new(0);
    let skipped = AtomicUsize::new(0);
    let all: Mutex<Vec<Found>> = Mutex::new(Vec::new());
    tree.visit(|| {
        let mut searcher = searcher(args);
        let (all, total, skipped) = (&all, &total, &skipped);
        move |path: &Path, _: &ignore::DirEntry| {
            let mut sink = Collect::new(show);
            // What cannot be opened is not to be searched, or is gone.
            let Ok(file) = workspace.open_beneath(path) else {
                return true;
            };
            let failed = searcher.search_file(matcher, &file, &mut sink).is_err();
            if failed {
                skipped.fetch_add(1, Ordering::Relaxed);
            }
            if failed || sink.count == 0 {
                return true;
            }
            let added = match show {
                Show::Lines => sink.count,
                Show::Files | Show::Counts => 1,
            };
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Found {
                path: workspace.name(path),
                count: sink.count,
                matches: sink.matches,
            });
            total.fetch_add(added, Ordering::Relaxed) + added < MAX_MATCHES
        }
    })?;
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by(|one, other| one.path.cmp(&other.path));
    let limit = args
        .limit
        .unwrap_or(DEFAULT_SHOWN_MATCHES)
        .clamp(1, MAX_MATCHES);
    let mut text = render(&all, show, limit);
    let count = skipped.into_inner();
    if count > 0 {
        let files = if count == 1 { "file was" } else { "files were" };
        let _ = write!(text, "\n[{count} {files} not searched: a line is too long]");
    }
    Ok(ToolOutput::ok(text))
}

fn render(all: &[Found], show: Show, limit: usize) -> String {
    if all.is_empty() {
        return "No matches.".to_owned();
    }
    let mut text = String::new();
    let mut room = limit;
    for found in all {
        if room == 0 {
            break;
        }
        let path = found.path.display();
        match show {
            Show::Files => {
                let _ = writeln!(text, "{path}");
                room -= 1;
            }
            Show::Counts => {
                let _ = writeln!(text, "{path}: {}", found.count);
                room -= 1;
            }
            Show::Lines => {
                let _ = writeln!(text, "{path}");
                found
                    .matches
                    .iter()
                    .take(room)
                    .for_each(|lines| text.push_str(lines));
                room = room.saturating_sub(found.matches.len());
            }
        }
    }
    let (count, what) = match show {
        Show::Lines => (
            all.iter().map(|found| found.count).sum::<usize>(),
            "matches",
        ),
        Show::Files | Show::Counts => (all.len(), "files"),
    };
    if count > limit {
        let more = if count >= MAX_MATCHES {
            "at least "
        } else {
            ""
        };
        let _ = write!(
            text,
            "... {more}{} more {what}: narrow the search, or raise `limit`",
            count - limit
        );
    }
    text.truncate(text.trim_end().len());
    text
}

/// Collects the matches of one file, each with the lines around it.
struct Collect {
    show: Show,
    count: usize,
    matches: Vec<String>,
    /// Lines before the next match.
    before: String,
}

impl Collect {
    fn new(show: Show) -> Self {
        Self {
            show,
            count: 0,
            matches: Vec::new(),
            before: String::new(),
        }
    }
}

/// Appends lines with their numbers. A long line is cut.
fn push_lines(text: &mut String, bytes: &[u8], first: Option<u64>, mark: char) {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    for (at, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        let short = first_chars(line, LONGEST_LINE);
        let number = first.unwrap_or(0) + at as u64;
        let end = if short.len() < line.len() { "..." } else { "" };
        let _ = writeln!(text, "{number}{mark}{short}{end}");
    }
}

impl Sink for Collect {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        match self.show {
            Show::Files => return Ok(false),
            Show::Counts => return Ok(true),
            Show::Lines => {}
        }
        let mut text = std::mem::take(&mut self.before);
        push_lines(&mut text, found.bytes(), found.line_number(), ':');
        self.matches.push(text);
        Ok(self.count < MAX_MATCHES)
    }

    fn context(&mut self, _: &Searcher, lines: &SinkContext<'_>) -> Result<bool, io::Error> {
        let text = match lines.kind() {
            grep_searcher::SinkContextKind::Before => &mut self.before,
            grep_searcher::SinkContextKind::After | grep_searcher::SinkContextKind::Other => {
                self.matches.last_mut().unwrap_or(&mut self.before)
            }
        };
        push_lines(text, lines.bytes(), lines.line_number(), '-');
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.count > 0 {
            self.before.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        if end.binary_byte_offset().is_some() {
            self.count = 0;
        }
        Ok(())
    }
}
