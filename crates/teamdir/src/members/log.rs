//! A member's log, and the archives of its conversations.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::{self, create_dir, sync_dir};
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{JsonLine, Recipient};
use safe_open::Opened;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

impl TeamDir {
    /// The log of a member, opened so that several processes can append lines to it.
    pub fn open_log(&self, owner: &Recipient) -> Result<File, PathError> {
        create_dir(&self.layout.member_dir(owner))?;
        let path = self.layout.member_log(owner);
        // A program that is started writes to it too.
        let opened = files::open_or_create_to_append(&path).and_then(Opened::for_child);
        opened.context("open the log", &path)
    }

    /// Keeps a whole conversation in a file of its own, and returns where.
    pub fn archive(&self, guard: &MemberGuard, turns: &[JsonLine]) -> Result<PathBuf, PathError> {
        let folder = self.layout.member_archives(guard.owner());
        create_dir(&folder)?;
        let incarnation = guard.incarnation();
        let mut number = 1_u64;
        loop {
            let path = folder.join(format!("{incarnation}-{number}.jsonl"));
            let mut file = match files::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    number += 1;
                    continue;
                }
                opened => opened.context("create", &path)?.file,
            };
            let bytes: Vec<u8> = turns.iter().flat_map(|turn| turn.iter().copied()).collect();
            let kept = file.write_all(&bytes).context("write", &path);
            if let Err(error) = kept {
                // Half a conversation would pass for a whole one.
                let _ = files::remove_file(&path);
                return Err(error);
            }
            if self.options.durability == Durability::PowerCut {
                file.sync_all().context("sync", &path)?;
                sync_dir(&folder)?;
            }
            return Ok(path);
        }
    }
}
