//! Which work tree of a repository has the team that may use the team's branches.
//!
//! The work trees of a repository share its branches, so two teams in two work trees would both move the
//! branch `team/main`. Therefore a file in the repository names the one work tree whose team may use these
//! branches. The claim ends with that team's folder, or when the work tree no longer belongs to this
//! repository.

use crate::error::GitError;
use crate::repository::Repository;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file with the claim, in the folder that all work trees share.
const FILE: &str = "team-lead.owner";

impl Repository {
    /// Claims the team's branches for the team of this work tree, whose folder has the name `team`. It is an
    /// error while the team of another work tree has them.
    pub fn claim(&self, team: &str) -> Result<(), GitError> {
        let path = self.common().join(FILE);
        let failed = |error| GitError::file("claim the team's branches with", &path, error);
        if self.claimed_by().map_err(failed)?.as_deref() == Some(self.top()) {
            return Ok(());
        }
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        // Until the file is closed nobody else reads or writes the claim.
        file.lock().map_err(failed)?;
        if let Some(by) = read(&mut file).map_err(failed)?
            && by != self.top()
            && self.has_team(&by, team)
        {
            return Err(GitError::Claimed {
                team: by.join(team),
                by,
            });
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(self.top().as_os_str().as_bytes())?;
            file.sync_all()
        };
        write(&mut file).map_err(failed)
    }

    fn claimed_by(&self) -> io::Result<Option<PathBuf>> {
        match File::open(self.common().join(FILE)) {
            Ok(mut file) => read(&mut file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a folder is a work tree of this repository, with a team in it.
    fn has_team(&self, folder: &Path, team: &str) -> bool {
        let git = folder.join(".git");
        let is_linked = || {
            let text = fs::read_to_string(&git).unwrap_or_default();
            let target = text.strip_prefix("gitdir:").map(str::trim);
            let target = target.and_then(|path| fs::canonicalize(folder.join(path)).ok());
            target.is_some_and(|target| target.starts_with(self.common()))
        };
        let is_main = || fs::canonicalize(&git).is_ok_and(|git| git == self.common());
        folder.join(team).is_dir() && (is_main() || is_linked())
    }
}

/// The claim. A process that was killed while it wrote leaves an empty file, or the beginning of a path that
/// has no team.
fn read(file: &mut File) -> io::Result<Option<PathBuf>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(match bytes.is_empty() {
        true => None,
        false => Some(PathBuf::from(OsStr::from_bytes(&bytes))),
    })
}
