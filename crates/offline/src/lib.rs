//! A model that needs no server: it follows plain instructions by a table of verbs.
//!
//! It is no LLM, and says so. It reads instructions from its prompt, its mail and its task, and
//! makes the tool calls that a model would make. What it does not understand it names.
//!
//! # Theory of operation
//!
//! An instruction is cut into clauses at `.`, `;`, `then`, and at `and` or a comma before a verb.
//! `table` has the patterns of clauses. Each clause becomes some steps (`plan`): calls, waits
//! for mail, lines of the report.
//!
//! The model keeps nothing between requests. Each time it replays the events (`event`) of the
//! conversation (`follower`): an instruction adds a job, a tool result completes the step that
//! asked for it, mail completes a wait. The step that is then the first is the reply, one call a
//! turn; if all jobs wait or are finished, the report is. When the conversation is compacted, the
//! summary is the part of it that is not finished, and the next request replays that.
//!
//! A teammate reports to the sender of each message it follows, once. Such an answer begins with
//! `Re:` and is never answered itself; broadcasts and notices are not answered either.
//!
//! **Invariant:** the reply is a function of the request alone.
//!
//! **Invariant:** a call that failed is reported and not made again, except once after an
//! interruption and after a plan that a refusal asked for.

mod clause;
mod event;
mod follower;
mod identity;
mod names;
mod pattern;
mod plan;
mod report;
mod step;
mod table;
mod words;

use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    StopReason, ToolChoice, ToolUse, Turn, Usage,
};

use follower::Follower;
use identity::Identity;
use step::Call;

const NAME: &str = "offline";
const CALL_ID: &str = "offline_";

/// Follows plain instructions, see the [crate's documentation](crate).
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel;

impl OfflineModel {
    /// The next turn.
    pub fn reply(&self, request: &Request) -> Reply {
        let (block, stop) = match answer(request) {
            Ok(Call(tool, input)) => {
                let tool_use = ToolUse::new(free_id(request), tool, &input.to_string());
                (Block::ToolUse(tool_use), StopReason::ToolUse)
            }
            Err(text) => (Block::text(text), StopReason::EndTurn),
        };
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
            for block in &reply.blocks {
                match block {
                    Block::Text { text } => events(Event::TextDelta(text.clone())),
                    Block::ToolUse(tool_use) => events(Event::ToolUseStarted {
                        id: tool_use.id.clone(),
                        name: tool_use.name.clone(),
                    }),
                    _ => {}
                }
            }
            Ok(reply)
        })
    }
}

/// The next call, or the text that ends the turn.
fn answer(request: &Request) -> Result<Call, String> {
    if let Some(transcript) = transcript_to_summarise(request) {
        return Err(event::summary(transcript));
    }
    let mut follower = Follower::new(Identity::of(request));
    for event in event::of_turns(&request.turns) {
        follower.replay(event);
    }
    match follower.next_call() {
        Some(call) if request.tool_choice != ToolChoice::None => Ok(call),
        _ => Err(follower.report()),
    }
}

/// The conversation that an agent wants a summary of. Only such a request comes without tools.
fn transcript_to_summarise(request: &Request) -> Option<&str> {
    let last = request.turns.last().filter(|_| request.tools.is_empty())?;
    let text = last.blocks.iter().rev().find_map(|block| match block {
        Block::Text { text } => Some(text),
        _ => None,
    })?;
    let (_, conversation) = text.split_once("<conversation>")?;
    let (conversation, _) = conversation.rsplit_once("</conversation>")?;
    Some(conversation)
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
