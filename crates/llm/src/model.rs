//! The interface between an agent and a model.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::conversation::{Block, ToolUse};
use crate::error::ModelError;
use crate::learned_settings::LearnedSettings;
use crate::request::Request;

/// A future on the heap, so that [`Model`] can be used as `dyn Model`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Receives the events of a reply. It must return quickly.
pub type EventSink<'a> = dyn FnMut(Event) + Send + 'a;

/// A language model, or a program that takes the place of one.
pub trait Model: Send + Sync {
    /// The name under which it was chosen, like `anthropic:NAME`.
    fn name(&self) -> &str;

    /// Requests the next turn. Its parts go to `events` as they come in; only the
    /// returned reply counts, and it has all of them.
    ///
    /// Temporary failures are retried, and reported as [`Event::Waiting`]. When `cancel` is cancelled the call ends at once with
    /// [`ModelError::Cancelled`], wherever it is.
    ///
    /// The clients of providers need a tokio runtime with its network and timers
    /// switched on.
    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// A part of a reply, or a wait for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    TextDelta(String),
    /// More of the model's thinking.
    ThinkingDelta(String),
    /// A tool use has begun; its arguments are still to come.
    ToolUseStarted {
        id: String,
        name: String,
    },
    /// The try failed, and another follows after a wait. All earlier events of the call are void.
    Waiting(Waiting),
    /// Another model is asked from now on. All earlier events of the call are void.
    Switched(Switch),
    /// The model does not accept images, or not those of the conversation. A text replaces each of them.
    ImagesHidden {
        model: String,
    },
    /// Whoever answers reports that so many billionths of a US dollar were spent since the last such event.
    Cost {
        nanos: u64,
    },
    /// What was learned from the server's refusals, now that it has answered.
    Learned(Box<LearnedSettings>),
}

/// A change of the model that is asked. It prints as `openai:b answers instead of anthropic:a
/// (overloaded)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The model that was asked before, by the name under which it was chosen.
    pub from: String,
    pub to: String,
    /// Why the one before could not be reached. Absent if a model is tried again that is preferred.
    pub reason: Option<WaitReason>,
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, reason } = self;
        match reason {
            Some(reason) => write!(f, "{to} answers instead of {from} ({reason})"),
            None => write!(f, "{to} is asked again instead of {from}"),
        }
    }
}

/// A wait before the next try. It prints as `waiting: rate limit, 12 s`, and as `waiting: budget`
/// where nobody knows how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Why the last try failed.
    pub reason: WaitReason,
    /// How long the wait is; if its end is unknown, the time until the next check.
    pub delay: Duration,
    pub failed_tries: u32,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting: {}", self.reason)?;
        if !self.reason.has_end() {
            return Ok(());
        }
        f.write_str(", ")?;
        if self.delay < Duration::from_secs(1) {
            write!(f, "{} ms", self.delay.as_millis())
        } else {
            write!(f, "{:.0} s", self.delay.as_secs_f64().ceil())
        }
    }
}

/// Why a try failed that may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitReason {
    /// Too many requests or tokens in a span of time.
    #[error("rate limit")]
    RateLimit,
    /// The provider has too much to do, or its model is still being loaded.
    #[error("overloaded")]
    Overloaded,
    #[error("server error {0}")]
    ServerError(u16),
    /// The server reported a failure of its own inside its reply.
    #[error("server error")]
    ErrorInReply,
    #[error("cannot connect")]
    CannotConnect,
    /// The reply ended before its end marker.
    #[error("stream cut")]
    StreamCut,
    /// No content came for [`ClientOptions::idle_timeout`](crate::ClientOptions::idle_timeout).
    #[error("no answer")]
    Silence,
    #[error("unreadable answer")]
    Unreadable,
    /// The reply said nothing and used no tool.
    #[error("empty answer")]
    Empty,
    /// Nothing was sent, because the budget is spent. The call goes on when the budget is raised.
    #[error("budget")]
    Budget,
    /// Nothing was sent yet: as many calls are under way as the team's limit allows.
    #[error("its turn to ask")]
    Turn,
}

impl WaitReason {
    /// Whether the wait ends at a known time. The others end on an event.
    const fn has_end(self) -> bool {
        !matches!(self, Self::Budget | Self::Turn)
    }
}

/// The model's next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What it says, in order, as it came.
    pub blocks: Vec<Block>,
    pub stop: StopReason,
    /// What it cost, if the server says so.
    pub usage: Option<Usage>,
    /// The model that answered, as the server names it; empty if it does not.
    pub model: String,
}

impl Reply {
    /// The tool uses, in order. Each needs a result in the next turn, also one
    /// that is not run.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }

    /// All text for a reader, in order.
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(Block::readable_text)
            .collect()
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It is done.
    EndTurn,
    /// It waits for the results of its tool uses. Set whenever there are any, since
    /// some servers name another reason.
    ToolUse,
    /// It reached the limit of the reply. A tool use at the end is marked as cut.
    MaxTokens,
    StopSequence,
    /// The provider made a pause. Append the turn and ask again with
    /// [`Request::resume`] set.
    Paused,
    /// It or its provider refused. No tool use of such a turn is to be run.
    Refusal {
        category: Option<String>,
        explanation: Option<String>,
    },
    /// The conversation fills the model's window: make it shorter.
    ContextWindowExceeded,
    /// Another reason, in the provider's words. The reply counts as complete.
    Other(String),
}

/// The tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was neither read from the cache nor written to it.
    pub input: u64,
    /// Output, including thinking.
    pub output: u64,
    /// Input that was read from the cache.
    pub cache_read: u64,
    /// Input that was written to the cache.
    pub cache_write: u64,
    /// How much of the output was thinking, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// How often the provider searched the web, which it charges for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub searches: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// The whole input, which is what fills the model's window.
    pub fn total_input(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_one_line() {
        let shown = |millis| {
            Waiting {
                reason: WaitReason::RateLimit,
                delay: Duration::from_millis(millis),
                failed_tries: 1,
            }
            .to_string()
        };
        assert_eq!(shown(11_600), "waiting: rate limit, 12 s");
        assert_eq!(shown(700), "waiting: rate limit, 700 ms");
        let budget = Waiting {
            reason: WaitReason::Budget,
            delay: Duration::from_secs(1),
            failed_tries: 0,
        };
        assert_eq!(budget.to_string(), "waiting: budget");
    }

    #[test]
    fn stop_reasons_and_usage_can_be_stored() {
        let stop = StopReason::Refusal {
            category: Some("cyber".into()),
            explanation: None,
        };
        let text = serde_json::to_string(&stop).unwrap();
        assert_eq!(serde_json::from_str::<StopReason>(&text).unwrap(), stop);
        let usage = Usage {
            input: 1,
            cache_read: 2,
            cache_write: 3,
            ..Usage::default()
        };
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), usage);
        assert_eq!(usage.total_input(), 6);
    }
}
