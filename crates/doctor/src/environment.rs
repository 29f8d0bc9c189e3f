//! What the checks need to know of the machine.

use integration::Integration;
use processes::Programs;
use protocol::Timestamp;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use teamdir::now;

/// The setting that limits the inotify instances of each user.
const SETTING: &str = "/proc/sys/fs/inotify/max_user_instances";

/// The machine and the user.
#[derive(Debug, Clone)]
pub struct Environment {
    pub now: Timestamp,
    /// The user of this process.
    pub uid: u32,
    /// The path of the `teammate` program, or why there is none.
    pub teammate: Result<PathBuf, Problem>,
    /// The use of inotify instances, if it can be determined.
    pub inotify: Option<Inotify>,
    /// Why chosen models cannot be used.
    pub model_problems: Vec<Problem>,
    /// Why instructions and skills cannot be used.
    pub text_problems: Vec<Problem>,
    /// The members' own trees.
    pub trees: Trees,
}

/// The members' own trees.
#[derive(Debug, Clone)]
pub enum Trees {
    /// No member ever had one.
    None,
    Usable(Box<Integration>),
    /// There are some, and git cannot be used on them.
    Unusable(Problem),
}

/// A problem of the environment, and the command to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The member, the file or the program.
    pub about: String,
    pub text: String,
    pub command: String,
}

/// The inotify instances of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inotify {
    pub used: u64,
    pub limit: u64,
    /// The file with the limit.
    pub setting: PathBuf,
}

impl Environment {
    /// Collects the environment of this process. The caller finds out which models and texts cannot be
    /// used, and opens the trees.
    pub fn gather(model_problems: Vec<Problem>, text_problems: Vec<Problem>, trees: Trees) -> Self {
        let uid = nix::unistd::geteuid().as_raw();
        let teammate = Programs::find().map(|programs| programs.teammate);
        Self {
            now: now(),
            uid,
            teammate: teammate.map_err(|error| Problem {
                about: "teammate".to_owned(),
                text: error.to_string(),
                command: error.fix().to_owned(),
            }),
            inotify: Inotify::of(uid, Path::new(SETTING)),
            model_problems,
            text_problems,
            trees,
        }
    }
}

impl Inotify {
    /// The instances of a user, and the limit in `setting`.
    pub fn of(uid: u32, setting: &Path) -> Option<Self> {
        let limit = fs::read_to_string(setting).ok()?;
        let limit = limit.trim().parse().ok()?;
        let used = processes().filter(|folder| belongs_to(folder, uid));
        let used = used.map(|folder| instances(&folder)).sum();
        let setting = setting.to_path_buf();
        Some(Self {
            used,
            limit,
            setting,
        })
    }

    pub const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The `/proc` folders of all processes.
pub(crate) fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether a process belongs to a user. The owner of its folder in `/proc` does not say so: it is root if
/// the process hides its memory, as members do.
fn belongs_to(process: &Path, uid: u32) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let mut lines = status.lines();
    let owner = lines.find_map(|line| line.strip_prefix("Uid:"));
    let owner = owner.and_then(|numbers| numbers.split_whitespace().next());
    owner.and_then(|owner| owner.parse().ok()) == Some(uid)
}

/// The number of inotify instances of a process. Two descriptors of the same instance count twice, which is
/// rare. A process that hides its descriptors counts as one, because it is most likely a member.
fn instances(process: &Path) -> u64 {
    let open = match fs::read_dir(process.join("fd")) {
        Ok(open) => open,
        Err(error) => return u64::from(error.kind() == ErrorKind::PermissionDenied),
    };
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
