//! A member's log.

use crate::error::{Context, PathError};
use crate::files::{self, create_dir};
use crate::team_dir::TeamDir;
use protocol::Recipient;
use safe_open::Opened;
use std::fs::File;

impl TeamDir {
    /// The log of a member, opened so that several processes can append lines to it.
    pub fn open_log(&self, owner: &Recipient) -> Result<File, PathError> {
        create_dir(&self.layout.member_dir(owner))?;
        let path = self.layout.member_log(owner);
        // A program that is started writes to it too.
        let opened = files::open_or_create_to_append(&path).and_then(Opened::for_child);
        opened.context("open the log", &path)
    }
}
