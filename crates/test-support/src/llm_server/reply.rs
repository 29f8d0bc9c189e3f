//! Replies that a test queues.

use std::collections::BTreeMap;

use serde_json::Value;

use super::gate::Gate;

/// A reply that a test queues: a turn of a model, or a fault.
///
/// A turn is sent in the wire format of the request, as a stream with one chunk
/// an event. Chunks are counted from 0.
#[derive(Clone, Debug)]
pub struct ServerReply {
    pub(super) content: Content,
    pub(super) headers: Vec<(String, String)>,
    pub(super) content_type: Option<String>,
    pub(super) head_gate: Option<Gate>,
    pub(super) gates: BTreeMap<usize, Gate>,
    pub(super) cut_after: Option<usize>,
    pub(super) corrupt: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Turn(TurnSpec),
    Error {
        status: u16,
        kind: String,
        message: String,
    },
    Raw {
        status: u16,
        chunks: Vec<Vec<u8>>,
    },
    Close,
}

/// A turn of a model, in no wire format.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnSpec {
    pub(super) blocks: Vec<Spoken>,
    pub(super) stop: Option<String>,
    pub(super) usage: Option<[u64; 4]>,
    pub(super) plain: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Spoken {
    Text(String),
    Thinking { text: String, signature: String },
    Call { name: String, input: Value },
}

/// A summary of a conversation that has all the parts that agents ask for, each with this text.
pub fn summary_text(text: &str) -> String {
    let parts = ["Goal", "Done", "Files", "Open points", "Next step"];
    parts.map(|part| format!("## {part}\n{text}")).join("\n")
}

impl ServerReply {
    /// An empty turn.
    pub fn new() -> Self {
        Self::of(Content::Turn(TurnSpec::default()))
    }

    /// A turn with one text.
    pub fn text(text: &str) -> Self {
        Self::new().say(text)
    }

    /// The answer to a request for a summary, with all parts that it must have.
    pub fn summary(text: &str) -> Self {
        Self::text(&summary_text(text))
    }

    /// A turn that uses tools, each by name and input.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        calls
            .into_iter()
            .fold(Self::new(), |reply, (name, input)| reply.call(name, input))
    }

    /// A turn that begins with thinking.
    pub fn thinking(text: &str, signature: &str) -> Self {
        Self::new().think(text, signature)
    }

    /// An error with this status, kind and message, in the form of the wire.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::of(Content::Error {
            status,
            kind: kind.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Status 429, with the header `retry-after` if it is given.
    pub fn rate_limited(retry_after: Option<&str>) -> Self {
        let reply = Self::error(429, "rate_limit_error", "slow down");
        match retry_after {
            Some(value) => reply.header("retry-after", value),
            None => reply,
        }
    }

    /// Status 529.
    pub fn overloaded() -> Self {
        Self::error(529, "overloaded_error", "Overloaded")
    }

    /// Status 500.
    pub fn failed() -> Self {
        Self::error(500, "api_error", "Internal server error")
    }

    /// Any bytes with any status.
    pub fn raw(status: u16, content_type: &str, chunks: &[&str]) -> Self {
        let chunks = chunks.iter().map(|chunk| chunk.as_bytes().to_vec());
        Self::of(Content::Raw {
            status,
            chunks: chunks.collect(),
        })
        .content_type(content_type)
    }

    /// The connection is closed without an answer.
    pub fn closed() -> Self {
        Self::of(Content::Close)
    }

    /// Adds a text to a turn.
    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.speak(Spoken::Text(text.to_owned()))
    }

    /// Adds thinking to a turn.
    #[must_use]
    pub fn think(self, text: &str, signature: &str) -> Self {
        self.speak(Spoken::Thinking {
            text: text.to_owned(),
            signature: signature.to_owned(),
        })
    }

    /// Adds a tool use to a turn. The server makes its id.
    #[must_use]
    pub fn call(self, name: &str, input: Value) -> Self {
        self.speak(Spoken::Call {
            name: name.to_owned(),
            input,
        })
    }

    /// Sets the stop reason of a turn, as the wire format names it. Without it the
    /// reason is the usual one.
    #[must_use]
    pub fn stop(mut self, reason: &str) -> Self {
        self.turn().stop = Some(reason.to_owned());
        self
    }

    /// Sets the usage of a turn: input outside of the cache, output, read from
    /// the cache, written to the cache. Without it there is a usual one.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        self.turn().usage = Some([input, output, cache_read, cache_write]);
        self
    }

    /// Sends the turn as one JSON value instead of a stream.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.turn().plain = true;
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends another content type than the right one.
    #[must_use]
    pub fn content_type(mut self, value: &str) -> Self {
        self.content_type = Some(value.to_owned());
        self
    }

    /// Waits before the first byte of the answer until the gate is open.
    #[must_use]
    pub fn gate_head(mut self, gate: &Gate) -> Self {
        self.head_gate = Some(gate.clone());
        self
    }

    /// Waits before a chunk until the gate is open.
    #[must_use]
    pub fn gate(mut self, chunk: usize, gate: &Gate) -> Self {
        self.gates.insert(chunk, gate.clone());
        self
    }

    /// Closes the connection after so many chunks.
    #[must_use]
    pub fn cut_after(mut self, chunks: usize) -> Self {
        self.cut_after = Some(chunks);
        self
    }

    /// Sends a chunk whose JSON is torn in the place of this one.
    #[must_use]
    pub fn corrupt(mut self, chunk: usize) -> Self {
        self.corrupt = Some(chunk);
        self
    }

    fn of(content: Content) -> Self {
        Self {
            content,
            headers: Vec::new(),
            content_type: None,
            head_gate: None,
            gates: BTreeMap::new(),
            cut_after: None,
            corrupt: None,
        }
    }

    fn speak(mut self, spoken: Spoken) -> Self {
        self.turn().blocks.push(spoken);
        self
    }

    fn turn(&mut self) -> &mut TurnSpec {
        match &mut self.content {
            Content::Turn(turn) => turn,
            other => panic!("{other:?} is not a turn"),
        }
    }
}

impl Default for ServerReply {
    fn default() -> Self {
        Self::new()
    }
}
