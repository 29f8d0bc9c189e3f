//! What an agent needs from the program around it.

use std::error::Error;
use std::time::Duration;

use llm::{BoxFuture, CancellationToken, Switch, ToolUse, Usage, Waiting};
use protocol::{RequestId, UserMessage};
use tools::{Access, Effect, ToolError, ToolOutput};

use crate::record::Record;

/// The storage of a conversation.
pub trait Log: Send {
    /// Commits a record. When this returns `Ok`, a later process finds it. With a compaction the records
    /// before it move to the archive that it names.
    fn append(&mut self, record: &Record) -> Result<(), LogError>;

    /// Where the records so far are going to be after the next compaction, in a form that the model can use.
    fn next_archive(&self) -> Result<String, LogError>;

    /// The path of the file with the records since the last compaction, in a form that the model can use.
    fn records_path(&self) -> String;
}

/// A record or an archive could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the conversation")]
pub struct LogError(#[source] Box<dyn Error + Send + Sync>);

impl LogError {
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

/// Has messages for the model. The methods return at once, with nothing if there is nothing.
///
/// A message counts as delivered when a record with its source was appended to the log. Until then it
/// may be offered again; afterwards it is left out.
pub trait Sources: Send {
    /// Messages to insert after the results of tools, while the model is busy.
    fn after_tools(&mut self) -> Vec<UserMessage>;

    /// Messages to take when the model would stop. It stops if there are none.
    fn when_stopping(&mut self) -> Vec<UserMessage>;
}

/// The program around an agent.
pub trait Host: Log + Sources {
    /// The prompt of the next request, made anew from what is true now.
    fn prompt(&mut self) -> Prompt;

    /// The work that the agent holds, word for word, such as its task: what must be in the conversation
    /// after it was compacted, whatever a summary says.
    fn open_work(&mut self) -> Option<String> {
        None
    }

    /// Is called before anything is decided about a call, and again by a process that goes on with one that was
    /// asked about. May return other arguments for it, a JSON object. When `cancel` is cancelled it must return
    /// soon.
    fn before_call<'a>(
        &'a mut self,
        tool_use: &'a ToolUse,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<String>> {
        let _ = (tool_use, cancel);
        Box::pin(std::future::ready(None))
    }

    /// Is called with each call that was run, when its result is in the log.
    fn after_call<'a>(
        &'a mut self,
        call: EndedCall<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()> {
        let _ = (call, cancel);
        Box::pin(std::future::ready(()))
    }

    /// Is called when the model would stop with this text and there is nothing else for it. `times` says how
    /// often this has kept the turn going already. What it returns keeps it going once more.
    fn before_stop<'a>(
        &'a mut self,
        text: &'a str,
        times: u32,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<UserMessage>> {
        let _ = (text, times, cancel);
        Box::pin(std::future::ready(None))
    }

    /// Whether a tool may be run, and what the call may do. `effect` is absent if there is no such tool.
    fn may_run(&mut self, tool_use: &ToolUse, effect: Option<Effect>) -> MayRun {
        let _ = (tool_use, effect);
        MayRun::Yes(Access::default())
    }

    /// Asks about a call under the id that [`MayRun::Ask`] had, and waits for the answer. The id is in the
    /// log before this is called, and it is called again with the same id by a process that goes on with the
    /// call. When `cancel` is cancelled it must return soon.
    fn ask<'a>(
        &'a mut self,
        call: AskedCall<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Answered> {
        let _ = cancel;
        let text = format!("{} was not run: nobody can be asked", call.tool_use.name);
        Box::pin(std::future::ready(Answered::NotRun(ToolOutput::error(
            text,
        ))))
    }

    /// Is called with each event of a turn. It must return quickly.
    fn event(&mut self, event: Event) {
        let _ = event;
    }
}

/// Whether a tool call may run.
#[derive(Clone, Debug)]
pub enum MayRun {
    Yes(Access),
    /// It is not run, and the model is told why.
    No(ToolError),
    /// Somebody has to be asked, under this id.
    Ask(RequestId),
}

/// A call that somebody is asked about.
#[derive(Clone, Copy, Debug)]
pub struct AskedCall<'a> {
    pub tool_use: &'a ToolUse,
    pub effect: Option<Effect>,
    pub request_id: &'a RequestId,
}

/// A call that was run, with its output.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    pub tool_use: &'a ToolUse,
    pub text: &'a str,
    pub is_error: bool,
}

/// What came of asking about a call.
#[derive(Clone, Debug)]
pub enum Answered {
    /// It is run now.
    Run {
        access: Access,
        /// What the model is told in front of the output.
        remark: Option<String>,
    },
    /// It is not run, and this is its result.
    NotRun(ToolOutput),
    /// There is no answer yet, and the turn ends. The next one goes on waiting.
    StillWaiting,
}

/// What goes into a request besides the conversation, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Who the model is and what rules it has.
    pub system: String,
    /// How many bytes at the start of the system text other agents of the team have too, or zero.
    pub shared_system: usize,
    /// What changes often. It becomes a message of the conversation when it has changed and there is
    /// other input, see [`Agent::remind`](crate::Agent).
    pub reminder: Option<String>,
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Text(String),
    /// More of the model's thinking.
    Thinking(String),
    /// A call of the model failed and is tried again. All text of the call is void.
    Waiting(Waiting),
    /// Another model is asked from now on. All text of the call is void.
    Switched(Switch),
    /// This model takes no images, or not those of the conversation. It reads what they are instead.
    ImagesHidden {
        model: String,
    },
    /// A call of the model has ended.
    Replied {
        /// The model that answered, as its server names it.
        model: String,
        /// The tokens, if the server reported them.
        usage: Option<Usage>,
    },
    ToolStarted {
        id: String,
        name: String,
        arguments: String,
    },
    /// A tool has ended, or was refused.
    ToolFinished {
        id: String,
        name: String,
        text: String,
        /// Whether the output reports a failure.
        is_error: bool,
        took: Duration,
    },
    Compacting,
    Compacted {
        /// Where the whole conversation can be read.
        archive: String,
        /// Whether the model summarised it; if not, only its newest part was kept.
        summarised: bool,
    },
}
