//! The tools that search the workspace: `grep`, `glob` and `list_dir`.
//!
//! They are built on the crates of ripgrep, so they are fast, and files that git ignores are left
//! out. They change nothing, so a member may use them before its plan is approved.
//!
//! The walk of `ignore` goes by path names, and a hostile process could replace a folder by a link
//! meanwhile. Therefore a name found by the walk is opened again from the workspace's handle, without
//! following any link, before its content or its name is shown.

pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod list;

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::tool::ToolError;
use crate::workspace::Workspace;

/// The folder of a repository's own files.
const GIT: &str = ".git";

/// The files below a folder of the workspace, or one file.
pub(crate) struct Tree {
    workspace: Workspace,
    start: PathBuf,
    pattern: Option<GlobMatcher>,
    /// Folders that are searched only if the path of the call leads into them.
    skipped: Vec<PathBuf>,
    cancel: CancellationToken,
}

impl Tree {
    /// The files at and below `path` whose path matches `pattern`.
    pub(crate) fn new(
        workspace: &Workspace,
        path: &str,
        pattern: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Self, ToolError> {
        let start = workspace.locate(path);
        let root = workspace.root();
        Ok(Self {
            skipped: workspace.protected().map(|path| root.join(path)).collect(),
            workspace: workspace.clone(),
            start: start.map_err(|error| ToolError::new(error.to_string()))?,
            pattern: pattern.map(matcher).transpose()?,
            cancel: cancel.clone(),
        })
    }

    /// Calls a visitor for each regular file, on several threads. `visitors` makes one for each
    /// thread. A visitor that returns false ends the walk.
    pub(crate) fn visit<V: FnMut(&Path, &DirEntry) -> bool + Send>(
        &self,
        visitors: impl Fn() -> V,
    ) -> Result<(), ToolError> {
        let mut builder = WalkBuilder::new(self.workspace.root().join(&self.start));
        // Hidden files such as .github are part of a project.
        builder.hidden(false).require_git(false);
        let skipped = self.skipped.clone();
        let workspace = self.workspace.clone();
        builder.filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_skipped = entry.file_name() == GIT || skipped.iter().any(|p| p == entry.path());
            let relative = entry.path().strip_prefix(workspace.root());
            let is_hidden = relative.is_ok_and(|path| workspace.is_hidden(path));
            entry.depth() == 0 || !(is_hidden || is_folder && is_skipped)
        });
        builder.build_parallel().run(|| {
            let mut visitor = visitors();
            Box::new(move |entry| {
                if self.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                // Names that vanish or cannot be read are passed over, as by grep -s.
                let Ok(entry) = entry else {
                    return WalkState::Continue;
                };
                match self.wanted(&entry).map(|path| visitor(path, &entry)) {
                    Some(false) => WalkState::Quit,
                    Some(true) | None => WalkState::Continue,
                }
            })
        });
        if self.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        Ok(())
    }

    /// The path of a file relative to the workspace, if it is to be searched.
    fn wanted<'a>(&self, entry: &'a DirEntry) -> Option<&'a Path> {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let path = entry.path().strip_prefix(self.workspace.root()).ok()?;
        let matches = || {
            let from_start = path.strip_prefix(&self.start).ok();
            let candidates = [Some(path), from_start];
            let pattern = self.pattern.as_ref();
            pattern.is_none_or(|p| candidates.iter().flatten().any(|path| p.is_match(path)))
        };
        (is_file && matches()).then_some(path)
    }
}

/// A pattern without a slash matches names in every folder, as in a `.gitignore`.
fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
    let anywhere = format!("**/{pattern}");
    let pattern = if pattern.contains('/') {
        pattern
    } else {
        &anywhere
    };
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    let built = built.map_err(|error| ToolError::new(format!("wrong pattern: {error}")))?;
    Ok(built.compile_matcher())
}
