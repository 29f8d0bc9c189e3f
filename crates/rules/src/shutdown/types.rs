//! Events, actions and outcomes of a shutdown.

use protocol::{Incarnation, Request, RequestId, Timestamp};
use std::fmt;
use std::time::Duration;

/// The default time a member has to answer.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// How long each step after the deadline may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownLimits {
    /// From SIGTERM to SIGKILL; and from the deadline to the end of an approved shutdown without force.
    pub grace: Duration,
    /// From SIGKILL until the process is given up as unkillable.
    pub kill: Duration,
}

/// Something that happened to a shutdown.
#[derive(Debug, Clone, PartialEq)]
pub enum ShutdownEvent {
    /// The request's file was read.
    Stored(Box<Request>),
    /// The process of this incarnation has ended, as the operating system says.
    Gone { incarnation: Incarnation },
    /// A process of this incarnation runs.
    Replaced { incarnation: Incarnation },
    /// Time has passed.
    Tick,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum ShutdownAction {
    /// Store the request. If its file already has a final state, leave the file and pass it in as
    /// [`ShutdownEvent::Stored`].
    Record(Box<Request>),
    /// Send the request to its addressee.
    Deliver(Box<Request>),
    /// Send SIGTERM to the process of the addressed incarnation, and to no other.
    Terminate,
    /// Send SIGKILL to the process of the addressed incarnation, and to no other.
    Kill,
    /// Call again at this time, if no event comes before.
    WakeAt(Timestamp),
    /// The shutdown is over. Returned exactly once.
    Finished(ShutdownOutcome),
}

/// How a shutdown ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShutdownOutcome {
    /// The member approved, and its process has ended.
    Left,
    /// The process ended before the member approved.
    Ended,
    /// The member rejected and keeps running.
    Vetoed {
        /// May be empty.
        reason: String,
    },
    /// No answer came in time, and the request was not forced.
    NoAnswer,
    /// The member approved, but its process still runs, and the request was not forced.
    StillRunning,
    /// The process ended after SIGTERM.
    Terminated,
    /// The process ended after SIGKILL.
    Killed,
    /// Not even SIGKILL ended the process in time.
    Unkillable,
    /// The member was started again before it answered; the new incarnation was not asked.
    Replaced { incarnation: Incarnation },
}

/// Why a request does not begin a shutdown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// It is not a shutdown request.
    #[error("request {id} does not ask for a shutdown")]
    NotAShutdown { id: RequestId },
    /// It could end the wrong process, or never finish.
    #[error("shutdown request {id} does not name a member, its incarnation and a deadline")]
    Incomplete { id: RequestId },
}

impl Default for ShutdownLimits {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(5),
            kill: Duration::from_secs(5),
        }
    }
}

impl ShutdownOutcome {
    /// Whether the asked process has ended.
    pub const fn is_gone(&self) -> bool {
        match self {
            Self::Left | Self::Ended | Self::Terminated | Self::Killed | Self::Replaced { .. } => {
                true
            }
            Self::Vetoed { .. } | Self::NoAnswer | Self::StillRunning | Self::Unkillable => false,
        }
    }
}

impl fmt::Display for ShutdownOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => f.write_str("agreed and is gone"),
            Self::Ended => f.write_str("is gone without having agreed"),
            Self::Vetoed { reason } if reason.is_empty() => f.write_str("refused"),
            Self::Vetoed { reason } => write!(f, "refused: {reason}"),
            Self::NoAnswer => f.write_str("gave no answer; repeat with --force to end it"),
            Self::StillRunning => {
                f.write_str("agreed but is still running; repeat with --force to end it")
            }
            Self::Terminated => f.write_str("was ended by SIGTERM"),
            Self::Killed => f.write_str("was ended by SIGKILL"),
            Self::Unkillable => f.write_str("is still running after SIGKILL"),
            Self::Replaced { incarnation } => write!(
                f,
                "was started again as incarnation {incarnation}, which was not asked"
            ),
        }
    }
}
