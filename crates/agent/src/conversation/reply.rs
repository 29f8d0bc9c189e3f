//! The blocks of a reply, as a conversation takes them in.

use llm::{Block, StopReason, ToolUse};
use protocol::PartialReply;

/// Takes the next reply into the parts of one that is not complete yet.
pub(super) fn take_part(partial: &mut PartialReply, blocks: &[Block], stop: &StopReason) {
    let uses_tools = blocks.iter().any(|block| tool_use(block).is_some());
    match stop {
        StopReason::MaxTokens => partial.cuts += 1,
        StopReason::Paused => {}
        _ => partial.cuts = 0,
    }
    if uses_tools || !matches!(stop, StopReason::MaxTokens | StopReason::Paused) {
        partial.text.clear();
    } else {
        partial
            .text
            .extend(blocks.iter().filter_map(Block::readable_text));
    }
}

/// The blocks of a reply as a conversation keeps them: those that may stand in one, and tool uses
/// with ids that no other use of the reply has.
pub(super) fn kept_blocks(blocks: Vec<Block>) -> Vec<Block> {
    let mut ids: Vec<String> = Vec::new();
    let keep = |block| match block {
        Block::ToolResult(_) | Block::Image(_) => None,
        Block::ToolUse(mut tool_use) => {
            let id = tool_use.id.clone();
            let mut number = 2;
            while ids.contains(&tool_use.id) {
                tool_use.id = format!("{id}_{number}");
                number += 1;
            }
            ids.push(tool_use.id.clone());
            Some(Block::ToolUse(tool_use))
        }
        block => Some(block),
    };
    blocks.into_iter().filter_map(keep).collect()
}

pub(super) fn tool_use(block: &Block) -> Option<&ToolUse> {
    match block {
        Block::ToolUse(tool_use) => Some(tool_use),
        _ => None,
    }
}
