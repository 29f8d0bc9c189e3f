//! What a member's own folder says of it: who holds its lock, and what it is doing now.

use crate::{Incarnation, SandboxLevel, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

record! {
    /// The process that holds a lock until it ends; the text inside `members/<name>/lock`.
    ///
    /// The text is for people and for signals. Whether the process is alive is decided by the lock
    /// itself, and a signal is sent only if pid, start time and boot all fit.
    pub struct Holder {
        /// The process id.
        req pid: u32 => "pid",
        /// When the process started, in clock ticks since boot: tells a reused pid apart.
        req start_time: u64 => "start_time",
        /// The boot in which the process runs.
        def boot_id: String => "boot_id",
        /// The machine on which it runs.
        def host: String => "host",
        /// Which incarnation of the member it is.
        def incarnation: Incarnation => "incarnation",
        /// When it took the lock.
        def since: Timestamp => "since",
    }
}

record! {
    /// What a member is doing now; `members/<name>/state.json`, replaced at each change.
    pub struct LiveState {
        /// Which incarnation of the member says this.
        req incarnation: Incarnation => "incarnation",
        /// What it is doing.
        req phase: Phase => "phase",
        /// Since when.
        req since: Timestamp => "since",
        /// What it waits for, in phase `waiting`.
        opt waiting_for: WaitingFor => "waiting_for",
        /// Why, in phase `failed`; how long, in phase `waiting`.
        opt reason: String => "reason",
        /// The tool or model call it is in.
        opt activity: Activity => "activity",
        /// When the member last gave a sign of progress.
        opt progress_at: Timestamp => "progress_at",
        /// The model of its list that it asks, if that is not the first.
        opt model: String => "model",
        /// The task it works on.
        opt task: TaskId => "task",
        /// What all its incarnations have used of their models.
        opt usage: Tally => "usage",
        /// What the sandbox of its commands promises, once that is known.
        opt sandbox: SandboxLevel => "sandbox",
    }
}

record! {
    /// What a member has used of its model.
    pub struct Tally {
        /// How many calls.
        def calls: u64 => "calls",
        /// Input tokens that were neither read from a cache nor written to it.
        def input: u64 => "input",
        /// Output tokens.
        def output: u64 => "output",
        /// Input tokens that were read from a cache.
        def cache_read: u64 => "cache_read",
        /// Input tokens that were written to a cache.
        def cache_write: u64 => "cache_write",
    }
}

record! {
    /// A tool or model call in progress.
    pub struct Activity {
        /// The name of the tool, or `model`.
        req name: String => "name",
        /// What the tool acts on, on one line: the command, the path. Boxed, because errors carry it.
        opt argument: Box<str> => "argument",
        /// Since when.
        req since: Timestamp => "since",
    }
}

/// What a member is doing, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The process has started and is not ready yet.
    Starting,
    /// It is in a turn.
    Working,
    /// It is in a turn that cannot go on by itself.
    Waiting,
    /// It sleeps until mail, a task or a signal.
    Idle,
    /// Its last turn ended with an error it cannot cure.
    Failed,
    /// It has ended gracefully.
    Shutdown,
}

/// What a member in phase `waiting` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// A decision on its plan.
    Plan,
    /// A person who allows a tool call.
    Permission,
    /// A person's answer to its question.
    Answer,
    /// A background command.
    Background,
    /// The model's server to take requests again.
    RateLimit,
    /// The model's server to answer.
    Server,
    /// The disk to take its journal again.
    Disk,
    /// More budget.
    Budget,
    /// Its tree to be made.
    Tree,
    /// Its turn: as many members as may ask their models at a time do.
    Turn,
}

impl LiveState {
    /// A state with nothing but its phase.
    pub fn new(incarnation: Incarnation, phase: Phase, since: Timestamp) -> Self {
        Self {
            incarnation,
            phase,
            since,
            waiting_for: None,
            reason: None,
            activity: None,
            progress_at: None,
            model: None,
            task: None,
            usage: None,
            sandbox: None,
            extra: crate::Extra::new(),
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            calls: 0,
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            extra: crate::Extra::new(),
        }
    }
}

impl Eq for Tally {}

impl Tally {
    /// All tokens together.
    pub const fn tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}
