//! The paths of members that one host asks another one to start.

use super::Layout;
use protocol::RequestId;
use std::path::PathBuf;

impl Layout {
    pub(crate) fn spawns_dir(&self) -> PathBuf {
        self.root.join("spawns")
    }

    /// Held while another host is asked.
    pub(crate) fn spawns_lock(&self) -> PathBuf {
        self.spawns_dir().join(".lock")
    }

    /// What this host asks others.
    pub fn sent_spawns_dir(&self) -> PathBuf {
        self.spawns_dir().join("out")
    }

    /// What others ask this host.
    pub fn taken_spawns_dir(&self) -> PathBuf {
        self.spawns_dir().join("in")
    }

    pub(crate) fn sent_spawn(&self, id: &RequestId) -> PathBuf {
        self.sent_spawns_dir().join(format!("{id}.json"))
    }

    pub(crate) fn taken_spawn(&self, id: &RequestId) -> PathBuf {
        self.taken_spawns_dir().join(format!("{id}.json"))
    }

    /// Held by the process that starts the member of an ask.
    pub(crate) fn taken_spawn_lock(&self, id: &RequestId) -> PathBuf {
        self.taken_spawns_dir().join(format!("{id}.lock"))
    }
}
