//! What goes into the teammate's state machine, and what comes out of it.

use member::TurnOutcome;
use protocol::UserMessage;
use protocol::{Phase, RequestId, WaitingFor};
use std::time::{Duration, Instant};

/// What a new incarnation finds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Startup {
    /// The prompt if it was not yet given to the model, and other input for the first turn.
    pub(crate) input: Vec<UserMessage>,
    /// The end of a turn that an earlier incarnation did not report to the lead.
    pub(crate) unreported: Option<String>,
    pub(crate) local: LocalState,
    pub(crate) team: TeamState,
}

/// What the process knows without reading other members' files.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalState {
    /// There is mail in the inbox.
    pub(crate) unread: bool,
    /// There is mail in the journal that the model has not seen.
    pub(crate) undelivered: bool,
    /// When mail that could not be read is to be tried again.
    pub(crate) mail_retry_at: Option<Instant>,
    /// The conversation ends with input that has no answer.
    pub(crate) is_unanswered: bool,
    /// The running turn waits for its model's server, its budget or a person.
    pub(crate) is_turn_waiting: bool,
    /// The shutdown request that this incarnation has approved.
    pub(crate) approved_shutdown: Option<RequestId>,
}

/// What the roster, the board and the requests say.
#[derive(Debug, Clone, Default)]
pub(crate) struct TeamState {
    pub(crate) task: TaskState,
    /// The member's plan, while it waits for a decision.
    pub(crate) pending_plan: Option<RequestId>,
    /// How many background commands run.
    pub(crate) background_running: usize,
    /// A background command has ended, and the model does not know.
    pub(crate) background_finished: bool,
    /// A task is still claimed by a member whose process is gone.
    pub(crate) has_dead_owner: bool,
    pub(crate) idle_timeout: Option<Duration>,
    /// There is mail in the inbox. Read after everything else.
    pub(crate) unread: bool,
}

/// What the board has for the member. A member that waits for a plan or a background command keeps
/// its task and takes no other: it has `Nothing`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TaskState {
    #[default]
    Nothing,
    /// A task can be claimed.
    Available,
    /// The member holds a task.
    Held {
        /// The model was already asked what came of it.
        outcome_requested: bool,
    },
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Started(Box<Startup>),
    /// The process woke up and checked its own files.
    Checked(LocalState),
    /// The answer to [`Action::CheckTeam`].
    TeamChecked(TeamState),
    TurnEnded(Box<TurnEnd>),
    BackgroundFinished,
    /// The running turn begins to wait for its model's server, its budget or a person.
    TurnWaits,
    /// The answer to [`Action::SendReport`]: whether it was sent.
    ReportSent(bool),
    /// The answer to [`Action::SuspendTask`]: whether no task is held any more.
    TaskSuspended(bool),
    /// The answer to [`Action::AnswerShutdowns`] and [`Action::AnswerOverdueShutdowns`]: whether a
    /// request was approved.
    ShutdownsAnswered(bool),
    /// SIGTERM, or Ctrl-C where a person started the process.
    TerminationRequested,
    /// A later incarnation of the member runs.
    Replaced,
    /// The team folder is gone, or another one is in its place.
    FolderRemoved,
}

#[derive(Debug, Clone)]
pub(crate) struct TurnEnd {
    pub(crate) outcome: TurnOutcome,
    pub(crate) was_model_asked: bool,
    pub(crate) approved_shutdown: Option<RequestId>,
    pub(crate) team: TeamState,
}

/// Something to do. Actions are performed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Tell the event log that the member is ready.
    Announce,
    /// Check the own files, and answer with [`Event::Checked`].
    Check,
    /// Read roster, board and requests, and answer with [`Event::TeamChecked`].
    CheckTeam,
    /// Enter the phase `working`, take the mail, and start a turn with it behind this input.
    StartTurn(Vec<UserMessage>),
    CancelTurn,
    SetPhase {
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
    },
    /// Watch the requests' folder, or stop watching it.
    WatchRequests(bool),
    /// Tell the lead how the turn ended.
    SendReport(String),
    /// Record that the end of this turn needs no report.
    SkipReport,
    /// Claim the task again that the death of the last incarnation returned to the board.
    ReclaimTask,
    /// Return the held task to the board, for anybody.
    ReleaseTask {
        reason: String,
    },
    /// Return the held task to the board, which offers it to this member first.
    SuspendTask {
        reason: String,
    },
    /// Whether tasks may be claimed.
    AllowClaims(bool),
    /// Approve all pending shutdown requests, since the model cannot be asked.
    AnswerShutdowns {
        reason: String,
    },
    /// Take the mail, and approve the shutdown requests that have waited long enough for the model.
    AnswerOverdueShutdowns,
    /// Tell the lead that the member's turn failed for good.
    ReportFailure {
        number: u64,
        reason: String,
    },
    /// End the process.
    Exit(Exit),
}

/// Why the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exit {
    ShutdownApproved(RequestId),
    Terminated,
    IdleTimeout,
    Replaced,
    FolderRemoved,
}
