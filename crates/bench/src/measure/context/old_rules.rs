//! The requests of a recorded conversation by the rules that the program had before.
//!
//! - Beyond 1/20 of the window, all results but the last three and those of `read_file` are cleared.
//! - A reminder is behind the last turn of every request and in none of the next ones. The encoder
//!   marks the last block for the cache, which is then the reminder.
//! - Above 70 % of the window, a summary is made from a transcript in a request of its own.

use super::cache::BYTES_PER_TOKEN;
use super::session::{Recorded, WINDOW};
use agent::{Record, transcript, turns_bytes};
use llm::{Block, Request, Role, Turn};
use protocol::MessageSource;

const KEPT_RESULTS: usize = 3;
const SUMMARY: usize = 8_000;

/// All requests, in order.
pub(super) fn requests(recorded: &Recorded) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    let mut reminders = recorded.reminders.iter();
    for record in &recorded.records {
        match record {
            Record::User(user) => {
                let new = user.messages.iter();
                let new = new.filter(|message| message.source != Some(MessageSource::Reminder));
                for message in new {
                    user_blocks(&mut turns).push(Block::text(&message.text));
                }
            }
            Record::Assistant(reply) => {
                clear(&mut turns);
                if turns_bytes(&turns) > tokens(WINDOW / 10 * 7) {
                    requests.push(summary(&turns));
                    turns = vec![Turn::user("x".repeat(SUMMARY))];
                }
                let reminder = reminders.next().map_or("", String::as_str);
                requests.push(request(recorded, &turns, reminder));
                turns.push(Turn::assistant(reply.blocks.clone()));
            }
            Record::Result(record) => {
                let result = record.result.clone();
                user_blocks(&mut turns).push(Block::ToolResult(result));
            }
            // These are of the new rules.
            Record::Asked(_)
            | Record::Started(_)
            | Record::Cleared(_)
            | Record::Compaction(_)
            | Record::Ended(_)
            | Record::Session(_) => {}
        }
    }
    requests
}

fn tokens(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX) * BYTES_PER_TOKEN
}

fn user_blocks(turns: &mut Vec<Turn>) -> &mut Vec<Block> {
    if turns.last().map(|turn| turn.role) != Some(Role::User) {
        turns.push(Turn {
            role: Role::User,
            blocks: Vec::new(),
        });
    }
    let last = turns.len() - 1;
    &mut turns[last].blocks
}

fn request(recorded: &Recorded, turns: &[Turn], reminder: &str) -> Request {
    let mut turns = turns.to_vec();
    user_blocks(&mut turns).push(Block::text(reminder));
    Request {
        system: recorded.system.clone(),
        tools: recorded.tools.clone(),
        turns,
        max_tokens: 8_000,
        ..Request::default()
    }
}

fn summary(turns: &[Turn]) -> Request {
    let conversation = transcript(turns, tokens(WINDOW / 10 * 8));
    Request {
        system: "You summarise the conversation of an agent.".to_owned(),
        turns: vec![Turn::user(format!(
            "<conversation>\n{conversation}</conversation>"
        ))],
        max_tokens: 4_000,
        ..Request::default()
    }
}

/// Clears the results, if that saves enough.
fn clear(turns: &mut [Turn]) {
    let files: Vec<String> = blocks(turns).filter_map(file_id).collect();
    let all = blocks(turns).filter(|block| matches!(block, Block::ToolResult(_)));
    let old = all.count().saturating_sub(KEPT_RESULTS);
    let results = turns.iter_mut().flat_map(|turn| &mut turn.blocks);
    let results = results.filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    });
    let placeholder = "[Previous: used bash]";
    let results = results.take(old).filter(|result| {
        !files.contains(&result.tool_use_id) && result.content.len() > placeholder.len()
    });
    let results: Vec<_> = results.collect();
    let saved: usize = results.iter().map(|result| result.content.len()).sum();
    if saved > tokens(WINDOW / 20) {
        for result in results {
            placeholder.clone_into(&mut result.content);
        }
    }
}

fn blocks(turns: &[Turn]) -> impl Iterator<Item = &Block> {
    turns.iter().flat_map(|turn| &turn.blocks)
}

fn file_id(block: &Block) -> Option<String> {
    match block {
        Block::ToolUse(used) if used.name == "read_file" => Some(used.id.clone()),
        _ => None,
    }
}
