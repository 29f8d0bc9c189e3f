//! Which layers this machine has, found by trying them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::errno::Errno;
use serde::Serialize;

use crate::description::Description;
use crate::error::{StartError, Step};
use crate::landlock_rules::{FIRST_SCOPED, FIRST_USEFUL};
use crate::session::prepare;
use crate::syscalls::landlock_version;

/// What a sandbox on this machine promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing beyond a clean environment and resource limits.
    None,
    /// Files outside are protected. Files inside a writable folder are not; other processes are visible,
    /// and processes of the command may survive it.
    Landlock,
    /// Everything that a description says holds.
    Full,
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Full => "full",
        })
    }
}

/// Why a layer is missing, and what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    pub why: String,
    pub how: String,
}

/// The layers of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    namespaces: Result<(), Missing>,
    /// The version of Landlock.
    landlock: Result<u32, Missing>,
    seccomp: Result<(), Missing>,
}

/// One layer, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    pub name: &'static str,
    pub gives: &'static str,
    pub present: bool,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

impl Layers {
    /// Tries all layers with a command that does nothing, once for this process.
    pub fn probe() -> &'static Self {
        static FOUND: OnceLock<Layers> = OnceLock::new();
        FOUND.get_or_init(Self::probe_now)
    }

    fn probe_now() -> Self {
        let landlock = landlock_version().map_err(without_landlock);
        let mut layers = Self {
            namespaces: Ok(()),
            landlock: landlock.and_then(useful),
            seccomp: Ok(()),
        };
        // Each failure takes one layer away, and the others are tried without it.
        for _ in 0..3 {
            let Err(error) = layers.attempt() else {
                break;
            };
            layers.remove(error);
        }
        layers
    }

    /// Starts a command in a sandbox of these layers.
    fn attempt(&self) -> Result<(), Failure> {
        let mut command = Command::new(SHELL);
        command.args(["-c", ":"]);
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let session = prepare(&mut command, &smallest(), self).map_err(|error| Failure {
            step: None,
            why: describe(&error),
        })?;
        let status = command.status().map_err(|source| session.explain(source))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure {
            step: None,
            why: format!("a command inside ended with {status}"),
        })
    }

    fn remove(&mut self, failure: Failure) {
        let missing = Missing {
            how: remedy(&failure),
            why: failure.why,
        };
        match failure.step.map(|(step, _)| step) {
            Some(Step::Landlock) => self.landlock = Err(missing),
            Some(Step::Seccomp) => self.seccomp = Err(missing),
            Some(
                Step::Namespaces
                | Step::Identity
                | Step::Processes
                | Step::Loopback
                | Step::Listener
                | Step::Root
                | Step::Path
                | Step::Proc
                | Step::Pivot
                | Step::Folder
                | Step::Limits
                | Step::Capabilities,
            )
            | None => {
                if self.namespaces.is_ok() {
                    self.namespaces = Err(missing);
                } else if self.landlock.is_ok() {
                    self.landlock = Err(missing);
                } else {
                    self.seccomp = Err(missing);
                }
            }
        }
    }

    /// What these layers promise together.
    #[must_use]
    pub const fn level(&self) -> Level {
        match (&self.namespaces, &self.landlock, &self.seccomp) {
            (Ok(()), _, Ok(())) => Level::Full,
            (_, Ok(_), Ok(())) => Level::Landlock,
            (_, _, _) => Level::None,
        }
    }

    pub(crate) fn landlock(&self) -> Option<u32> {
        self.landlock.as_ref().ok().copied()
    }

    pub(crate) const fn has_seccomp(&self) -> bool {
        self.seccomp.is_ok()
    }

    /// Each layer with what it gives, and why it is missing.
    #[must_use]
    pub fn list(&self) -> Vec<Layer> {
        let signals = match &self.landlock {
            Ok(version) if *version < FIRST_SCOPED => Err(Missing {
                why: format!("the kernel has version {version} of Landlock, not {FIRST_SCOPED}"),
                how: "use Linux 6.12 or newer".to_owned(),
            }),
            Ok(_) => Ok(()),
            Err(missing) => Err(missing.clone()),
        };
        let landlock = self.landlock.as_ref().map(drop).map_err(Clone::clone);
        let rows = [
            (
                "namespaces",
                "a file tree, processes and a network of its own; nothing survives",
                self.namespaces.clone(),
            ),
            (
                "landlock",
                "no writes and no reads outside of the listed paths",
                landlock,
            ),
            (
                "landlock scopes",
                "no signals and no abstract sockets to processes outside",
                signals,
            ),
            (
                "seccomp",
                "no tracing, mounts, new namespaces, io_uring, keys or set-id files",
                self.seccomp.clone(),
            ),
            (
                "limits",
                "no core dumps; with namespaces a bounded number of processes and size of /tmp",
                Ok(()),
            ),
            ("environment", "only listed variables", Ok(())),
        ];
        let rows = rows.into_iter().map(|(name, gives, state)| Layer {
            name,
            gives,
            present: state.is_ok(),
            missing: state.err(),
        });
        rows.collect()
    }
}

/// The shell that is tried.
const SHELL: &str = "/bin/sh";

/// A sandbox in which a shell just runs.
fn smallest() -> Description {
    let system = ["/bin", "/lib", "/lib32", "/lib64", "/nix", "/usr", "/etc"];
    Description {
        readable: system.iter().map(Into::into).collect(),
        ..Description::new("/")
    }
}

/// Why an attempt failed.
#[derive(Debug)]
struct Failure {
    step: Option<(Step, Errno)>,
    why: String,
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let errno = Errno::from_raw(error.source.raw_os_error().unwrap_or(0));
        Self {
            step: error.step.as_ref().map(|(step, _)| (*step, errno)),
            why: describe(&error),
        }
    }
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn without_landlock(errno: Errno) -> Missing {
    let (why, how) = match errno {
        Errno::EOPNOTSUPP => (
            "Landlock is in the kernel but was not switched on at boot",
            "add landlock to the kernel parameter lsm=",
        ),
        Errno::ENOSYS => ("the kernel has no Landlock", "use Linux 6.2 or newer"),
        _ => (
            "the system call is refused, as in some containers",
            "allow landlock_create_ruleset in the container's seccomp profile",
        ),
    };
    Missing {
        why: format!("{why} ({})", errno.desc()),
        how: how.to_owned(),
    }
}

fn useful(version: u32) -> Result<u32, Missing> {
    if version >= FIRST_USEFUL {
        return Ok(version);
    }
    Err(Missing {
        why: format!("version {version} of Landlock lets a command truncate files outside"),
        how: "use Linux 6.2 or newer".to_owned(),
    })
}

fn remedy(failure: &Failure) -> String {
    let exists = |path: &str| Path::new(path).exists();
    let text = match failure.step {
        Some((Step::Namespaces, Errno::ENOSPC)) => {
            "raise the limit: sysctl user.max_user_namespaces=15000"
        }
        Some((Step::Namespaces, Errno::EPERM))
            if exists("/proc/sys/kernel/unprivileged_userns_clone") =>
        {
            "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
        }
        Some((Step::Namespaces, Errno::EPERM)) => {
            "allow user namespaces: in a container by its seccomp profile, not from a chroot"
        }
        Some((Step::Namespaces, _)) => {
            "use a kernel with user, mount, pid, net, ipc and uts namespaces"
        }
        Some((Step::Proc, _)) => {
            "run the container with an unmasked /proc (for example --security-opt systempaths=unconfined)"
        }
        Some((_, Errno::EPERM | Errno::EACCES))
            if exists("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") =>
        {
            "allow it for this program by an AppArmor profile with the rule userns, or: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        }
        Some((_, Errno::EPERM | Errno::EACCES)) => {
            "run it outside of other sandboxes (Landlock, AppArmor, a chroot) that forbid mounts"
        }
        Some((_, Errno::ENOSYS | Errno::EINVAL)) => "use Linux 5.12 or newer",
        Some((_, _)) | None => "run the same command outside of a container or another sandbox",
    };
    text.to_owned()
}
