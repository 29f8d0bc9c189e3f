//! What an instruction asks for.

/// A teammate to spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hire {
    pub(super) name: String,
    pub(super) role: String,
    /// What it is to do from the start.
    pub(super) work: Option<String>,
}

/// Colleagues that an instruction speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Names(Vec<String>),
    All,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Spawn(Vec<Hire>),
    Delegate {
        to: Vec<String>,
        work: String,
    },
    Send {
        to: Vec<String>,
        text: Option<String>,
    },
    Broadcast {
        text: String,
    },
    CheckInbox,
    ListTeammates,
    Shutdown {
        who: Who,
    },
    AwaitPlan {
        from: String,
    },
    Decide {
        from: Option<String>,
        id: Option<String>,
        approve: bool,
        feedback: Option<String>,
    },
    SubmitPlan {
        about: Option<String>,
    },
    CreateTasks {
        subjects: Vec<String>,
        chained: bool,
    },
    ChainTasks,
    ListTasks,
    ShowTask {
        id: i64,
    },
    ClaimTask {
        id: i64,
    },
    CompleteTask {
        id: i64,
    },
    WriteFile {
        path: String,
        content: String,
    },
    EditFile {
        path: String,
        old: String,
        new: String,
    },
    ReadFile {
        path: String,
    },
    ReadEvery {
        ending: Option<String>,
        dir: String,
    },
    Run {
        command: String,
    },
    RunBackground {
        command: String,
    },
    CheckBackground,
    WaitFor {
        names: Vec<String>,
    },
    Standby,
    Compact,
    /// Work that is named but not understood, which a plan may be about.
    Topic {
        text: String,
    },
}

#[cfg(test)]
impl Intent {
    /// The name of the kind, as in the table of the grammar.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Spawn(_) => "spawn",
            Self::Delegate { .. } => "delegate",
            Self::Send { .. } => "send",
            Self::Broadcast { .. } => "broadcast",
            Self::CheckInbox => "check inbox",
            Self::ListTeammates => "list teammates",
            Self::Shutdown { .. } => "shutdown",
            Self::AwaitPlan { .. } => "await plan",
            Self::Decide { approve: true, .. } => "approve plan",
            Self::Decide { approve: false, .. } => "reject plan",
            Self::SubmitPlan { .. } => "submit plan",
            Self::CreateTasks { .. } => "create tasks",
            Self::ChainTasks => "chain tasks",
            Self::ListTasks => "list tasks",
            Self::ShowTask { .. } => "show task",
            Self::ClaimTask { .. } => "claim task",
            Self::CompleteTask { .. } => "complete task",
            Self::WriteFile { .. } => "write file",
            Self::EditFile { .. } => "edit file",
            Self::ReadFile { .. } => "read file",
            Self::ReadEvery { .. } => "read every",
            Self::Run { .. } => "run",
            Self::RunBackground { .. } => "run in background",
            Self::CheckBackground => "check background",
            Self::WaitFor { .. } => "wait for",
            Self::Standby => "stand by",
            Self::Compact => "compact",
            Self::Topic { .. } => "topic",
        }
    }
}
