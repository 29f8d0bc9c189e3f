//! What hosts tell each other about bundles of commits.
//!
//! A note is a frame that is to be sent once: its sender renames it before it reads it, so that one that takes its
//! place meanwhile is not lost.

use super::BridgeGuard;
use super::bundles::{entries, remove};
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::submissions::IntegrationGuard;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{HaveCommits, HostId, TreeFrame};
use std::path::Path;

const NOTE: &str = "note-";
/// A note that is being sent.
const CLAIMED: &str = "sending-";

/// Notes that were taken.
#[derive(Debug, Default)]
pub struct Notes {
    pub notes: Vec<TreeFrame>,
    paths: Vec<std::path::PathBuf>,
}

impl TeamDir {
    /// Leaves a note for a host, which its bridge sends, in place of another one about the same.
    pub fn put_tree_note(
        &self,
        host: &HostId,
        about: &str,
        note: &TreeFrame,
    ) -> Result<(), PathError> {
        self.prepare_outgoing(host)?;
        let path = self.layout.bundles_out(host).join(format!("{NOTE}{about}"));
        atomic::replace(&path, &team_files::encode(note), self.options.durability)
    }

    /// The notes for a host. They are to be given back to [`Self::notes_are_sent`].
    pub fn take_tree_notes(&self, _: &BridgeGuard, host: &HostId) -> Result<Notes, PathError> {
        self.take_notes(&self.layout.bundles_out(host))
    }

    /// Keeps what another host has said for whoever integrates.
    pub fn put_heard_note(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        about: &str,
        note: &TreeFrame,
    ) -> Result<(), PathError> {
        create_dir(&self.layout.bridge_peer_dir(host))?;
        let folder = self.layout.bundles_in(host);
        create_dir(&folder)?;
        let path = folder.join(format!("{NOTE}{about}"));
        atomic::replace(&path, &team_files::encode(note), self.options.durability)
    }

    /// What another host has said. It is to be given back to [`Self::notes_are_sent`].
    pub fn take_heard_notes(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
    ) -> Result<Notes, PathError> {
        self.take_notes(&self.layout.bundles_in(host))
    }

    fn take_notes(&self, folder: &Path) -> Result<Notes, PathError> {
        for name in entries(folder)? {
            if let Some(about) = name.strip_prefix(NOTE) {
                let claimed = folder.join(format!("{CLAIMED}{about}"));
                let from = folder.join(&name);
                files::rename(&from, &claimed).context("rename", &from)?;
            }
        }
        let mut found = Notes::default();
        for name in entries(folder)? {
            if !name.starts_with(CLAIMED) {
                continue;
            }
            let path = folder.join(&name);
            // One that nobody can read is as good as none.
            found
                .notes
                .extend(team_files::read::<TreeFrame>(&path).ok().flatten());
            found.paths.push(path);
        }
        Ok(found)
    }

    /// The notes have done their work.
    pub fn notes_are_sent(&self, notes: &Notes) -> Result<(), PathError> {
        notes.paths.iter().try_for_each(|path| remove(path))
    }

    /// Whether a host has said something that nobody who integrates has heard.
    pub fn has_heard_notes(&self, host: &HostId) -> bool {
        let names = entries(&self.layout.bundles_in(host)).unwrap_or_default();
        let is_note = |name: &String| name.starts_with(NOTE) || name.starts_with(CLAIMED);
        names.iter().any(is_note)
    }

    /// The commits that a host has said it has, or that it was told.
    pub fn told_commits(&self, host: &HostId) -> Option<HaveCommits> {
        team_files::read(&self.layout.told_commits(host)).ok()?
    }

    pub fn put_told_commits(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        told: &HaveCommits,
    ) -> Result<(), TeamFileError> {
        team_files::put(
            &self.layout.told_commits(host),
            told,
            self.options.durability,
        )
    }

    /// The home of the queue is told again which commits are here.
    pub fn forget_told_commits(&self, _: &BridgeGuard, host: &HostId) -> Result<(), PathError> {
        remove(&self.layout.told_commits(host))
    }

    /// Why `team/main` does not follow that of its home, `host`, for people.
    pub fn main_problem(&self, host: &HostId) -> Option<String> {
        team_files::read(&self.layout.main_problem(host)).ok()?
    }

    pub fn put_main_problem(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        problem: Option<&str>,
    ) -> Result<(), TeamFileError> {
        let path = self.layout.main_problem(host);
        match problem {
            Some(problem) => team_files::put(&path, &problem, Durability::ProcessDeath),
            None => Ok(remove(&path)?),
        }
    }
}
