//! What can fail before a command runs, and how the failing step is reported.

use std::io;
use std::path::{Path, PathBuf};

use crate::probe::Level;

/// A sandbox could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error("cannot use {} in a sandbox", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be writable in a sandbox: it is the root of the file system", .0.display())]
    Root(PathBuf),
    #[error(
        "{} belongs to the user with id {owner}; inside a sandbox root has no right to write there: run as that user",
        path.display()
    )]
    ForeignOwner { path: PathBuf, owner: u32 },
    #[error(
        "only certain hosts can be allowed at sandbox level full alone; this machine has level {0}. \
         Use the network \"off\" or \"on\""
    )]
    ProxyNeedsNamespaces(Level),
    #[error("cannot build the Landlock rules")]
    Landlock(#[from] landlock::RulesetError),
    #[error("cannot build the system call filter")]
    Filter(#[from] seccompiler::BackendError),
    #[error("cannot prepare the sandbox")]
    Io(#[from] io::Error),
}

impl PrepareError {
    pub(crate) fn path(path: &Path, source: io::Error) -> Self {
        Self::Path {
            path: path.to_owned(),
            source,
        }
    }
}

/// A sandboxed command could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{}", match step {
    Some((step, Some(path))) => format!("cannot {step} for the sandbox: {}", path.display()),
    Some((step, None)) => format!("cannot {step} for the sandbox"),
    None => "cannot start the command in the sandbox".to_owned(),
})]
pub struct StartError {
    /// The step of the setup that failed, or `None` if the command itself could not be executed.
    pub step: Option<(Step, Option<PathBuf>)>,
    #[source]
    pub source: io::Error,
}

/// A step of the setup between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    Namespaces = 1,
    Identity,
    Processes,
    Loopback,
    Listener,
    Root,
    Path,
    Proc,
    Pivot,
    Folder,
    Limits,
    Capabilities,
    Landlock,
    Seccomp,
}

const STEPS: [(Step, &str); 14] = [
    (Step::Namespaces, "create namespaces"),
    (Step::Identity, "map the user into its namespace"),
    (Step::Processes, "start the first process"),
    (Step::Loopback, "bring the loopback interface up"),
    (Step::Listener, "pass the socket of the proxy out"),
    (Step::Root, "mount a root of its own"),
    (Step::Path, "mount a path"),
    (Step::Proc, "mount its own /proc"),
    (Step::Pivot, "change the root"),
    (Step::Folder, "enter the working folder"),
    (Step::Limits, "set resource limits"),
    (Step::Capabilities, "drop capabilities"),
    (Step::Landlock, "apply Landlock rules"),
    (Step::Seccomp, "apply the system call filter"),
];

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let found = STEPS.iter().find(|(step, _)| step == self);
        f.write_str(found.map_or("set up", |(_, text)| text))
    }
}

/// How many bytes a report has.
pub(crate) const REPORT: usize = 3;

/// The failed step and the number of its mount, as they cross the pipe.
pub(crate) const fn encode(step: Step, mount: u16) -> [u8; REPORT] {
    let [low, high] = mount.to_le_bytes();
    [step as u8, low, high]
}

pub(crate) fn decode([step, low, high]: [u8; REPORT]) -> Option<(Step, u16)> {
    let found = STEPS.iter().find(|(known, _)| *known as u8 == step);
    found.map(|(step, _)| (*step, u16::from_le_bytes([low, high])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for (step, text) in STEPS {
            assert_eq!(decode(encode(step, 517)), Some((step, 517)));
            assert_eq!(step.to_string(), text);
        }
        assert_eq!(decode([0, 0, 0]), None);
    }
}
