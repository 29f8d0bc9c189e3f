//! Finds the other paths of a file: the same folder may be mounted in several places.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Enough for the mount list of most machines.
const USUAL_LENGTH: usize = 32 << 10;

/// The mounts of this process.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<MountPoint>);

#[derive(Debug)]
struct MountPoint {
    device: String,
    /// The folder of the file system that is mounted.
    root: PathBuf,
    at: PathBuf,
}

impl Mounts {
    pub(crate) fn read() -> Self {
        // The kernel generates the text anew for each read, so one read should get all of it.
        let mut text = Vec::with_capacity(USUAL_LENGTH);
        if let Ok(mut file) = File::open("/proc/self/mountinfo") {
            // After an error, what was read so far is used.
            let _ = file.read_to_end(&mut text);
        }
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(MountPoint::parse).collect())
    }

    /// Where else the file or folder of a path is visible.
    pub(crate) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        // Of several mounts at the same place, the last one is visible.
        let containing = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        let Some(own) = containing.max_by_key(|mount| mount.at.components().count()) else {
            return Vec::new();
        };
        let Ok(relative) = path.strip_prefix(&own.at) else {
            return Vec::new();
        };
        let inner = own.root.join(relative);
        let same = self.0.iter().filter(|mount| mount.device == own.device);
        let aliases = same.filter_map(|mount| {
            let below = inner.strip_prefix(&mount.root).ok()?;
            Some(joined(&mount.at, below))
        });
        aliases.filter(|alias| alias != path).collect()
    }
}

impl MountPoint {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').skip(2);
        Some(Self {
            device: fields.next()?.to_owned(),
            root: unescaped(fields.next()?),
            at: unescaped(fields.next()?),
        })
    }
}

/// Joins two paths, without the slash that joining an empty path leaves at the end.
fn joined(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        return folder.to_owned();
    }
    folder.join(below)
}

/// Decodes a path in which the kernel wrote spaces and backslashes as octal numbers.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let number = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(number) => {
                bytes.push(number);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 8:1 / / rw - ext4 /dev/a rw
22 21 0:5 / /proc rw - proc proc rw
23 21 8:2 / /home rw - ext4 /dev/b rw
24 21 8:2 /u/work /srv/copy rw - ext4 /dev/b rw
25 23 8:2 /u /home/u/work/again rw - ext4 /dev/b rw
26 21 8:1 /var/my\\040data /data rw - ext4 /dev/a rw";

    #[test]
    fn the_same_file_is_found_under_each_mount() {
        let mounts = Mounts::parse(MOUNTS);
        let aliases = |path: &str| mounts.aliases(Path::new(path));
        assert_eq!(
            aliases("/home/u/work/.team"),
            ["/srv/copy/.team", "/home/u/work/again/work/.team"].map(PathBuf::from)
        );
        assert_eq!(aliases("/home/u/work")[0], Path::new("/srv/copy"));
        assert_eq!(
            aliases("/home/u/.ssh"),
            [PathBuf::from("/home/u/work/again/.ssh")]
        );
        assert_eq!(aliases("/data/x"), [PathBuf::from("/var/my data/x")]);
        assert!(aliases("/etc/shadow").is_empty());
    }
}
