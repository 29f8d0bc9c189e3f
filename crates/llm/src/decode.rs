//! Decoding of replies, pure over byte slices.

use std::fmt;

use crate::anthropic::MessageAssembler;
use crate::conversation::Block;
use crate::failure::ErrorInfo;
use crate::limits::{ReplyLimit, clamp_usage};
use crate::model::{Event, Reply, StopReason, Usage};
use crate::openai::{ChatAssembler, ResponseAssembler};
use crate::provider_tools::searches;
use crate::sse::{MAX_EVENT_BYTES, SseError, SseParser};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a reply could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A payload is not the JSON that it should be.
    #[error("a piece of the reply cannot be read: {reason}")]
    Malformed { reason: String },
    /// The reply is an HTML page.
    #[error("the reply is an HTML page, not a model's answer; the address may be wrong")]
    NotAStream,
    /// The reply exceeds a limit.
    #[error("the reply is too large: {0}")]
    TooLarge(ReplyLimit),
    /// The reply ended before its end marker.
    #[error("the reply ended before its end marker")]
    Cut,
    /// The reply is complete, but has neither text nor a tool use.
    #[error("the reply says nothing and uses no tool")]
    Empty,
    /// The server reported an error inside the reply.
    #[error("the server failed inside its reply: {}", .0.message)]
    Server(Box<ErrorInfo>),
}

impl DecodeError {
    pub(crate) fn malformed(error: &serde_json::Error) -> Self {
        Self::Malformed {
            reason: error.to_string(),
        }
    }
}

/// Puts a reply together from the payloads of one wire format.
pub(crate) trait Assembler: Send {
    /// Takes one event of a stream.
    fn frame(
        &mut self,
        event: &[u8],
        data: &[u8],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError>;

    /// Takes a whole reply that did not come as a stream.
    fn whole(&mut self, body: &[u8], sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError>;

    /// Whether nothing more is to come.
    fn is_complete(&self) -> bool;

    /// How much of the content of a stream came so far: text, thinking and tool uses.
    fn content_bytes(&self) -> usize;

    /// The reply, if all of it came.
    fn reply(self: Box<Self>) -> Result<Reply, DecodeError>;
}

/// Decodes one reply that is taken in pieces of any size. Neither the events nor
/// the reply depend on where the pieces were cut.
///
/// Whether the reply is a stream or a plain JSON value is seen by its first
/// character, since the content type of some servers is wrong.
pub struct Decoder {
    body: Body,
    assembler: Box<dyn Assembler>,
    failed: Option<DecodeError>,
}

/// What the reply has turned out to be.
enum Body {
    /// Not known yet: so far there is only space.
    Start(Vec<u8>),
    Stream(SseParser),
    Plain(Vec<u8>),
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder for the Messages API.
    pub fn anthropic() -> Self {
        Self::new(Box::new(MessageAssembler::default()))
    }

    /// A decoder for Chat Completions. Tool uses that come without an id get one
    /// that is made from `salt`.
    pub fn openai(salt: u64) -> Self {
        Self::new(Box::new(ChatAssembler::new(salt)))
    }

    /// A decoder for the Responses API, with a salt for the same purpose.
    pub fn responses(salt: u64) -> Self {
        Self::new(Box::new(ResponseAssembler::new(salt)))
    }

    fn new(assembler: Box<dyn Assembler>) -> Self {
        Self {
            body: Body::Start(Vec::new()),
            assembler,
            failed: None,
        }
    }

    /// Takes the next bytes and passes the events in them to `sink`. After an error
    /// it returns the same error again.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.take(bytes, sink);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    /// Whether the end marker has come and nothing more is to be read.
    pub fn is_complete(&self) -> bool {
        self.assembler.is_complete()
    }

    /// How much of a reply came so far, in bytes. Space and keep-alive lines do not count.
    pub fn content_bytes(&self) -> usize {
        match &self.body {
            Body::Start(_) => 0,
            Body::Plain(body) => body.len(),
            Body::Stream(_) => self.assembler.content_bytes(),
        }
    }

    /// The reply, once all bytes were taken.
    pub fn finish(self) -> Result<Reply, DecodeError> {
        let mut assembler = self.assembler;
        if let Some(error) = self.failed {
            return Err(error);
        }
        // The events were sent before; here only the reply counts.
        let mut nobody = |_: Event| {};
        match self.body {
            Body::Start(_) => return Err(DecodeError::Cut),
            Body::Plain(body) => assembler.whole(&body, &mut nobody)?,
            Body::Stream(parser) => {
                let last = parser
                    .finish(&mut |frame| assembler.frame(frame.event, frame.data, &mut nobody));
                match last {
                    // A malformed last event means that the reply was cut off. The assembler reports that,
                    // because the end marker is missing.
                    Ok(()) | Err(SseError::Receiver(DecodeError::Malformed { .. })) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        assembler.reply()
    }

    fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        match &mut self.body {
            Body::Start(head) => {
                head.extend_from_slice(bytes);
                if head.len() > MAX_EVENT_BYTES {
                    return Err(DecodeError::TooLarge(ReplyLimit::Bytes));
                }
                let head = std::mem::take(head);
                self.body = match first_character(&head) {
                    None => {
                        self.body = Body::Start(head);
                        return Ok(());
                    }
                    Some(b'{') => Body::Plain(Vec::new()),
                    Some(b'<') => return Err(DecodeError::NotAStream),
                    Some(_) => Body::Stream(SseParser::new()),
                };
                self.take(&head, sink)
            }
            Body::Plain(body) => {
                body.extend_from_slice(bytes);
                if body.len() > MAX_EVENT_BYTES {
                    return Err(DecodeError::TooLarge(ReplyLimit::Bytes));
                }
                Ok(())
            }
            Body::Stream(parser) => {
                let assembler = &mut self.assembler;
                parser.push(bytes, &mut |frame| {
                    if assembler.is_complete() {
                        return Ok(());
                    }
                    assembler.frame(frame.event, frame.data, sink)
                })?;
                Ok(())
            }
        }
    }
}

impl From<SseError<Self>> for DecodeError {
    fn from(error: SseError<Self>) -> Self {
        match error {
            SseError::TooLarge => Self::TooLarge(ReplyLimit::Bytes),
            SseError::Receiver(error) => error,
        }
    }
}

/// The first byte that is neither space nor a byte order mark.
fn first_character(head: &[u8]) -> Option<u8> {
    if head.len() < BOM.len() && BOM.starts_with(head) {
        return None;
    }
    let head = head.strip_prefix(BOM).unwrap_or(head);
    head.trim_ascii_start().first().copied()
}

/// The body of a plain reply without the mark and the space around it.
pub(crate) fn trim_body(body: &[u8]) -> &[u8] {
    body.strip_prefix(BOM).unwrap_or(body).trim_ascii()
}

/// Completes a reply: sets the stop reason if tool uses await their results, marks a last tool use that was
/// cut off, and refuses an empty reply, unless the model has ended its turn with it.
pub(crate) fn complete_reply(
    mut blocks: Vec<Block>,
    stop: StopReason,
    usage: Option<Usage>,
    model: String,
) -> Result<Reply, DecodeError> {
    // Gateways put empty texts before tool uses, but refuse such texts when they come back.
    blocks.retain(|block| !matches!(block, Block::Text { text } if text.is_empty()));
    let uses_tools = blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)));
    let stop = match stop {
        StopReason::ToolUse | StopReason::Other(_) if says_nothing(&blocks) => {
            return Err(DecodeError::Empty);
        }
        StopReason::EndTurn | StopReason::Other(_) if uses_tools => StopReason::ToolUse,
        StopReason::ToolUse if !uses_tools => StopReason::EndTurn,
        other => other,
    };
    match stop {
        StopReason::MaxTokens | StopReason::ContextWindowExceeded => {
            if let Some(Block::ToolUse(tool_use)) = blocks.last_mut() {
                *tool_use = tool_use.clone().cut();
            }
        }
        _ => {}
    }
    let counted = searches(&blocks);
    let usage = usage.map(|usage| Usage {
        searches: usage.searches.max(counted),
        ..usage
    });
    Ok(Reply {
        blocks,
        stop,
        usage: usage.map(clamp_usage),
        model,
    })
}

/// Whether there is nothing but space and thoughts.
fn says_nothing(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match block {
        Block::Text { text } => text.trim().is_empty(),
        other => other.is_thought(),
    })
}
