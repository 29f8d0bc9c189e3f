//! What goes into the lead's state machine, and what comes out of it.

use crate::console::Mode;
use crate::typed::{Shown, Typed};
use member::TurnOutcome;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// Whether the team goes on when the lead leaves.
    pub(crate) keep: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// [`super::LeadMachine::wake_at`] has come.
    Tick,
    /// The person typed a line.
    Typed(Typed),
    /// No more lines come.
    InputEnded,
    /// A signal that asks for the end.
    Interrupted,
    /// The key Ctrl-C: stops the turn, or leaves if there is none.
    CtrlC,
    /// The key Esc: stops the turn.
    Stop,
    /// The terminal was closed, or SIGHUP came.
    TerminalClosed,
    /// The timeout of the whole run is reached.
    TimedOut,
    /// Mail waits for the model.
    Mail {
        /// The number of the newest message that should start a turn; 0 if there is none.
        newest: u64,
    },
    /// The last open task was completed; there are this many tasks.
    TasksDone(usize),
    /// A background command of the lead has ended.
    BackgroundFinished,
    /// The turn or compaction has ended.
    TurnEnded(TurnOutcome),
    /// The turn that ends has not taken these lines of [`Action::Steer`].
    NotTaken(Vec<String>),
    /// The answer to [`Action::RunVerb`].
    VerbEnded,
    /// The budget does not allow more calls of the lead's model.
    BudgetSpent,
    /// The answer to [`Action::ObserveTeam`].
    TeamObserved(TeamActivity),
    /// The answer to [`Action::ShutDown`].
    TeamEnded,
    /// The team folder is gone, or another one is in its place.
    FolderRemoved,
}

/// What the team is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TeamActivity {
    /// A member works, or will work without further input.
    Busy,
    Idle {
        /// Whether a member failed or stayed dead.
        has_failures: bool,
    },
    /// Members have work left, and the budget does not allow it.
    OutOfBudget,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start a turn with this input of the person or the program.
    StartTurn(Vec<String>),
    /// Make the conversation shorter.
    Compact,
    /// Cancel the running turn or compaction, because the lead leaves.
    CancelTurn,
    /// Cancel the running turn or compaction, because the person wants it.
    StopTurn,
    /// Tell the model, in the conversation, that the person has stopped its turn.
    RecordStop,
    /// Give this line of the person to the running turn.
    Steer(String),
    /// Begin a new conversation.
    Clear,
    /// Ask the model of this name from now on.
    UseModel(String),
    Show(Shown),
    /// Run a verb of the program with these arguments, and answer with [`Event::VerbEnded`].
    RunVerb(Vec<String>),
    /// Print a notice.
    Print(String),
    PrintError(String),
    /// Check, after this delay, whether the team is idle, and answer with [`Event::TeamObserved`].
    ObserveTeam {
        after: Duration,
    },
    /// Shut the team down, and answer with [`Event::TeamEnded`].
    ShutDown(ShutdownMode),
    /// Print the final answer.
    Answer(String),
    /// End with this exit code.
    Exit(u8),
}

/// How a team is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShutdownMode {
    /// With shutdown requests; members that do not leave in time are ended with signals.
    Graceful,
    /// With signals.
    Immediate,
}

/// What was typed and not done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Queued {
    Query(String),
    Compact,
    Clear,
    UseModel(String),
    Show(Shown),
    Verb(Vec<String>),
    Leave,
}

/// Why the lead leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaveReason {
    /// Everything is done.
    Done {
        has_failures: bool,
    },
    /// The person asked for it.
    Person,
    Interrupt,
    TerminalClosed,
    Time,
    Budget,
    /// The only turn of a one-shot run failed.
    Failed,
}

/// The state of a lead that leaves.
#[derive(Debug, Clone)]
pub(super) struct Leaving {
    pub(super) reason: LeaveReason,
    /// The team's shutdown was asked for.
    pub(super) asked: bool,
    /// The team has ended.
    pub(super) team_ended: bool,
    /// A second interrupt came.
    pub(super) hurried: bool,
}

impl Leaving {
    pub(super) const fn new(reason: LeaveReason) -> Self {
        Self {
            reason,
            asked: false,
            team_ended: false,
            hurried: false,
        }
    }
}
