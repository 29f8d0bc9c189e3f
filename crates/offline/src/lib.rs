//! A model that needs no server: it follows plain instructions by a table of verbs.
//!
//! It is no LLM, and says so. It reads instructions from its prompt, its mail and its task, and
//! makes the tool calls that a model would make. What it does not understand it names.
//!
//! # Theory of operation
//!
//! The model keeps nothing between requests. It reads each one in four steps:
//!
//! 1. `conversation`: the turns become a list of events, such as mail or the result of a call.
//! 2. `instruction`: an event may be an instruction. `parse` cuts it into clauses at `.`, `;`, `then`,
//!    and at `and` or a comma before a verb, and finds each clause in the `table` of verbs.
//! 3. `run`: each instruction is carried out from its start. The code of a verb (`verbs`) makes calls
//!    and waits for mail (`awaited`). What the events hold is used at once; the first call without a
//!    result, or wait without mail, pauses the instruction there.
//! 4. `progress`: the call that an instruction paused at is the reply, one a turn. If all instructions
//!    wait for mail or are finished, the `report` is.
//!
//! When the conversation is compacted, the summary is the list of the events since the last work was
//! finished, and the next request reads those.
//!
//! A teammate reports to the sender of each message it follows, once. Such an answer begins with
//! `Re:` and is never answered itself; broadcasts and notices are not answered either.
//!
//! **Invariant:** the reply is a function of the request alone.
//!
//! **Invariant:** a call that failed is reported and not made again, except once after an
//! interruption and after a plan that a refusal asked for.

mod awaited;
mod conversation;
mod identity;
mod instruction;
mod parse;
mod progress;
mod report;
mod run;
mod table;
mod verbs;

use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    StopReason, ToolChoice, ToolUse, Turn, Usage,
};

use conversation::Event as ConversationEvent;
use identity::Identity;
use progress::Progress;
use run::Call;

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
    let mut events = conversation::events(&request.turns);
    if let Some((ConversationEvent::SummaryRequest, before)) = events.split_last_mut() {
        let summary = conversation::summary(before);
        return (Block::text(summary), StopReason::EndTurn);
    }
    let me = Identity::of(request);
    let progress = Progress::new(&events, &me);
    let may_call = request.tool_choice != ToolChoice::None;
    if let Some(Call(tool, input)) = progress.call().filter(|_| may_call) {
        let tool_use = ToolUse::new(free_id(request), *tool, &input.to_string());
        return (Block::ToolUse(tool_use), StopReason::ToolUse);
    }
    (Block::text(progress.report()), StopReason::EndTurn)
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
