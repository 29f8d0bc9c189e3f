//! The lines that were typed before, in a file of the user.

use rustyline::Config;
use rustyline::history::{FileHistory, History};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// How many lines are kept.
const MOST: usize = 1000;

/// The lines typed before. Without a file the lead works all the same.
pub(crate) struct LineHistory {
    lines: FileHistory,
    path: Option<PathBuf>,
}

impl LineHistory {
    pub(crate) fn open(path: Option<PathBuf>) -> Self {
        let config = Config::builder().max_history_size(MOST);
        let config = config.map(|builder| builder.build()).unwrap_or_default();
        let mut lines = FileHistory::with_config(&config);
        if let Some(path) = &path {
            prepare(path);
            let _ = lines.load(path);
        }
        Self { lines, path }
    }

    /// All lines, oldest first.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// Keeps a line for the next time.
    pub(crate) fn remember(&mut self, line: &str) {
        let is_new = self.lines.add(line).unwrap_or(false);
        if let (Some(path), true) = (&self.path, is_new) {
            let _ = self.lines.append(path);
        }
    }
}

fn prepare(path: &Path) {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        let _ = builder.recursive(true).mode(0o700).create(folder);
    }
}
