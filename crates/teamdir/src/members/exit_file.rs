//! The exit status of a member's last process.

use crate::error::PathError;
use crate::files::{atomic, read_whole};
use crate::team_dir::{Durability, TeamDir};
use protocol::{ExitRecord, Recipient};

impl TeamDir {
    /// Records how an incarnation ended. Not synced: in a power cut every process ends with the
    /// machine.
    pub fn write_exit(&self, owner: &Recipient, record: &ExitRecord) -> Result<(), PathError> {
        let mut bytes = serde_json::to_vec(record).expect("numbers and text keys encode");
        bytes.push(b'\n');
        let path = self.layout.exit_record(owner);
        atomic::replace(&path, &bytes, Durability::ProcessDeath)
    }

    /// How the last incarnation ended, if it was recorded. A file that cannot be read says nothing.
    pub fn exit_record(&self, owner: &Recipient) -> Option<ExitRecord> {
        let bytes = read_whole(&self.layout.exit_record(owner)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}
