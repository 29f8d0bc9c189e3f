//! What a checkup has to know of the machine.

use crew::Programs;
use protocol::Timestamp;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::now;

/// The machine and the user, as far as they matter to a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The present time.
    pub now: Timestamp,
    /// Who we are.
    pub uid: u32,
    /// Where the program of a teammate is, or why there is none.
    pub teammate: Result<PathBuf, String>,
    /// What the system has left of notifications, if it says.
    pub inotify: Option<Inotify>,
    /// Why models that are chosen cannot be used.
    pub model_problems: Vec<String>,
}

/// How much of the system's notifications this user has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inotify {
    /// Instances that its processes have.
    pub used: u64,
    /// Instances that it may have.
    pub limit: u64,
}

impl Surroundings {
    /// Those of this process. Which models cannot be used is for the caller to say.
    pub fn gather(model_problems: Vec<String>) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let teammate = Programs::find().map(|programs| programs.teammate);
        Self {
            now: now(),
            uid,
            teammate: teammate.map_err(|error| error.to_string()),
            inotify: Inotify::of(uid),
            model_problems,
        }
    }
}

impl Inotify {
    fn of(uid: u32) -> Option<Self> {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").ok()?;
        let limit = limit.trim().parse().ok()?;
        let used = processes().filter(|folder| is_of(folder, uid));
        let used = used.map(|folder| instances(&folder)).sum();
        Some(Self { used, limit })
    }

    /// Instances that are left.
    pub const fn left(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The folders of all processes.
pub(crate) fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn is_of(process: &Path, uid: u32) -> bool {
    process
        .metadata()
        .is_ok_and(|metadata| metadata.uid() == uid)
}

/// How many instances a process has. Two descriptors of one count twice, which is rare.
fn instances(process: &Path) -> u64 {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    let links = open
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter(|target| target.as_os_str() == "anon_inode:inotify")
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamdir::{Watch, WatchChoice, WatchMode};

    #[test]
    fn a_watch_of_ours_is_counted() {
        let process = PathBuf::from("/proc/self");
        let before = instances(&process);
        let watch = Watch::new(Path::new("/"), WatchChoice::Auto);
        if watch.mode() == WatchMode::Notified {
            assert!(instances(&process) > before);
        }
        let inotify = Inotify {
            used: 120,
            limit: 128,
        };
        assert_eq!(inotify.left(), 8);
    }
}
