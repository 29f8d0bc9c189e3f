//! What a member keeps of its engine, the agent of another program.

use crate::error::PathError;
use crate::files::{atomic, create_dir, read_whole};
use crate::team_dir::TeamDir;
use protocol::Recipient;

impl TeamDir {
    /// Replaces what is kept of a member's engine. Only the process of the member does so. It is synced: with an
    /// older one, which a power cut could bring back, costs would be booked a second time.
    pub fn write_engine_file(&self, owner: &Recipient, bytes: &[u8]) -> Result<(), PathError> {
        create_dir(&self.layout.member_outputs(owner))?;
        let path = self.layout.engine_file(owner);
        atomic::replace(&path, bytes, self.options.durability)
    }

    /// What is kept of a member's engine. A file that cannot be read says nothing.
    pub fn engine_file(&self, owner: &Recipient) -> Option<Vec<u8>> {
        read_whole(&self.layout.engine_file(owner)).ok()
    }
}
