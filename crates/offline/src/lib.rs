//! A model that needs no server: it follows plain instructions by a table of verbs.
//!
//! It is no LLM, and says so. It reads instructions from its prompt, its mail and its task, and
//! makes the tool calls that a model would make. What it does not understand it names.
//!
//! # Theory of operation
//!
//! An instruction is cut into clauses at `.`, `;`, `then`, and at `and` or a comma before a verb
//! (`parse`). `table` has the patterns of clauses, `pattern` their notation, `plan` what each verb does.
//!
//! The model keeps nothing between requests. Each time it replays the events (`event`) of the
//! conversation (`follower`): an instruction starts a job, a tool result answers the call of one,
//! mail ends a wait. The call that is then next is the reply, one a turn; if all jobs wait or are
//! finished, the report is. When the conversation is compacted, the summary is the list of the
//! events that are not finished, and the next request replays those.
//!
//! A teammate reports to the sender of each message it follows, once. Such an answer begins with
//! `Re:` and is never answered itself; broadcasts and notices are not answered either.
//!
//! **Invariant:** the reply is a function of the request alone.
//!
//! **Invariant:** a call that failed is reported and not made again, except once after an
//! interruption and after a plan that a refusal asked for.

mod event;
mod follower;
mod identity;
mod job;
mod mail;
mod names;
mod parse;
mod pattern;
mod plan;
mod quotes;
mod report;
mod table;

use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    StopReason, ToolChoice, ToolUse, Turn, Usage,
};

use follower::Follower;
use identity::Identity;
use job::Call;

const NAME: &str = "offline";
const CALL_ID: &str = "offline_";

/// Follows plain instructions, see the [crate's documentation](crate).
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel;

impl OfflineModel {
    /// The next turn: one call, or a text.
    pub fn reply(&self, request: &Request) -> Reply {
        let (block, stop) = next(request);
        Reply {
            usage: Some(estimate(request, &block)),
            blocks: vec![block],
            stop,
            model: NAME.to_owned(),
        }
    }
}

impl Model for OfflineModel {
    fn name(&self) -> &str {
        NAME
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            request.validate()?;
            let reply = self.reply(request);
            match reply.tool_uses().next() {
                Some(ToolUse { id, name, .. }) => events(Event::ToolUseStarted {
                    id: id.clone(),
                    name: name.clone(),
                }),
                None => events(Event::TextDelta(reply.text())),
            }
            Ok(reply)
        })
    }
}

/// The call that comes next, or the text that ends the turn.
fn next(request: &Request) -> (Block, StopReason) {
    if let Some(events) = events_to_summarise(request) {
        return (Block::text(event::summary(events)), StopReason::EndTurn);
    }
    let mut follower = Follower::default();
    follower.me = Identity::of(request);
    for event in event::of_turns(&request.turns) {
        follower.replay(event);
    }
    match follower.next_call() {
        Some((_, Call(tool, input))) if request.tool_choice != ToolChoice::None => {
            let tool_use = ToolUse::new(free_id(request), tool, &input.to_string());
            (Block::ToolUse(tool_use), StopReason::ToolUse)
        }
        _ => (Block::text(follower.report()), StopReason::EndTurn),
    }
}

/// The events of the conversation, if its last block asks for a summary of it.
fn events_to_summarise(request: &Request) -> Option<Vec<event::Event>> {
    let (last, before) = request.turns.split_last()?;
    let (question, rest) = last.blocks.split_last()?;
    let Block::Text { text } = question else {
        return None;
    };
    text.starts_with("<summary-request>").then_some(())?;
    let last = Turn {
        role: last.role,
        blocks: rest.to_vec(),
    };
    Some(event::of_turns(&[before, &[last]].concat()))
}

/// An id that no tool use of the conversation has.
fn free_id(request: &Request) -> String {
    let blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
    let numbers = blocks.filter_map(|block| match block {
        Block::ToolUse(used) => used.id.strip_prefix(CALL_ID)?.parse::<u64>().ok(),
        _ => None,
    });
    format!("{CALL_ID}{}", numbers.max().unwrap_or(0).saturating_add(1))
}

/// A guess at the tokens that a real model would count: a quarter of the bytes.
fn estimate(request: &Request, reply: &Block) -> Usage {
    let tokens = |text: &str| text.len().div_ceil(4) as u64;
    let json = |turns: &[Turn]| serde_json::to_string(turns).unwrap_or_default();
    Usage {
        input: tokens(&request.system) + tokens(&json(&request.turns)),
        output: tokens(&json(&[Turn::assistant(vec![reply.clone()])])),
        ..Usage::default()
    }
}
