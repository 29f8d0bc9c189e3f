//! The steps of a plan.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use llm::ToolResult;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Value,
}

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'a> {
    pub(super) tool: &'a str,
    pub(super) input: &'a Value,
    pub(super) content: &'a str,
    pub(super) failed: bool,
}

impl<'a> Answered<'a> {
    pub(super) fn of(tool: &'a str, input: &'a Value, result: &'a ToolResult) -> Self {
        let content = result.content.as_str();
        // The output of a command and the text of a file may begin with any word.
        let says = tool != "bash" && tool != "read_file" && content.starts_with("Error");
        Self {
            tool,
            input,
            content,
            failed: result.is_error || says || content.starts_with("Unknown tool"),
        }
    }

    /// An argument that is a text.
    pub(super) fn text(&self, key: &str) -> &str {
        self.input
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// Mail that a plan cannot go on without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The teammate's report that it is done.
    Idle(String),
    /// The teammate's plan.
    Plan(String),
    /// The teammate's answer to a shutdown request.
    Shutdown(String),
    /// The lead's decision about one's own plan.
    Decision,
    /// The end of a command in the background.
    Background,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Something to report.
    Note(String),
    Call(Call),
    Await(Awaited),
    /// Decide about the plan of a teammate once it is there.
    Decide {
        from: String,
        approve: bool,
        feedback: Option<String>,
    },
    /// Make each task that was created here depend on the one before.
    Chain,
    /// Request the shutdown of all who are listed by `list_teammates`.
    ShutdownListed,
    /// Read files one by one.
    ReadEvery(Reading),
    /// Tell the sender how it went.
    Reply {
        to: String,
    },
    /// Tell the board that a task is done.
    Complete {
        id: i64,
    },
}

/// How far the reading of many files is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) ending: Option<String>,
    pub(super) dir: String,
    /// The files that are still to be read, once the list is known.
    pub(super) files: Option<VecDeque<String>>,
    pub(super) done: BTreeSet<String>,
    pub(super) failed: Vec<String>,
    /// How often the list was lost since a file was read.
    pub(super) lost: u32,
}

/// An instruction on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// The instruction itself, if it came as one.
    pub(super) instruction: Option<String>,
    pub(super) steps: VecDeque<Step>,
    pub(super) report: Vec<String>,
    /// Whether it only answers a request to shut down.
    pub(super) farewell: bool,
    /// The ids of the tasks that were created; one whose id is no longer to be seen is `None`.
    pub(super) tasks: Vec<Option<i64>>,
    /// How much mail there was when a teammate was last told something.
    pub(super) told: BTreeMap<String, usize>,
    /// The teammates that were sent a message.
    pub(super) sent: BTreeSet<String>,
    /// The teammates that could not be reached.
    pub(super) lost: BTreeSet<String>,
    /// The id under which the own plan was submitted.
    pub(super) plan_id: Option<String>,
    /// How often a plan was submitted because a tool was refused or the plan was.
    pub(super) plans: u32,
    /// Whether the call at the head was interrupted once.
    pub(super) interrupted: bool,
    /// What the work is about, if it was only named.
    pub(super) topic: Option<String>,
    /// The teammates that a plan shut down, by `list_teammates`.
    pub(super) listed: Vec<String>,
}

impl Job {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self {
            steps: steps.into(),
            ..Self::default()
        }
    }
}
