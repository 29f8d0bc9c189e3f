//! How changes are learned about: by notifications, or by polling and why.

use std::fmt;
use std::path::Path;

/// How to learn about changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchChoice {
    /// By notification where that works, otherwise by polling.
    #[default]
    Auto,
    Poll,
}

/// How changes are learned about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMode {
    Notified,
    /// The files are polled every [`POLL_INTERVAL`](super::POLL_INTERVAL).
    Polling(PollReason),
}

/// Why notifications are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// The caller chose polling.
    Chosen,
    /// The folder lies on a file system that does not report what other machines do.
    Remote(&'static str),
    /// The user has no notification instance or watch left.
    Limit,
    /// The system refused.
    Refused(String),
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("polling was chosen"),
            Self::Remote(name) => write!(
                f,
                "the folder lies on {name}, which does not report changes made elsewhere"
            ),
            Self::Limit => f.write_str(
                "this user has no inotify instance or watch left; raise the limit with \
                 `sysctl fs.inotify.max_user_instances=1024`",
            ),
            Self::Refused(cause) => write!(f, "the system refused notifications: {cause}"),
        }
    }
}

pub(super) fn poll_reason(folder: &Path, choice: WatchChoice) -> Option<PollReason> {
    match choice {
        WatchChoice::Poll => Some(PollReason::Chosen),
        WatchChoice::Auto => super::remote::file_system(folder).map(PollReason::Remote),
    }
}

/// Why the system does not notify; `None` if the file does not exist.
pub(super) fn refusal(error: &notify::Error) -> Option<PollReason> {
    match &error.kind {
        notify::ErrorKind::PathNotFound => None,
        notify::ErrorKind::MaxFilesWatch => Some(PollReason::Limit),
        notify::ErrorKind::Io(cause) => match cause.kind() {
            std::io::ErrorKind::NotFound => None,
            _ if is_limit(cause) => Some(PollReason::Limit),
            _ => Some(PollReason::Refused(cause.to_string())),
        },
        notify::ErrorKind::Generic(_)
        | notify::ErrorKind::WatchNotFound
        | notify::ErrorKind::InvalidConfig(_) => Some(PollReason::Refused(error.to_string())),
    }
}

fn is_limit(error: &std::io::Error) -> bool {
    use nix::errno::Errno;
    let limits = [Errno::EMFILE, Errno::ENFILE, Errno::ENOSPC];
    error
        .raw_os_error()
        .is_some_and(|code| limits.contains(&Errno::from_raw(code)))
}
