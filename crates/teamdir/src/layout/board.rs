//! The paths of what is kept of a board that is at home on another host.

use super::Layout;
use protocol::{RequestId, TaskId};
use std::path::PathBuf;

impl Layout {
    /// What this host keeps of a board that is at home on another one.
    pub fn board_dir(&self) -> PathBuf {
        self.root.join("board")
    }

    /// Of whose board there is a copy.
    pub fn board_copy(&self) -> PathBuf {
        self.board_dir().join("copy.json")
    }

    /// The copies of the tasks.
    pub fn board_copy_tasks(&self) -> PathBuf {
        self.board_dir().join("tasks")
    }

    /// What is asked of the home of the board.
    pub fn asks_dir(&self) -> PathBuf {
        self.board_dir().join("asks")
    }

    pub(crate) fn ask(&self, id: &RequestId) -> PathBuf {
        self.asks_dir().join(format!("{id}.json"))
    }

    /// An ask that is in the outbox.
    pub(crate) fn sent_ask(&self, id: &RequestId) -> PathBuf {
        self.asks_dir().join(format!("{id}.sent"))
    }

    pub(crate) fn ask_end(&self, id: &RequestId) -> PathBuf {
        self.asks_dir().join(format!("{id}.end"))
    }

    pub(crate) fn claims_dir(&self) -> PathBuf {
        self.board_dir().join("claims")
    }

    /// A claim of somebody on this host.
    pub(crate) fn claim(&self, id: TaskId) -> PathBuf {
        Self::task_in(&self.claims_dir(), id)
    }
}
