//! The table: a pattern, and what a clause that fits it asks for. The first row
//! that fits wins.

use super::super::intent::Intent;
use super::Sentence;
use super::build::{
    append, approve, await_plan, background, broadcast, chain, chained_tasks, complete, create,
    delete, empty, inbox, list_files, list_tasks, list_teammates, one_task, read, reject, run,
    send, shutdown, shutdown_all, submit_plan, tasks, topic, write,
};

type Row = (&'static str, fn(&Sentence<'_>) -> Option<Intent>);

/// All rows.
pub(super) const ROWS: &[Row] = &[
    (
        "make|let|have them|these|the [three] [tasks] depend on each other [in] [that] [order|sequence]",
        chain,
    ),
    (
        "make|let|have each task|one|of [them] depend on the one|task|previous [before] [it] [one|task]",
        chain,
    ),
    ("chain them|the|these [tasks]", chain),
    (
        "create|add|make NUM [new] tasks that depend on each other [in] [order] [:] REST",
        chained_tasks,
    ),
    (
        "create|add|make NUM dependent|chained tasks [:] REST",
        chained_tasks,
    ),
    (
        "create|add|make NUM [new] tasks [:] [called|named] [:] REST",
        tasks,
    ),
    ("create|add|make [the|some] [new] tasks [:] REST", tasks),
    (
        "create|add|make [a|the|one] [new] task [:] [called|named|titled] [to] REST",
        one_task,
    ),
    (
        "list|show|check [me] [all] [the] [open] tasks|board|task [board|list]",
        list_tasks,
    ),
    ("mark task NUM [as] completed|complete|done", complete),
    ("complete|finish|close task NUM", complete),
    ("claim|take task NUM", |s| {
        Some(Intent::ClaimTask { id: s.number()? })
    }),
    ("show|get|read [me] task NUM", |s| {
        Some(Intent::ShowTask { id: s.number()? })
    }),
    ("spawn|hire|launch REST", |s| s.hires(false)),
    ("start|create|add|make REST", |s| s.hires(true)),
    (
        "list|show|check [me] [all] [the] [my] teammates|team|members|roster [status]",
        list_teammates,
    ),
    ("who is on|in the team", list_teammates),
    (
        "shut|shutdown|stop [down] [all|everyone] [of] [the] [whole|entire] all|everyone|everybody|team|teammates [down]",
        shutdown_all,
    ),
    (
        "request [the] shutdown of|for|from all|everyone [the] [teammates]",
        shutdown_all,
    ),
    ("request POSS shutdown", shutdown),
    ("request [a|the] shutdown of|for|from NAMES", shutdown),
    ("request that NAMES shut|shuts down", shutdown),
    ("shut NAMES down", shutdown),
    ("shut down NAMES", shutdown),
    ("shutdown|stop NAMES", shutdown),
    (
        "ask|tell NAMES to shut|shutdown|stop [down] [gracefully]",
        shutdown,
    ),
    (
        "reject POSS plan [with] [the] [feedback|reason|because|:] [:] REST",
        reject,
    ),
    ("reject POSS plan", reject),
    (
        "reject it|them [with] [the] [feedback|reason|because|:] [:] REST",
        reject,
    ),
    ("reject it|them", reject),
    (
        "reject the plan of|from|by NAME [with] [feedback|because|:] [:] REST",
        reject,
    ),
    ("reject the plan of|from|by NAME", reject),
    (
        "reject [the] [request|plan] ID [with] [feedback|because|:] [:] REST",
        reject,
    ),
    ("reject [the] [request|plan] ID", reject),
    ("approve POSS plan", approve),
    ("approve it|them", approve),
    (
        "approve it|them with [the] [feedback|words|:] [:] REST",
        approve,
    ),
    (
        "approve POSS plan with [the] [feedback|words|:] [:] REST",
        approve,
    ),
    ("review it|them", await_plan),
    ("approve the plan of|from|by NAME", approve),
    ("approve [the] [request|plan] ID", approve),
    ("review|check POSS plan", await_plan),
    ("wait for POSS plan", await_plan),
    (
        "submit|send|propose|make|write|prepare [me] [us] [the] [lead] a|the|your|an [revised] plan [for|to|about|:] REST",
        submit_plan,
    ),
    (
        "submit|send|propose|make|write|prepare [me] [us] [the] [lead] a|the|your|an [revised] plan",
        submit_plan,
    ),
    (
        "broadcast TEXT to [all|everyone|everybody] [of] [the|my] all|everyone|everybody|team|teammates|members",
        broadcast,
    ),
    (
        "broadcast [to] [everyone|all] [the] [message] [that] [:] REST",
        broadcast,
    ),
    (
        "send|say [the] [message] TEXT to [all|everyone|everybody] [of] [the] all|everyone|everybody|team|teammates",
        broadcast,
    ),
    ("tell everyone|everybody [that] [:] REST", broadcast),
    ("ask|tell|instruct|get NAMES to REST", |s| s.delegate(false)),
    ("have|let|make NAMES REST", |s| s.delegate(true)),
    ("NAMES should|must|shall [now] REST", |s| s.delegate(true)),
    ("tell NAMES [that] [:] REST", send),
    ("ask NAMES [:] REST", send),
    (
        "send|write|give NAMES a|the|another [short] message|note|greeting|mail [saying|reading|that|with|:] [says] [the] [text] [:] REST",
        send,
    ),
    (
        "send|write|give NAMES a|the|another [short] message|note|greeting|mail",
        send,
    ),
    (
        "send|write a|the|another [short] message|note|greeting|mail to NAMES [saying|reading|that|with|:] [says] [the] [text] [:] REST",
        send,
    ),
    (
        "send|write a|the|another [short] message|note|greeting|mail to NAMES",
        send,
    ),
    ("send|write a|the message [saying|:] TEXT to NAMES", send),
    ("say hello|hi to NAMES", |s| {
        Some(Intent::Send {
            to: s.names()?,
            text: None,
        })
    }),
    ("send|say [the] [message] TEXT to NAMES", send),
    ("reply to NAMES [with|:] [:] REST", send),
    ("message NAMES [:] REST", send),
    ("message|greet NAMES", send),
    (
        "check|read|show|open|look [at|in|into|me] [the|my|your] [lead|lead's] inbox|mail|messages|mailbox [for] [any] [new] [messages|mail]",
        inbox,
    ),
    ("what is in [the|my|your] inbox|mail", inbox),
    ("check for [any] [new] messages|mail", inbox),
    (
        "run|execute|start [the] [command] TEXT in|as [the|a] background [job|task|process]",
        background,
    ),
    (
        "in the background run|execute|start [the] [command] REST",
        background,
    ),
    ("run|execute|start in the background [:] REST", background),
    (
        "check|show|list [on|me] [the] background [tasks|jobs|commands|job|command]",
        |_| Some(Intent::CheckBackground),
    ),
    ("run|execute [the] [shell] [command] [:] REST", run),
    ("replace TEXT with|by TEXT in [the] [file] FILE", |s| {
        Some(Intent::EditFile {
            path: s.file()?,
            old: s.plain("TEXT", 0)?,
            new: s.plain("TEXT", 1)?,
        })
    }),
    (
        "write|put|save [the] [text|word|words] TEXT to|into|in [a|the] [new] [file] [called|named] FILE",
        write,
    ),
    (
        "create|write|make|save [a|an|the] [new] [text] [file] [called|named] FILE [file] containing|saying|with [the] [content|contents|text|word|:] [:] REST",
        write,
    ),
    (
        "append|add [the] [text|line] TEXT to [the] [file] FILE",
        append,
    ),
    ("delete|remove [the] [file] FILE", delete),
    (
        "create|make|write an|the empty file [called|named] FILE",
        empty,
    ),
    (
        "create|write|make|build [a|an|the] [new] [simple|small|basic] [text|empty] [file] [called|named] FILE [file|page]",
        create,
    ),
    (
        "create|write|make|build a|an|the [new] [simple|small|basic] TEXT",
        |s| s.artefact(),
    ),
    (
        "read every|all|each [of] [the] file|files in|under|of [the] [folder|directory] DIR [folder|directory] [one] [by] [one]",
        |s| s.every(),
    ),
    (
        "read every|all|each [of] [the] TEXT file|files in|under|of [the] [folder|directory] DIR [folder|directory] [one] [by] [one]",
        |s| s.every(),
    ),
    (
        "read every|all|each [of] [the] TEXT file|files [here] [one] [by] [one]",
        |s| s.every(),
    ),
    (
        "list|show [me] [all] [the] files in|of|under [the] [folder|directory] DIR",
        list_files,
    ),
    ("list|show [me] [all] [the] files [here]", list_files),
    (
        "read|show|cat|open|print [me] [the] [file|contents|content] [of] FILE",
        read,
    ),
    (
        "wait for|until [the] [further|more|next|your|any] instructions|orders|work|mail|messages [from] [the] [lead]",
        |_| Some(Intent::Standby),
    ),
    (
        "report back [to] [me|the] [lead] [when|once] [you] [are] [done|finished]",
        |_| Some(Intent::Standby),
    ),
    ("stand by", |_| Some(Intent::Standby)),
    (
        "wait for [the] [a] decision|approval [on|of] [it|your] [plan]",
        |_| Some(Intent::Standby),
    ),
    (
        "wait for|until NAMES [to] [finish|finishes|answer|reply|is|be|are] [done|idle|finished]",
        |s| Some(Intent::WaitFor { names: s.names()? }),
    ),
    ("compact|compress [the|your] [conversation|context]", |_| {
        Some(Intent::Compact)
    }),
    ("your task|job is [:] REST", topic),
    ("your task|job [:] REST", topic),
    ("work on REST", topic),
];
