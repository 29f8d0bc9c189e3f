//! What a checkup has to know of the machine.

use processes::Programs;
use protocol::Timestamp;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::now;

/// Where the system keeps how many instances each user may have.
const SETTING: &str = "/proc/sys/fs/inotify/max_user_instances";

/// The machine and the user, as far as they matter to a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The present time.
    pub now: Timestamp,
    /// Who we are.
    pub uid: u32,
    /// Where the program of a teammate is, or why there is none.
    pub teammate: Result<PathBuf, Complaint>,
    /// What the system has left of notifications, if it says.
    pub inotify: Option<Inotify>,
    /// Why models that are chosen cannot be used.
    pub model_problems: Vec<Complaint>,
}

/// Something that is wrong with the surroundings, and what to type about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// What is wrong.
    pub problem: String,
    /// What to type.
    pub fix: String,
}

/// How much of the system's notifications this user has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inotify {
    /// Instances that its processes have.
    pub used: u64,
    /// Instances that it may have.
    pub limit: u64,
    /// The file that says so to the system.
    pub setting: PathBuf,
}

impl Surroundings {
    /// Those of this process. Which models cannot be used is for the caller to say.
    pub fn gather(model_problems: Vec<Complaint>) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let teammate = Programs::find().map(|programs| programs.teammate);
        Self {
            now: now(),
            uid,
            teammate: teammate.map_err(|error| Complaint {
                problem: error.to_string(),
                fix: error.fix().to_owned(),
            }),
            inotify: Inotify::of(uid, Path::new(SETTING)),
            model_problems,
        }
    }
}

impl Inotify {
    /// What a user has used, and what the system's setting allows it.
    pub fn of(uid: u32, setting: &Path) -> Option<Self> {
        let limit = fs::read_to_string(setting).ok()?;
        let limit = limit.trim().parse().ok()?;
        let used = processes().filter(|folder| is_of(folder, uid));
        let used = used.map(|folder| instances(&folder)).sum();
        let setting = setting.to_path_buf();
        Some(Self {
            used,
            limit,
            setting,
        })
    }

    /// Instances that are left.
    pub const fn left(&self) -> u64 {
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
    use teamdir::{WatchChoice, WatchMode, Watcher};

    #[test]
    fn a_watch_of_ours_is_counted() {
        let process = PathBuf::from("/proc/self");
        let before = instances(&process);
        let watcher = Watcher::new(Path::new("/"), WatchChoice::Auto);
        if watcher.mode() == WatchMode::Notified {
            assert!(instances(&process) > before);
        }
        let inotify = Inotify {
            used: 120,
            limit: 128,
            setting: PathBuf::from(SETTING),
        };
        assert_eq!(inotify.left(), 8);
    }
}
