//! The effects that the tools of leads and teammates declare, for those who have a name and no registry.

use crate::{
    AnswerRequest, Broadcast, ClaimTask, Idle, ListTeammates, PlanDecision, PlanSubmission,
    ReadInbox, ReadNotes, SendMessage, ShutdownAnswer, ShutdownLookup, ShutdownRequest,
    SpawnTeammate, Submit, TaskCreate, TaskGet, TaskList, TaskUpdate, WriteNote, WriteTodo,
};
use tools::{
    AskUser, BackgroundRun, Bash, CheckBackground, Compact, EditFile, Effect, Glob, Grep, ListDir,
    ReadFile, Tool, WriteFile,
};

type Declared = (&'static str, Effect);

const COMMON: &[Declared] = &[
    of::<Bash>(),
    of::<ReadFile>(),
    of::<WriteFile>(),
    of::<EditFile>(),
    of::<Grep>(),
    of::<Glob>(),
    of::<ListDir>(),
    of::<BackgroundRun>(),
    of::<CheckBackground>(),
    of::<AskUser>(),
    of::<Compact>(),
    of::<SendMessage>(),
    of::<ReadInbox>(),
    of::<ClaimTask>(),
    of::<TaskCreate>(),
    of::<TaskUpdate>(),
    of::<TaskList>(),
    of::<TaskGet>(),
    of::<WriteTodo>(),
    of::<WriteNote>(),
    of::<ReadNotes>(),
];

const LEAD: &[Declared] = &[
    of::<SpawnTeammate>(),
    of::<ListTeammates>(),
    of::<Broadcast>(),
    of::<ShutdownRequest>(),
    of::<ShutdownLookup>(),
    of::<PlanDecision>(),
    of::<AnswerRequest>(),
];

const TEAMMATE: &[Declared] = &[
    of::<ShutdownAnswer>(),
    of::<PlanSubmission>(),
    of::<Idle>(),
    of::<Submit>(),
];

/// What a tool that a lead can have may change.
pub fn lead_effect(tool: &str) -> Option<Effect> {
    find(LEAD, tool)
}

/// What a tool that a teammate can have may change.
pub fn teammate_effect(tool: &str) -> Option<Effect> {
    find(TEAMMATE, tool)
}

fn find(own: &[Declared], tool: &str) -> Option<Effect> {
    let mut all = COMMON.iter().chain(own);
    all.find(|(name, _)| *name == tool)
        .map(|(_, effect)| *effect)
}

const fn of<T: Tool>() -> Declared {
    (T::NAME, T::EFFECT)
}
