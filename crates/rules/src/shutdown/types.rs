//! What goes into the course of a shutdown and what comes out.

use protocol::{Incarnation, Request, RequestId, Timestamp};
use std::fmt;
use std::time::Duration;

/// How long a member has to answer, unless said otherwise.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// How long each step after the deadline may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownLimits {
    /// From SIGTERM to SIGKILL; and how long after the deadline an approved shutdown without force
    /// is waited for.
    pub grace: Duration,
    /// From SIGKILL until the process is given up as unkillable.
    pub kill: Duration,
}

/// Something that happened to a shutdown.
#[derive(Debug, Clone, PartialEq)]
pub enum ShutdownEvent {
    /// The request's file was read.
    Stored(Box<Request>),
    /// The operating system says that the process of this incarnation is gone.
    Gone {
        /// That incarnation.
        incarnation: Incarnation,
    },
    /// A process of this incarnation bears the name now.
    Replaced {
        /// That incarnation.
        incarnation: Incarnation,
    },
    /// Time has passed.
    Tick,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum ShutdownAction {
    /// Store the request. If its file holds a final state by now, leave the file as it is and hand
    /// it over as [`ShutdownEvent::Stored`].
    Record(Box<Request>),
    /// Send the request to its addressee.
    Deliver(Box<Request>),
    /// Send SIGTERM to the process of the addressed incarnation, and to no other.
    Terminate,
    /// Send SIGKILL to the process of the addressed incarnation, and to no other.
    Kill,
    /// Call again at this time, if nothing happens before.
    WakeAt(Timestamp),
    /// It is over. Comes exactly once.
    Finished(ShutdownOutcome),
}

/// How a shutdown ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShutdownOutcome {
    /// The member agreed, and its process is gone.
    Left,
    /// The process went away before the member agreed.
    Ended,
    /// The member refused and works on.
    Vetoed {
        /// Why; may be empty.
        reason: String,
    },
    /// No answer came in time, and no force was asked for.
    NoAnswer,
    /// The member agreed, but its process still runs, and no force was asked for.
    StillRunning,
    /// The process ended after SIGTERM.
    Terminated,
    /// The process ended after SIGKILL.
    Killed,
    /// Not even SIGKILL ended the process in time.
    Unkillable,
    /// The member was started again before it answered; the new incarnation was not asked.
    Replaced {
        /// The new incarnation.
        incarnation: Incarnation,
    },
}

/// Why a request does not begin a shutdown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// It asks for something else.
    #[error("request {id} does not ask for a shutdown")]
    NotAShutdown {
        /// The request.
        id: RequestId,
    },
    /// It could hit the wrong process, or never end.
    #[error("shutdown request {id} does not name a member, its incarnation and a deadline")]
    Incomplete {
        /// The request.
        id: RequestId,
    },
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
    /// Whether the process that was asked is gone.
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
