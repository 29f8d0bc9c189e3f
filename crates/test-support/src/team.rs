//! Teams that are deleted when the test ends.

use protocol::{AgentName, JournalLine, JournalRecord, Member, Recipient};
use std::path::{Path, PathBuf};
use teamdir::{Options, RosterError, TeamDir};
use tempfile::TempDir;

/// A team in a folder of its own.
#[derive(Debug)]
pub struct TempTeam {
    workspace: PathBuf,
    team: TeamDir,
    _dir: Option<TempDir>,
}

impl TempTeam {
    /// A team with the given members in a temporary folder, deleted on drop.
    ///
    /// # Panics
    ///
    /// If the folder cannot be created or a name is not one.
    pub fn new(members: &[&str], options: Options) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder can be created");
        let mut team = Self::at(dir.path(), members, options);
        team._dir = Some(dir);
        team
    }

    /// A team with the given members in a folder that outlives it; joins a team that is there.
    ///
    /// # Panics
    ///
    /// If the folder cannot be used or a name is not one.
    pub fn at(workspace: &Path, members: &[&str], options: Options) -> Self {
        let team = TeamDir::create(workspace, "default", options).expect("a team can be created");
        let added = team.update_roster(|roster| {
            for name in members {
                let name = AgentName::new(name).expect("a member's name");
                if roster.member(&name).is_none() {
                    roster.members.push(Member::new(name, "tester"));
                }
            }
            Ok::<_, RosterError>(())
        });
        added.expect("members can be added");
        Self {
            workspace: workspace.to_path_buf(),
            team,
            _dir: None,
        }
    }

    /// The folder that holds the team's.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The team itself.
    pub const fn team(&self) -> &TeamDir {
        &self.team
    }

    /// How many lines of an inbox are unread.
    ///
    /// # Panics
    ///
    /// If the inbox cannot be read.
    pub fn unread(&self, owner: &Recipient) -> usize {
        let count = self.team.unread_mail(owner, |_, _| {});
        count.expect("an inbox can be read")
    }

    /// The identifiers of all mail in a journal, in order.
    ///
    /// # Panics
    ///
    /// If the journal cannot be read, or one of its lines is no record.
    pub fn recorded(&self, owner: &Recipient) -> Vec<String> {
        let mut ids = Vec::new();
        let read = self.team.read_history(owner, |bytes, line| match line {
            JournalLine::Known(JournalRecord::Mail(mail)) => {
                ids.extend(mail.mail.iter().map(|entry| entry.id.to_string()));
            }
            JournalLine::Known(_) | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => {
                panic!("{reason}: {}", String::from_utf8_lossy(bytes))
            }
        });
        read.expect("a journal can be read");
        ids
    }
}
