//! The folder for long outputs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use safe_open::{Folder, Links, Options};

use crate::context::random_id;
use crate::tool::ToolError;

/// The most files that are kept.
const MOST_FILES: usize = 300;
/// The most bytes that they have together, but for the outputs that are being written.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// No command runs longer, so an output that is older has no writer.
const LONGEST_RUN: Duration = Duration::from_secs(25 * 60 * 60);
/// How the names of background commands' outputs begin.
pub(crate) const BACKGROUND: &str = "bg-";

/// The folder for long outputs and for those of background commands. It is created when it is first
/// needed. The oldest outputs are removed when there are too many or they take too much room.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    path: PathBuf,
}

/// An output that may be removed.
struct Old {
    name: OsString,
    bytes: u64,
    changed: SystemTime,
}

impl OutputFolder {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of a file for one output. The folder exists when this returns.
    pub fn file(&self, name: &str) -> Result<PathBuf, ToolError> {
        let mut builder = fs::DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&self.path);
        created.map_err(|error| {
            let path = self.path.display();
            ToolError::new(format!("cannot create the output folder {path}: {error}"))
        })?;
        // A folder that cannot be listed only grows.
        let _ = remove_oldest(&self.path, MOST_FILES, MOST_BYTES);
        Ok(self.path.join(name))
    }

    /// The path of a new file for one output, as in `mcp-1a2b3c4d.txt`.
    pub fn new_file(&self, label: &str) -> Result<PathBuf, ToolError> {
        self.file(&format!("{label}-{}.txt", random_id()))
    }

    pub(crate) fn save(&self, label: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.new_file(label).map_err(io::Error::other)?;
        let options = Options::write(Links::Refuse).create_new();
        io::Write::write_all(&mut options.open(&path)?.file, bytes)?;
        Ok(path)
    }
}

/// Removes the oldest outputs until there is room for one more.
fn remove_oldest(path: &Path, most_files: usize, most_bytes: u64) -> io::Result<()> {
    let folder = Folder::open(path, Links::Refuse)?;
    let mut outputs = Vec::new();
    for entry in folder.list()? {
        let entry = entry?;
        let name = entry.file_name();
        // A file that vanished meanwhile needs no room.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if metadata.is_file() && is_output(&name) && !may_be_written(&name, changed) {
            let bytes = metadata.len();
            outputs.push(Old {
                name,
                bytes,
                changed,
            });
        }
    }
    outputs.sort_by_key(|output| output.changed);
    let mut files = outputs.len();
    let mut bytes: u64 = outputs.iter().map(|output| output.bytes).sum();
    for output in outputs {
        if files < most_files && bytes < most_bytes {
            break;
        }
        folder.remove_file(&output.name)?;
        files -= 1;
        bytes -= output.bytes;
    }
    Ok(())
}

/// Whether a name is that of an output, such as `bash-1a2b3c4d.txt`.
fn is_output(name: &OsStr) -> bool {
    let stem = name.to_str().and_then(|name| name.strip_suffix(".txt"));
    let id = stem.and_then(|stem| stem.rsplit_once('-'));
    id.is_some_and(|(_, id)| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn may_be_written(name: &OsStr, changed: SystemTime) -> bool {
    let is_background = name.as_encoded_bytes().starts_with(BACKGROUND.as_bytes());
    // A time in the future says nothing.
    is_background && changed.elapsed().is_ok_and(|age| age < LONGEST_RUN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn the_oldest_outputs_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let hours = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 60 * 60);
        let put = |name: &str, age: u64, bytes: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(bytes).unwrap();
            file.set_modified(hours(age)).unwrap();
        };
        put("bash-00000001.txt", 9, 10);
        put("grep-00000002.txt", 8, 10);
        put("bash-00000003.txt", 7, 10);
        put("bg-00000004.txt", 20, 10);
        put("bg-00000005.txt", 30, 10);
        put("program.txt", 90, 10);
        let names = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        remove_oldest(folder.path(), 10, 100).unwrap();
        assert_eq!(names().len(), 6, "there is room");
        // A background command may still write to its output, and other files are not ours.
        remove_oldest(folder.path(), 3, 100).unwrap();
        let kept = [
            "bash-00000003.txt",
            "bg-00000004.txt",
            "grep-00000002.txt",
            "program.txt",
        ];
        assert_eq!(names(), kept);
        remove_oldest(folder.path(), 10, 20).unwrap();
        assert_eq!(
            names(),
            ["bash-00000003.txt", "bg-00000004.txt", "program.txt"]
        );
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("bash-00000001.txt"), "mine").unwrap();
        let link = place.path().join("outputs");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        remove_oldest(&link, 1, 0).unwrap_err();
        assert!(other.join("bash-00000001.txt").exists());
    }
}
