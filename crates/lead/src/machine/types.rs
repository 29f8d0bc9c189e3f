//! What goes into the lead's life and what comes out of it.

use crate::console::Mode;
use crate::typed::{Command, Typed};
use std::time::Duration;

/// How a lead is meant to live.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Where it is used from.
    pub(crate) mode: Mode,
    /// Whether the team stays when it leaves.
    pub(crate) keep: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The time has come that was asked for.
    Tick,
    /// The person typed a line.
    Typed(Typed),
    /// The person will type no more.
    InputEnded,
    /// Ctrl-C, or a signal that asks for the end.
    Interrupted,
    /// The time for the whole run has passed.
    TimeIsUp,
    /// Mail waits for the model.
    Mail {
        /// The number of the newest letter that the model should see soon; 0 if there is none.
        newest: u64,
    },
    /// All tasks of the board, so many, have become done.
    TasksDone(usize),
    /// A background command of the lead is over.
    BackgroundDone,
    /// The turn or compaction is over.
    TurnEnded(End),
    /// The lead's model may not be asked any more: the budget is spent.
    BudgetSpent,
    /// The look at the team that was asked for is done.
    Looked(Rest),
    /// The team was shut down, as was asked for.
    TeamGone,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The model is done.
    Finished {
        /// Its last words.
        text: String,
    },
    /// It could not come to an end.
    Failed {
        /// Why, in words for a person.
        words: String,
    },
    /// It was interrupted.
    Interrupted,
}

/// What a look at the team found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Somebody works or will.
    Busy,
    /// Nothing will happen any more by itself.
    Done {
        /// Whether somebody failed or stayed dead.
        trouble: bool,
    },
    /// Those who have something to do may not: the budget is spent.
    Broke,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Let the model work, with these words from the person or the program.
    Turn(Vec<String>),
    /// Make the conversation shorter.
    Compact,
    /// End the turn or compaction that runs.
    CancelTurn,
    /// Show what a command asks for.
    Show(Command),
    /// Say something to the person.
    Say(String),
    /// Say what went wrong.
    Complain(String),
    /// Look whether the team is at rest, after a pause.
    LookForRest {
        /// The pause.
        after: Duration,
    },
    /// Shut the team down.
    ShutDown(Manner),
    /// Print the final answer.
    Answer(String),
    /// End with this exit code.
    Exit(u8),
}

/// How a team is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// By asking; those who do not go are ended.
    Gracefully,
    /// By signals.
    Now,
}

/// What was typed and waits to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Query(String),
    Compact,
    Show(Command),
    Leave,
}

/// Why the lead leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Everything is done.
    Done {
        trouble: bool,
    },
    /// The person said so.
    Person,
    Interrupt,
    Time,
    Budget,
    /// The only turn there is failed.
    Failed,
}

/// How far the leaving is.
#[derive(Debug, Clone)]
pub(super) struct Leaving {
    pub(super) why: Why,
    /// The team's shutdown was asked for.
    pub(super) asked: bool,
    /// The team is gone.
    pub(super) gone: bool,
    /// The person is in a hurry.
    pub(super) hurried: bool,
}

impl Leaving {
    pub(super) const fn new(why: Why) -> Self {
        Self {
            why,
            asked: false,
            gone: false,
            hurried: false,
        }
    }
}
