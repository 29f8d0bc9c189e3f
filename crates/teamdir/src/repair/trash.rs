//! The trash: keeps what a repair removes, so that it never destroys anything. Only people read it.

use crate::Durability;
use crate::clock::now;
use crate::error::{Context, PathError};
use crate::files::atomic;
use crate::files::{self, create_dir, rename_new};
use crate::team_dir::TeamDir;
use protocol::Timestamp;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

impl TeamDir {
    /// Moves a file or folder of the team into the trash. Returns where it is now; `None` if it was
    /// gone already. Whoever may write to it must be kept out by the caller.
    pub(crate) fn to_trash(&self, path: &Path) -> Result<Option<PathBuf>, PathError> {
        let place = self.trash_place(path)?;
        for number in 1_u32.. {
            let target = numbered(&place, number);
            match rename_new(path, &target) {
                Ok(()) => {
                    atomic::sync_parent(&target, self.options.durability)?;
                    atomic::sync_parent(path, self.options.durability)?;
                    return Ok(Some(target));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(PathError::new("set aside", path, error)),
            }
        }
        Ok(None)
    }

    /// Keeps a copy of a file of the team in the trash. Returns where it is; `None` if there is no
    /// such file.
    pub fn keep_copy(&self, path: &Path) -> Result<Option<PathBuf>, PathError> {
        match files::open_to_read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let mut original = opened.context("open", path)?.file;
                let kept = self.keep(path, |copy| io::copy(&mut original, copy).map(|_| ()));
                kept.map(Some)
            }
        }
    }

    /// Keeps what `write` writes in the trash, as something that stood in the file at `path`.
    pub(crate) fn keep(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, PathError> {
        let place = self.trash_place(path)?;
        let mut number = 1;
        let (target, mut copy) = loop {
            let target = numbered(&place, number);
            match files::create_new(&target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                opened => {
                    let copy = opened.context("create", &target)?.file;
                    break (target, copy);
                }
            }
        };
        write(&mut copy).context("keep a copy of", path)?;
        if self.options.durability == Durability::PowerCut {
            copy.sync_all().context("sync", &target)?;
        }
        atomic::sync_parent(&target, self.options.durability)?;
        Ok(target)
    }

    /// Where something goes that is set aside now: under the name it had, in a folder that bears the
    /// time.
    fn trash_place(&self, path: &Path) -> Result<PathBuf, PathError> {
        let root = self.layout.root();
        let inside = path.strip_prefix(root).unwrap_or(Path::new("file"));
        let mut folder = self.layout.trash();
        create_dir(&folder)?;
        folder.push(time_name(now()));
        create_dir(&folder)?;
        for part in inside.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            create_dir(&folder)?;
        }
        let name = inside.file_name().unwrap_or(root.as_os_str());
        Ok(folder.join(name))
    }
}

/// Several things of one name may be set aside in one second.
fn numbered(place: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return place.to_path_buf();
    }
    let mut name = OsString::from(place);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// A time as the name of a folder, such as `20261116T193005Z`.
pub(super) fn time_name(time: Timestamp) -> String {
    let seconds = time.as_micros().div_euclid(1_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March make the leap day the last one: 400 of them are 146,097 days.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = 400 * era + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn times_are_named_as_people_write_them() {
        for (seconds, name) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_798_761_599, "20261231T235959Z"),
        ] {
            assert_eq!(time_name(Timestamp::from_secs(seconds)), name);
        }
    }

    #[test]
    fn nothing_in_the_trash_is_ever_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        let path = team.layout().tasks_dir().join("task_1.json");
        let mut kept = Vec::new();
        for text in ["one", "two", "three"] {
            std::fs::write(&path, text).unwrap();
            kept.push((team.keep_copy(&path).unwrap().unwrap(), text));
            kept.push((team.to_trash(&path).unwrap().unwrap(), text));
            assert!(!path.exists());
        }
        for (path, text) in kept {
            assert!(path.starts_with(team.layout().trash()), "{path:?}");
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        }
        assert_eq!(team.to_trash(&path).unwrap(), None);
        assert_eq!(team.keep_copy(&path).unwrap(), None);
    }
}
