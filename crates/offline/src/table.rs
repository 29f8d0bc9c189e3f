//! The table of verbs. `docs/models.md` shows each of them with the tools that it calls.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::words::{Kind, Token};

/// What a clause asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Ask,
    Broadcast,
    ChainTasks,
    CheckBackground,
    CheckInbox,
    ClaimTask,
    Compact,
    CompleteTask,
    Create,
    CreateChain,
    CreateTask,
    CreateTasks,
    Decide,
    EditFile,
    ListFiles,
    ListTasks,
    ListTeammates,
    ReadEvery,
    ReadFile,
    ReviewPlan,
    Run,
    RunInBackground,
    Send,
    ShowTask,
    Shutdown,
    ShutdownAll,
    Spawn,
    StandBy,
    SubmitPlan,
    /// Work that is named but not understood. A plan may be about it.
    #[default]
    Topic,
    WaitFor,
    WriteFile,
}

/// The patterns of clauses, see [`pattern`](crate::pattern). The first that fits decides.
#[rustfmt::skip]
pub(crate) const ROWS: &[(Verb, &str)] = &[
    (Verb::ChainTasks, "make|let|have them|these|tasks [tasks] depend on each other [in|that|order]"),
    (Verb::CreateChain, "create|add|make tasks [called|named|:] LIST in [that] order"),
    (Verb::CreateTasks, "create|add|make tasks [called|named|:] LIST"),
    (Verb::CreateTask, "create|add|make task [called|named|to|:] REST"),
    (Verb::ListTasks, "list|show|check [open] tasks|board"),
    (Verb::CompleteTask, "complete|finish|close task NUM"),
    (Verb::CompleteTask, "mark task NUM [as] completed|complete|done"),
    (Verb::ClaimTask, "claim|take task NUM"),
    (Verb::ShowTask, "show|get|read task NUM"),
    (Verb::Spawn, "spawn|hire|launch teammate|teammates|agents : LIST"),
    (Verb::Spawn, "spawn|hire|launch [teammate] LIST to|who|: REST"),
    (Verb::Spawn, "spawn|hire|launch LIST with [a|an|the|prompt|task|:] REST"),
    (Verb::Spawn, "spawn|hire|launch [teammate] LIST"),
    (Verb::Spawn, "create|add|start teammate|agent LIST"),
    (Verb::ListTeammates, "list|show|check teammates|team|members|roster"),
    (Verb::ShutdownAll, "shut|stop [down|whole] everyone|everybody|team|teammates [down]"),
    (Verb::ShutdownAll, "request shutdown of|for everyone|everybody|team|teammates"),
    (Verb::Shutdown, "request WHOSE shutdown"),
    (Verb::Shutdown, "request shutdown of|for NAMES"),
    (Verb::Shutdown, "shut NAMES down"),
    (Verb::Shutdown, "shut|stop [down] NAMES"),
    (Verb::Shutdown, "ask|tell NAMES to shut|stop [down]"),
    (Verb::Decide, "approve|reject [plan|request] ID [because|with|feedback|:] [REST]"),
    (Verb::Decide, "approve|reject WHOSE [plan|because|with|the|feedback|:] [REST]"),
    (Verb::ReviewPlan, "review|check WHOSE [plan]"),
    (Verb::ReviewPlan, "wait for WHOSE plan"),
    (Verb::SubmitPlan, "submit|propose|make|write|send [lead] plan [for|to|about|:] [REST]"),
    (Verb::Broadcast, "broadcast|send|say [message] TEXT to everyone|everybody|team|teammates"),
    (Verb::Broadcast, "tell everyone|everybody [that|:] REST"),
    (Verb::Broadcast, "broadcast [to|everyone|message|that|:] REST"),
    (Verb::Ask, "ask|tell|instruct|get NAMES to REST"),
    (Verb::Ask, "have|let|make NAMES WORK"),
    (Verb::Ask, "NAMES should|must WORK"),
    (Verb::Send, "tell|ask NAMES [that|:] REST"),
    (Verb::Send, "send|write|give NAMES message|note [saying|that|with|the|text|:] [REST]"),
    (Verb::Send, "send|write message|note to NAMES [saying|that|with|the|text|:] [REST]"),
    (Verb::Send, "say hello|hi to NAMES"),
    (Verb::Send, "send|say [the|a|message|saying|:] TEXT to NAMES"),
    (Verb::Send, "message|greet NAMES [:] [REST]"),
    (Verb::CheckInbox, "check|read|show|open [for|lead] inbox|mail|messages [for|messages|mail]"),
    (Verb::RunInBackground, "run|execute|start [the|command] TEXT in background"),
    (Verb::RunInBackground, "in background run|execute|start [the|command] REST"),
    (Verb::CheckBackground, "check|show|list [on] background [tasks|jobs|commands]"),
    (Verb::Run, "run|execute [the|shell|command|:] REST"),
    (Verb::EditFile, "replace TEXT with|by TEXT in [file] FILE"),
    (Verb::WriteFile, "write|put|save [the|text|word] TEXT to|into|in [file|called|named] FILE"),
    (Verb::WriteFile, "create|write|make [text|file|called|named] FILE containing|with [the|content|text|:] REST"),
    (Verb::Create, "create|write|make|build [text|file|called|named] FILE [file|page]"),
    (Verb::Create, "create|write|make|build [a|an|the|new|simple|small] TEXT"),
    (Verb::ReadEvery, "read every|all|each [of|the] [TEXT] file|files in|under [the|folder] DIR [one|by]"),
    (Verb::ReadEvery, "read every|all|each [of|the] [TEXT] file|files [here|one|by]"),
    (Verb::ListFiles, "list|show files in|under [folder] DIR"),
    (Verb::ListFiles, "list|show files [here]"),
    (Verb::ReadFile, "read|show|cat|open|print [file|contents|content] FILE"),
    (Verb::StandBy, "wait for [further|more|next] instructions|orders|work|mail|messages"),
    (Verb::StandBy, "report back [to|me|lead|when|once|you|are|done]"),
    (Verb::WaitFor, "wait for|until NAMES [to|finish|finishes|answer|reply|is|be|are|done|idle]"),
    (Verb::Compact, "compact|compress conversation|context"),
    (Verb::Topic, "your task|job [is|:] REST"),
    (Verb::Topic, "work on REST"),
];

/// Verbs about teammates. A clause begins at each of them, also inside work that is passed on.
const TEAM_VERBS: &str = "spawn hire ask tell have broadcast approve reject request shut review";

static VERBS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let first = ROWS.iter().filter_map(|(_, row)| row.split(' ').next());
    first.flat_map(|words| words.split('|')).collect()
});

/// Whether a pattern of the table begins with this word.
pub(crate) fn is_verb(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && VERBS.contains(token.lower.as_str())
}

pub(crate) fn is_team_verb(token: &Token<'_>) -> bool {
    token.is_any(TEAM_VERBS)
}
