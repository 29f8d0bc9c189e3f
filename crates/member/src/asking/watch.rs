//! Watches the files that may answer what a member asks.

use crate::runtime::MemberRuntime;
use std::path::PathBuf;
use teamdir::Changes;

/// Watches for answers until it is dropped.
pub(crate) struct AnswerWatch {
    changes: Changes,
    runtime: MemberRuntime,
    /// The folders that nobody watched before.
    added: Vec<PathBuf>,
}

impl AnswerWatch {
    /// Returns when something has changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changes.changed().await;
    }
}

impl Drop for AnswerWatch {
    fn drop(&mut self) {
        let mut inner = self.runtime.lock();
        for folder in &self.added {
            inner.session.unwatch_folder(folder);
        }
    }
}

impl MemberRuntime {
    /// Watches everything that may answer what this member asks: the requests, and the granted rules. Returns
    /// a signal of its own, so that whoever else waits for changes misses none.
    pub(crate) fn watch_answers(&self) -> AnswerWatch {
        let layout = self.team().layout();
        let folders = [layout.requests_dir(), layout.root().to_path_buf()];
        let mut inner = self.lock();
        let mut added = Vec::new();
        for folder in folders {
            if !inner.session.is_watched(&folder) {
                inner.session.watch_folder(&folder);
                added.push(folder);
            }
        }
        AnswerWatch {
            changes: self.changes.fork(),
            runtime: self.clone(),
            added,
        }
    }
}
