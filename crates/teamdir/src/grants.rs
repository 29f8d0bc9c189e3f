//! The rules that people have granted: one file, replaced under a lock.

use crate::files::version::FileVersion;
use crate::locks::FileLock;
use crate::team_dir::TeamDir;
use crate::team_files::{TeamFileError, put, read};
use protocol::Grants;

/// The granted rules as one reader sees them. They are read again only when the file has changed.
#[derive(Debug)]
pub struct GrantsReader {
    team: TeamDir,
    /// The file that was read, if later changes must show in it.
    read: Option<Option<FileVersion>>,
    grants: Grants,
}

impl TeamDir {
    /// The granted rules as they are now. Takes no lock. Without a file nothing is granted.
    pub fn grants(&self) -> Result<Grants, TeamFileError> {
        Ok(read(&self.layout.permissions())?.unwrap_or_default())
    }

    /// Changes the granted rules under their lock. Nothing is written if nothing is different.
    pub fn update_grants<T>(
        &self,
        change: impl FnOnce(&mut Grants) -> T,
    ) -> Result<T, TeamFileError> {
        let path = self.layout.permissions();
        let _lock = FileLock::acquire(&self.layout.permissions_lock(), self.options.lock_wait)?;
        let before = self.grants()?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        if after != before {
            put(&path, &after, self.options.durability)?;
            crate::files::atomic::sync_parent(&path, self.options.durability)?;
        }
        Ok(outcome)
    }
}

impl GrantsReader {
    pub fn new(team: &TeamDir) -> Self {
        Self {
            team: team.clone(),
            read: None,
            grants: Grants::default(),
        }
    }

    /// The granted rules as they are now, and whether they may differ from those of the last call.
    pub fn current(&mut self) -> Result<(&Grants, bool), TeamFileError> {
        let found = std::fs::symlink_metadata(self.team.layout.permissions());
        let version = found.ok().map(|found| FileVersion::of(&found));
        if self.read == Some(version) {
            return Ok((&self.grants, false));
        }
        self.read = None;
        self.grants = self.team.grants()?;
        let is_settled = version.is_none_or(FileVersion::is_settled);
        self.read = is_settled.then_some(version);
        Ok((&self.grants, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use protocol::{Extra, Grant, Party, RequestId, Timestamp};

    fn grant(id: &str) -> Grant {
        Grant {
            id: RequestId::new(id).unwrap(),
            rule: "Bash(make)".to_owned(),
            member: None,
            by: Party::User,
            by_name: None,
            at: Timestamp::from_secs(1),
            revoked_at: None,
            extra: Extra::new(),
        }
    }

    #[test]
    fn what_is_granted_or_revoked_is_seen_by_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let team = TeamDir::create(folder.path(), "default", Options::default()).unwrap();
        let mut reader = GrantsReader::new(&team);
        assert_eq!(reader.current().unwrap().0.rules.len(), 0);
        team.update_grants(|grants| grants.add(grant("1"))).unwrap();
        assert_eq!(reader.current().unwrap().0.of(&Party::Lead).count(), 1);
        let id = RequestId::new("1").unwrap();
        let revoked = team.update_grants(|grants| grants.revoke(&id, Timestamp::from_secs(2)));
        assert!(revoked.unwrap());
        let (grants, has_changed) = reader.current().unwrap();
        assert_eq!(grants.of(&Party::Lead).count(), 0);
        assert!(has_changed);
    }

    #[test]
    fn a_broken_file_grants_nothing_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let team = TeamDir::create(folder.path(), "default", Options::default()).unwrap();
        std::fs::write(team.layout().permissions(), "{\"rules\": [").unwrap();
        let error = GrantsReader::new(&team).current().unwrap_err();
        assert!(error.to_string().contains("permissions.json"), "{error}");
    }
}
