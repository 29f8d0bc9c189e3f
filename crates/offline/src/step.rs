//! The steps that carry out an instruction.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call(pub(crate) &'static str, pub(crate) Value);

/// Mail that an instruction cannot go on without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The teammate's report that it is done.
    Idle(String),
    Plan(String),
    /// The teammate's answer to a shutdown request.
    Shutdown(String),
    /// The lead's decision about the agent's own plan.
    Decision,
    /// The end of a background command.
    Background,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Adds a line to the report.
    Note(String),
    Call(Call),
    Await(Awaited),
    /// Decides about the plan of a teammate once it is there.
    Decide {
        from: String,
        approve: bool,
        feedback: Option<String>,
    },
    /// Makes each task that was created here depend on the one before.
    Chain,
    /// Requests the shutdown of everybody that `list_teammates` named.
    ShutdownListed,
    /// Lists the files in a folder with a command, to read each of them.
    ListFiles {
        dir: String,
        command: String,
    },
    /// Reads a file of the list, without its text in the report.
    ReadListed(String),
    /// Reports how many files of the folder were read.
    CountRead(String),
    /// Reports to the sender of the instruction.
    Reply(String),
    /// Sets a task to completed.
    Complete(i64),
}

/// An instruction that is being carried out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) steps: VecDeque<Step>,
    pub(crate) report: Vec<String>,
    /// It answers a shutdown request, and waits until all other work is done.
    pub(crate) is_shutdown: bool,
    /// The ids of the tasks that were created; `None` if a result was cleared.
    pub(crate) tasks: Vec<Option<i64>>,
    /// How much mail there was when a teammate was last contacted.
    pub(crate) contacted: BTreeMap<String, usize>,
    /// The teammates that were sent a message.
    pub(crate) sent: BTreeSet<String>,
    /// The teammates that could not be reached.
    pub(crate) unreachable: BTreeSet<String>,
    /// The teammates that `list_teammates` named.
    pub(crate) listed: Vec<String>,
    /// The files of a list that were read, and those that could not be.
    pub(crate) read: BTreeSet<String>,
    pub(crate) unreadable: Vec<String>,
    /// How often the list of files was lost since one was read.
    pub(crate) lists_lost: u32,
    /// The id of the agent's own plan.
    pub(crate) plan_id: Option<String>,
    /// How many plans were submitted because a tool or a plan was refused.
    pub(crate) plans: u32,
    /// Whether the next call was interrupted once.
    pub(crate) interrupted: bool,
    /// What the work is about, if it was only named.
    pub(crate) topic: Option<String>,
}

impl Job {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self {
            steps: steps.into(),
            ..Self::default()
        }
    }

    /// Puts a call before all other steps.
    pub(crate) fn call_first(&mut self, tool: &'static str, input: Value) {
        self.steps.push_front(Step::Call(Call(tool, input)));
    }
}
