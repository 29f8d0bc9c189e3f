//! A model that needs no key: a small deterministic follower of instructions.
//!
//! It is not an LLM and says so. It reads plain instructions, from its prompt, its
//! mail or the board, and turns them into the tool calls that a model would make.
//! What it does not understand it names, with examples of what it does.
//!
//! # The grammar
//!
//! An instruction is cut into clauses at `.`, `;`, `then`, and at `and` or a comma
//! before a verb. Each clause is matched against a table of patterns. Names may be
//! any; `her`, `him`, `them` and the like stand for those who were named last.
//! Texts and commands may stand in quotes of any kind.
//!
//! | Say | It asks for |
//! |---|---|
//! | `Spawn alice (coder) and bob (tester). Have alice send bob a message.` | spawn, delegate |
//! | `Spawn three teammates: ann (writer), ben (critic) and cleo (judge)` | spawn |
//! | `Spawn alice as a coder. Then request her shutdown.` | spawn, shutdown |
//! | `Spawn a frontend teammate and a backend teammate. Ask frontend to create an index.html and backend to create a server config.` | spawn, delegate, delegate |
//! | `Spawn bob with a risky refactoring task. Review and reject his plan.` | spawn, reject plan |
//! | `Spawn charlie, have him submit a plan, then approve it.` | spawn, delegate, approve plan |
//! | `Spawn dora (coder) to write hello to a.txt` | spawn |
//! | `Ask bob to run "cargo test"` | delegate |
//! | `Tell bob to read notes.md and write done to b.txt` | delegate |
//! | `Tell bob that the build is green` | send |
//! | `Send bob a message saying 'hi there'` | send |
//! | `Send "hi there" to alice and bob` | send |
//! | `Broadcast "status update: phase 1 complete" to all teammates` | broadcast |
//! | `Check the lead inbox for any messages` | check inbox |
//! | `List the teammates` | list teammates |
//! | `Shut alice down` | shutdown |
//! | `Shut down all teammates` | shutdown |
//! | `Wait for alice and bob` | wait for |
//! | `Review bob's plan and reject it because it has no tests` | await plan, reject plan |
//! | `Approve plan 1a2b3c4d` | approve plan |
//! | `Submit a plan for the migration` | submit plan |
//! | `Create 3 tasks: "Setup project", "Write code", "Write tests". Make them depend on each other in order.` | create tasks, chain tasks |
//! | `Create a task to write the manual` | create tasks |
//! | `List the tasks` | list tasks |
//! | `Show task 2` | show task |
//! | `Claim task 2` | claim task |
//! | `Complete task 2` | complete task |
//! | `Run "sleep 5 && echo done" in the background, then create a file test.txt containing hello` | run in background, write file |
//! | `Check the background tasks` | check background |
//! | `Run "cargo test"` | run |
//! | `Write hello to test.txt` | write file |
//! | `Create an index.html` | write file |
//! | `Create a server config` | write file |
//! | `Replace "old" with "new" in test.txt` | edit file |
//! | `Read README.md` | read file |
//! | `Read every Rust file in crates/ one by one` | read every |
//! | `List the files in src/` | run |
//! | `Wait for instructions` | stand by |
//! | `Compact the conversation` | compact |
//! | `Work on the parser` | topic |
//!
//! A topic is work that is named but not understood: a plan can be about it, and
//! it is reported as not done.
//!
//! # Theory of operation
//!
//! The model keeps nothing between requests. Each time it lives through the
//! conversation again: an instruction becomes a list of steps, a tool result does
//! away with the step that asked for it, mail lets a plan go on that waits for it.
//! The step that is then at the head is the reply. A wait ends the turn with words
//! that name what is awaited. One call is made a turn.
//!
//! As a teammate it takes orders from its mail and tells the sender once how it
//! went; such an answer begins with `Re:` and is itself never answered, and neither
//! are broadcasts and notices.
//!
//! **Invariant:** the reply is a function of the request alone.
//!
//! **Invariant:** a call that failed is reported and not made again, except once
//! after an interruption and after a plan that a refusal asked for.

use std::collections::{HashMap, HashSet};

use llm::CancellationToken;
use serde_json::Value;

use llm::ModelError;
use llm::{Block, Role, ToolResult, ToolUse, Turn};
use llm::{BoxFuture, Event, EventSink, Model, Reply, StopReason, Usage};
use llm::{Request, ToolChoice};

mod artefact;
mod follower;
mod grammar;
mod hire;
mod intent;
mod letters;
mod names;
mod pattern;
mod plan;
mod step;
mod summary;
mod tokens;
mod who;
mod words;

use follower::{Follower, Next};
use step::{Answered, Call};
use who::Me;

const NAME: &str = "offline";

/// Follows plain instructions without any server, see the
/// [module's documentation](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel;

impl OfflineModel {
    /// The next turn, as a function of the request.
    pub fn reply(&self, request: &Request) -> Reply {
        let blocks = match answer(request) {
            Answer::Call(call) => {
                let id = free_id(request);
                vec![Block::ToolUse(ToolUse::new(
                    id,
                    call.tool,
                    &call.input.to_string(),
                ))]
            }
            Answer::Text(text) => vec![Block::text(text)],
        };
        let stop = match blocks.first() {
            Some(Block::ToolUse(_)) => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        let usage = Some(estimate(request, &blocks));
        Reply {
            blocks,
            stop,
            usage,
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

enum Answer {
    Call(Call),
    Text(String),
}

fn answer(request: &Request) -> Answer {
    if let Some(question) = asked_for_summary(request) {
        let lines = match question.split_once("<conversation>") {
            Some((_, text)) => {
                let end = text.rfind("</conversation>").unwrap_or(text.len());
                summary::of_transcript(text.get(..end).unwrap_or_default())
            }
            None => summary::of_turns(&request.turns, question),
        };
        return Answer::Text(summary::write(&lines));
    }
    let mut follower = Follower::new(Me::of(request));
    relive(&mut follower, &request.turns);
    if request.tool_choice == ToolChoice::None {
        return Answer::Text(report(&mut follower));
    }
    // Work in hand comes before a farewell.
    for farewell in [false, true] {
        for place in 0..follower.jobs.len() {
            if follower.jobs[place].farewell != farewell {
                continue;
            }
            if let Next::Call(call) = follower.head(place) {
                return Answer::Call(call);
            }
        }
    }
    Answer::Text(report(&mut follower))
}

/// The text at the end of the conversation, if it asks for a summary.
fn asked_for_summary(request: &Request) -> Option<&str> {
    let last = request
        .turns
        .last()
        .filter(|turn| turn.role == Role::User)?;
    let text = last.blocks.iter().rev().find_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    })?;
    let has_tools = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    summary::is_asked(text, has_tools).then_some(text)
}

/// Lives through the turns.
fn relive(follower: &mut Follower<'_>, turns: &[Turn]) {
    let mut calls: HashMap<&str, (&str, Value)> = HashMap::new();
    for turn in turns {
        if turn.role == Role::Assistant {
            let mut uses = turn.blocks.iter().filter_map(tool_use).peekable();
            let is_text = |block: &Block| matches!(block, Block::Text { .. });
            if uses.peek().is_none() && turn.blocks.iter().any(is_text) {
                follower.said();
            }
            for used in uses {
                let input = used.replayed_input().read().unwrap_or(Value::Null);
                calls.insert(&used.id, (&used.name, input));
            }
            continue;
        }
        for result in turn.blocks.iter().filter_map(tool_result) {
            if let Some((tool, input)) = calls.remove(result.tool_use_id.as_str()) {
                follower.result(Answered::of(tool, &input, result));
            }
        }
        for block in &turn.blocks {
            if let Block::Text { text } = block {
                let news = letters::news(text);
                news.into_iter().for_each(|news| follower.hear(news));
            }
        }
    }
}

fn tool_result(block: &Block) -> Option<&ToolResult> {
    match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    }
}

fn tool_use(block: &Block) -> Option<&ToolUse> {
    match block {
        Block::ToolUse(tool_use) => Some(tool_use),
        _ => None,
    }
}

/// The words at the end of a turn: what was done, what came, what is awaited.
fn report(follower: &mut Follower<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut waits: Vec<String> = Vec::new();
    for place in 0..follower.jobs.len() {
        let next = follower.head(place);
        lines.extend(follower.jobs[place].report.iter().cloned());
        if let Next::Blocked(what) = next
            && !waits.contains(&what)
        {
            waits.push(what);
        }
    }
    let news = follower
        .pool
        .iter()
        .filter(|entry| !entry.used && !entry.told);
    lines.extend(news.map(|entry| words::line(&entry.mail)));
    if lines.len() + waits.len() > 1 {
        lines.retain(|line| !line.starts_with(plan::READY));
    }
    if !waits.is_empty() {
        lines.push(format!("Waiting for {}.", waits.join(" and ")));
    }
    if lines.is_empty() {
        lines.push(format!("Nothing to do. {}", words::EXAMPLES));
    }
    lines.join("\n")
}

/// An id that no tool use of the conversation has.
fn free_id(request: &Request) -> String {
    let blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
    let taken: HashSet<&str> = blocks
        .filter_map(tool_use)
        .map(|used| used.id.as_str())
        .collect();
    let mut number = taken.len() + 1;
    while taken.contains(format!("offline_{number}").as_str()) {
        number += 1;
    }
    format!("offline_{number}")
}

/// A guess at the tokens that a real model would count: a quarter of the bytes.
fn estimate(request: &Request, reply: &[Block]) -> Usage {
    let size = |block: &Block| match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len(),
        Block::RedactedThinking { data } => data.len(),
        Block::ToolUse(used) => used.name.len() + used.replayed_input().get().len(),
        Block::ToolResult(result) => result.content.len(),
        Block::Opaque { json, .. } => json.get().len(),
    };
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len())
        .sum();
    let turns: usize = request
        .turns
        .iter()
        .flat_map(|turn| &turn.blocks)
        .map(size)
        .sum();
    Usage {
        input: tokens(request.system.len() + tools + turns),
        output: tokens(reply.iter().map(size).sum()),
        ..Usage::default()
    }
}
