//! The table of verbs. `docs/models.md` shows each of them with the tools that it calls.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::words::{Kind, Token};

/// What a clause asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Ask,
    /// A call of this tool. Its arguments are `key=value`, where the value is a slot of the pattern, the
    /// second `TEXT`, `FIRST` for the first content of a new file, `LS` for the command, or a text.
    Call(&'static str, &'static str),
    ChainTasks,
    CreateChain,
    CreateTasks,
    /// Approves a plan, or rejects it.
    Decide(bool),
    ReadEvery,
    ReviewPlan,
    Send,
    Shutdown,
    ShutdownAll,
    Spawn,
    StandBy,
    SubmitPlan,
    /// Work that is named but not understood. A plan may be about it.
    Topic,
    WaitFor,
}

/// The patterns of clauses, see [`pattern`](crate::pattern). The first that fits decides.
#[rustfmt::skip]
pub(crate) const ROWS: &[(Verb, &str)] = &[
    (Verb::ChainTasks, "make|let|have them|these|tasks [tasks] depend on each other [in|that|order]"),
    (Verb::CreateChain, "create|add|make tasks [called|named|:] LIST in [that] order"),
    (Verb::CreateTasks, "create|add|make tasks [called|named|:] LIST"),
    (Verb::CreateTasks, "create|add|make task [called|named|to|:] REST"),
    (Verb::Call("task_list", ""), "list|show|check [open] tasks|board"),
    (Verb::Call("task_update", "task_id=NUM status=completed"), "complete|finish|close task NUM"),
    (Verb::Call("task_update", "task_id=NUM status=completed"), "mark task NUM [as] completed|complete|done"),
    (Verb::Call("claim_task", "task_id=NUM"), "claim|take task NUM"),
    (Verb::Call("task_get", "task_id=NUM"), "show|get|read task NUM"),
    (Verb::Spawn, "spawn|hire|launch teammate|teammates|agents : LIST"),
    (Verb::Spawn, "spawn|hire|launch [teammate] LIST to|who|: REST"),
    (Verb::Spawn, "spawn|hire|launch LIST with [a|an|the] TEXT task"),
    (Verb::Spawn, "spawn|hire|launch LIST with [a|an|the|prompt|task|:] REST"),
    (Verb::Spawn, "spawn|hire|launch [teammate] LIST"),
    (Verb::Spawn, "create|add|start teammate|agent LIST"),
    (Verb::Call("list_teammates", ""), "list|show|check teammates|team|members|roster"),
    (Verb::ShutdownAll, "shut|stop [down|whole] everyone|everybody|team|teammates [down]"),
    (Verb::ShutdownAll, "request shutdown of|for everyone|everybody|team|teammates"),
    (Verb::Shutdown, "request WHOSE shutdown"),
    (Verb::Shutdown, "request shutdown of|for NAMES"),
    (Verb::Shutdown, "shut NAMES down"),
    (Verb::Shutdown, "shut|stop [down] NAMES"),
    (Verb::Shutdown, "ask|tell NAMES to shut|stop [down]"),
    (Verb::Decide(true), "approve [plan|request] ID [because|with|feedback|:] [REST]"),
    (Verb::Decide(false), "reject [plan|request] ID [because|with|feedback|:] [REST]"),
    (Verb::Decide(true), "approve WHOSE [plan|because|with|the|feedback|:] [REST]"),
    (Verb::Decide(false), "reject WHOSE [plan|because|with|the|feedback|:] [REST]"),
    (Verb::ReviewPlan, "review|check WHOSE [plan]"),
    (Verb::ReviewPlan, "wait for WHOSE plan"),
    (Verb::SubmitPlan, "submit|propose|make|write|send [lead] plan [for|to|about|:] [REST]"),
    (Verb::Call("broadcast", "content=TEXT"), "broadcast|send|say [message] TEXT to everyone|everybody|team|teammates"),
    (Verb::Call("broadcast", "content=TEXT"), "tell everyone|everybody [that|:] REST"),
    (Verb::Call("broadcast", "content=TEXT"), "broadcast [to|everyone|message|that|:] REST"),
    (Verb::Ask, "ask|tell|instruct|get NAMES to REST"),
    (Verb::Ask, "have|let|make NAMES WORK"),
    (Verb::Ask, "NAMES should|must WORK"),
    (Verb::Send, "tell|ask NAMES [that|:] REST"),
    (Verb::Send, "send|write|give NAMES message|note [saying|that|with|the|text|:] [REST]"),
    (Verb::Send, "send|write message|note to NAMES [saying|that|with|the|text|:] [REST]"),
    (Verb::Send, "say hello|hi to NAMES"),
    (Verb::Send, "send|say [the|a|message|saying|:] TEXT to NAMES"),
    (Verb::Send, "message|greet NAMES [:] [REST]"),
    (Verb::Call("read_inbox", ""), "check|read|show|open [for|lead] inbox|mail|messages [for|messages|mail]"),
    (Verb::Call("background_run", "command=TEXT"), "run|execute|start [the|command] TEXT in background"),
    (Verb::Call("background_run", "command=TEXT"), "in background run|execute|start [the|command] REST"),
    (Verb::Call("check_background", ""), "check|show|list [on] background [tasks|jobs|commands]"),
    (Verb::Call("bash", "command=TEXT"), "run|execute [the|shell|command|:] REST"),
    (Verb::Call("edit_file", "path=FILE old_text=TEXT new_text=SECOND"), "replace TEXT with|by TEXT in [file] FILE"),
    (Verb::Call("write_file", "path=FILE content=TEXT"), "write|put|save [the|text|word] TEXT to|into|in [file|called|named] FILE"),
    (Verb::Call("write_file", "path=FILE content=TEXT"), "create|write|make [text|file|called|named] FILE containing|with [the|content|text|:] REST"),
    (Verb::Call("write_file", "path=FILE content=FIRST"), "create|write|make|build [text|file|called|named] FILE [file|page]"),
    (Verb::Call("write_file", "path=server_config.json content=FIRST"), "create|write|make|build server config"),
    (Verb::ReadEvery, "read every|all|each [of|the] [TEXT] file|files in|under [the|folder] DIR [one|by]"),
    (Verb::ReadEvery, "read every|all|each [of|the] [TEXT] file|files [here|one|by]"),
    (Verb::Call("bash", "command=LS"), "list|show files in|under [folder] DIR"),
    (Verb::Call("bash", "command=LS"), "list|show files [here]"),
    (Verb::Call("read_file", "path=FILE"), "read|show|cat|open|print [file|contents|content] FILE"),
    (Verb::StandBy, "wait for [further|more|next] instructions|orders|work|mail|messages"),
    (Verb::StandBy, "report back [to|me|lead|when|once|you|are|done]"),
    (Verb::WaitFor, "wait for|until NAMES [to|finish|finishes|answer|reply|is|be|are|done|idle]"),
    (Verb::Call("compact", ""), "compact|compress conversation|context"),
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
    token.kind == Kind::Word && VERBS.contains(token.text.to_lowercase().as_str())
}

pub(crate) fn is_team_verb(token: &Token<'_>) -> bool {
    token.is_any(TEAM_VERBS)
}
