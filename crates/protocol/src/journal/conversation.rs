//! The records of a member's conversation with its model.

use super::kept::KeptMessages;
use super::session::SessionMark;
use crate::{MessageId, RequestId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::{self, Debug};

/// What every stored type can do.
pub trait Stored: Clone + Debug + Eq + Serialize + DeserializeOwned {}

impl<T: Clone + Debug + Eq + Serialize + DeserializeOwned> Stored for T {}

/// The types in which a program holds what a model said. Whoever asks models stores the types of
/// its client; everybody else reads [`Plain`].
pub trait ModelTypes: Clone + Debug + Eq {
    type Block: Stored;
    type Turn: Stored;
    type StopReason: Stored;
    type ToolResult: Stored;
    type Usage: Stored;
}

/// The stored form of a conversation for programs that only read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain;

impl ModelTypes for Plain {
    type Block = Block;
    type Turn = Turn;
    type StopReason = Value;
    type ToolResult = ToolResult;
    type Usage = Usage;
}

/// A record of a conversation, by its `kind`. Together they are the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "")]
pub enum ConversationRecord<M: ModelTypes = Plain> {
    User(UserRecord),
    Assistant(AssistantRecord<M>),
    Asked(AskedRecord),
    Started(StartedRecord),
    Result(ResultRecord<M>),
    Cleared(ClearedRecord),
    Compaction(CompactionRecord<M>),
    Ended(EndedRecord),
    Session(SessionMark),
}

impl<M: ModelTypes> ConversationRecord<M> {
    /// Reads a record of this kind; `None` if conversations have no such records.
    pub(super) fn read(kind: &str, bytes: &[u8]) -> Option<serde_json::Result<Self>> {
        Some(match kind {
            "user" => serde_json::from_slice(bytes).map(Self::User),
            "assistant" => serde_json::from_slice(bytes).map(Self::Assistant),
            "asked" => serde_json::from_slice(bytes).map(Self::Asked),
            "started" => serde_json::from_slice(bytes).map(Self::Started),
            "result" => serde_json::from_slice(bytes).map(Self::Result),
            "cleared" => serde_json::from_slice(bytes).map(Self::Cleared),
            "compaction" => serde_json::from_slice(bytes).map(Self::Compaction),
            "ended" => serde_json::from_slice(bytes).map(Self::Ended),
            "session" => serde_json::from_slice(bytes).map(Self::Session),
            _ => return None,
        })
    }
}

/// Messages were given to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRecord {
    pub messages: Vec<UserMessage>,
}

/// One message for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MessageSource>,
    /// May be empty: then the source is done with and the model sees nothing.
    pub text: String,
    /// Whether a person said it. Compactions keep it word for word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_from_person: bool,
    /// Images that a person sent along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// An image for the model.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

impl Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} characters", self.media_type, self.data.len())
    }
}

/// Where a message for the model comes from. Mail and prompts are given to the model once,
/// however often they are offered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageSource {
    /// A message of the journal's `mail` records, by its place among all of them, from 1 on.
    Mail(u64),
    /// The member's prompt, by the `prompt_id` of the roster.
    Prompt(MessageId),
    /// Background commands that have ended, by their ids.
    Commands(Vec<String>),
    /// How things stand around the member, read from disk when it was written.
    Reminder,
    /// The program, which asks the model to go on with a reply that was cut off.
    Continuation,
}

impl MessageSource {
    /// Whether the model must not get it twice.
    pub const fn is_given_once(&self) -> bool {
        match self {
            Self::Mail(_) | Self::Prompt(_) => true,
            Self::Commands(_) | Self::Reminder | Self::Continuation => false,
        }
    }
}

impl UserMessage {
    /// A message without a source.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            source: None,
            text: text.into(),
            is_from_person: false,
            images: Vec::new(),
        }
    }

    /// What a person said.
    pub fn from_person(text: impl Into<String>) -> Self {
        Self {
            is_from_person: true,
            ..Self::new(text)
        }
    }

    /// A message from a source.
    pub fn with_source(source: MessageSource, text: impl Into<String>) -> Self {
        Self {
            source: Some(source),
            ..Self::new(text)
        }
    }

    /// Whether compactions keep it word for word: the words of a person, and the prompt, which says
    /// what the member is for.
    pub const fn is_kept(&self) -> bool {
        self.is_from_person || matches!(self.source, Some(MessageSource::Prompt(_)))
    }
}

/// The model replied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct AssistantRecord<M: ModelTypes = Plain> {
    pub blocks: Vec<M::Block>,
    pub stop: M::StopReason,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub usage: Option<M::Usage>,
}

/// A tool call waits until a request is answered. Until it is started nothing of it was done, nor of the
/// calls behind it in the same reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedRecord {
    pub tool_use_id: String,
    pub request_id: RequestId,
}

/// A tool call that waited for an answer is about to be run. It may have been run by whoever reads this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedRecord {
    pub tool_use_id: String,
}

/// A tool call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ResultRecord<M: ModelTypes = Plain> {
    pub result: M::ToolResult,
    /// How long the call took.
    #[serde(default)]
    pub millis: u64,
    /// The background command that the call started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The mail that the result shows to the model, as in [`MessageSource::Mail`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<u64>,
}

impl<M: ModelTypes> ResultRecord<M> {
    /// The result of a call that was not run.
    pub const fn new(result: M::ToolResult) -> Self {
        Self {
            result,
            millis: 0,
            command: None,
            mail: Vec::new(),
        }
    }
}

/// Old tool results were replaced by placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedRecord {
    pub results: Vec<ClearedResult>,
}

/// A tool result that was replaced, by its place in the conversation since the last compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedResult {
    /// The turn, counted from 0.
    pub turn: usize,
    /// The block of the turn, counted from 0.
    pub block: usize,
    /// What stands in its place.
    pub placeholder: String,
}

/// The conversation was replaced by a shorter one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct CompactionRecord<M: ModelTypes = Plain> {
    /// Where the whole conversation can be read.
    pub archive: String,
    /// Whether the model summarised it; if not, only its newest part was kept.
    pub summarised: bool,
    /// The conversation from now on.
    pub turns: Vec<M::Turn>,
    /// What the summary cost, if known.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub usage: Option<M::Usage>,
    /// The kept messages that are among these turns, for the next compaction.
    #[serde(default, skip_serializing_if = "KeptMessages::is_empty")]
    pub kept: KeptMessages,
    /// The reminder that is among these turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<String>,
    /// The session of these turns, if the member has sessions. In another one nothing waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionMark>,
}

/// The turn ended without a reply to what the model was given last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedRecord {
    pub reason: String,
}

/// The lead was notified of the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRecord {
    /// Reports are counted from 1 on.
    pub n: u64,
}

/// A plan was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    pub request_id: RequestId,
    pub plan_hash: String,
}

/// The default of an optional field whose type has no default.
const fn none<T>() -> Option<T> {
    None
}

/// What one side says before the other side speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub role: Role,
    pub blocks: Vec<Block>,
}

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The program and its users, tool results included.
    User,
    /// The model.
    Assistant,
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Thinking {
        text: String,
        /// The provider's signature of the thought.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A thought that only the provider can read.
    RedactedThinking {
        data: String,
    },
    /// The model calls a tool.
    ToolUse {
        id: String,
        name: String,
        input: Value,
        /// Why the arguments cannot be used, if they cannot: then the tool was not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flaw: Option<String>,
        /// What the server attached to the call and wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extra_content: Option<Value>,
        /// The other fields of the item of the Responses API that the call came as.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Value>,
    },
    ToolResult(ToolResult),
    Image(Image),
    /// A block of a kind that only its provider knows.
    Opaque {
        provider: String,
        json: Value,
    },
}

impl Block {
    /// The text for a reader, if the block has any. An opaque block may have a `text`, or be a message of
    /// the Responses API, whose parts have it.
    pub fn readable_text(&self) -> Option<Cow<'_, str>> {
        let json = match self {
            Self::Text { text } => return Some(Cow::Borrowed(text)),
            Self::Opaque { json, .. } => json,
            Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolUse { .. }
            | Self::ToolResult(_)
            | Self::Image(_) => return None,
        };
        if let Some(text) = json["text"].as_str() {
            return Some(Cow::Borrowed(text));
        }
        if json["type"] != "message" {
            return None;
        }
        let parts = json["content"].as_array()?.iter();
        let text = |part: &Value| {
            let text = part["text"].as_str().or(part["refusal"].as_str());
            text.map(str::to_owned)
        };
        Some(Cow::Owned(parts.filter_map(text).collect()))
    }
}

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it belongs to.
    pub tool_use_id: String,
    pub content: String,
    #[serde(default)]
    pub is_error: bool,
    /// Images that belong to the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// How many tokens a call of the model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `output` that was spent on thinking, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Searches of the web by the provider, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searches: Option<u64>,
}
