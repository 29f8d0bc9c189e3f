//! The conversation as the sum of its records.

use std::collections::HashSet;

use crate::context::{Cleared, block_bytes, clear_results, turns_bytes};
use llm::{Block, Image, Role, StopReason, ToolResult, ToolUse, Turn};

use protocol::{
    AssistantRecord, CompactionRecord, KeptMessage, KeptMessages, MessageSource, RequestId,
    UserMessage, UserRecord,
};

use crate::record::{LlmTypes, Record};

/// The result of a tool use whose process died before there was one.
pub const INTERRUPTED: &str = "interrupted, outcome unknown: the process ended before the result \
     was recorded; find out what was done before you repeat it";

/// The result of a tool use that was not started, because the turn was interrupted before.
pub const NOT_STARTED: &str = "interrupted before it was started";

/// A conversation with a model. It changes by [`apply`](Self::apply) only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    pub(crate) turns: Vec<Turn>,
    bytes: usize,
    /// The tool uses of the last reply, in order.
    uses: Vec<ToolUse>,
    /// Whether each of them has its result.
    answered: Vec<bool>,
    /// The use that somebody was asked about and that was not started, with the request.
    asked: Option<(String, RequestId)>,
    cleared: Vec<Cleared>,
    /// The messages that must not be given to the model again.
    given: HashSet<MessageSource>,
    /// The messages that compactions keep word for word.
    kept: KeptMessages,
    /// The last reminder among the turns.
    reminder: Option<String>,
    is_waiting: bool,
    is_paused: bool,
    /// What the model has said of a reply that is not complete yet.
    partial: PartialReply,
}

/// The parts of a reply that came so far, because it was cut off or paused. It is derived from the
/// records, so that a later process joins the parts as this one would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartialReply {
    /// Their text for a reader.
    pub(crate) text: String,
    /// How many replies in a row were cut off, those with a tool use included.
    pub(crate) cuts: u32,
}

impl Conversation {
    pub fn new() -> Self {
        Self::default()
    }

    /// The turns as they go to the model.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The turns with all tool results as they were, for an archive.
    pub fn whole_turns(&self) -> Vec<Turn> {
        let mut turns = self.turns.clone();
        for cleared in &self.cleared {
            let turn = turns.get_mut(cleared.turn);
            let block = turn.and_then(|turn| turn.blocks.get_mut(cleared.block));
            if let Some(Block::ToolResult(result)) = block {
                result.content.clone_from(&cleared.content);
            }
        }
        turns
    }

    /// The size of the turns in a request, roughly, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the model has something to answer.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// The size of the messages that the model has not answered yet, in bytes.
    pub(crate) fn unanswered_bytes(&self) -> usize {
        let last = self.turns.last().filter(|turn| turn.role == Role::User);
        let blocks = last.filter(|_| self.is_waiting).map(|turn| &turn.blocks);
        let blocks = blocks.into_iter().flatten();
        blocks
            .filter_map(Block::readable_text)
            .map(|text| text.len())
            .sum()
    }

    /// Whether the provider paused the last reply; the model continues it.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether a message from this source was given to the model, and must not be again.
    pub fn was_given(&self, source: &MessageSource) -> bool {
        self.given.contains(source)
    }

    /// The text of the model's last reply.
    pub fn last_reply(&self) -> String {
        let mut turns = self.turns.iter().rev();
        let reply = turns.find(|turn| turn.role == Role::Assistant);
        let blocks = reply.into_iter().flat_map(|turn| &turn.blocks);
        blocks.filter_map(Block::readable_text).collect()
    }

    /// What a person said last.
    pub fn last_said(&self) -> Option<&str> {
        let last = self.kept.messages.last();
        last.map(|message| message.text.as_str())
    }

    /// The messages that compactions keep word for word.
    pub(crate) const fn kept(&self) -> &KeptMessages {
        &self.kept
    }

    /// The last reminder that the model was given since the last compaction.
    pub(crate) fn reminder(&self) -> Option<&str> {
        self.reminder.as_deref()
    }

    /// Whether the user's turn at the end has more than tool results.
    pub(crate) fn ends_with_input(&self) -> bool {
        let last = self.turns.last().filter(|turn| turn.role == Role::User);
        let mut blocks = last.into_iter().flat_map(|turn| &turn.blocks);
        blocks.any(|block| matches!(block, Block::Text { .. }))
    }

    /// What the model has said of a reply that is not complete yet.
    pub(crate) const fn partial_reply(&self) -> &PartialReply {
        &self.partial
    }

    /// The tool uses that have no result yet, in order.
    pub fn open_uses(&self) -> impl Iterator<Item = &ToolUse> {
        let uses = self.uses.iter().zip(&self.answered);
        uses.filter(|(_, answered)| !**answered)
            .map(|(tool_use, _)| tool_use)
    }

    /// The request on which the first open tool use waits, if it does. Nothing of that use was done, nor of
    /// those behind it.
    pub fn waits_for(&self) -> Option<&RequestId> {
        let first = self.open_uses().next()?;
        self.request_of(first)
    }

    /// The request on which a tool use waits, if it does.
    pub(crate) fn request_of(&self, tool_use: &ToolUse) -> Option<&RequestId> {
        let (id, request) = self.asked.as_ref()?;
        (*id == tool_use.id).then_some(request)
    }

    /// Applies a record. The conversation stays valid, whatever the records are.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::User(user) => self.apply_user(user),
            Record::Assistant(assistant) => self.apply_assistant(assistant),
            Record::Asked(asked) => self.asked = Some((asked.tool_use_id, asked.request_id)),
            Record::Started(_) => self.asked = None,
            Record::Result(record) => self.apply_result(record.result),
            Record::Cleared(record) => {
                let cleared = clear_results(&mut self.turns, record.results);
                self.cleared.extend(cleared);
                self.bytes = turns_bytes(&self.turns);
            }
            Record::Compaction(compaction) => self.apply_compaction(compaction),
            Record::Ended(_) => {
                self.is_waiting = false;
                self.partial = PartialReply::default();
            }
        }
    }

    fn apply_user(&mut self, user: UserRecord) {
        self.answer_open_uses();
        for message in user.messages {
            let once = message.source.as_ref();
            let once = once.filter(|source| source.is_given_once()).cloned();
            let is_new = once.is_none_or(|source| self.given.insert(source));
            if is_new && !message.text.trim().is_empty() {
                self.add_message(message);
            }
        }
    }

    fn add_message(&mut self, message: UserMessage) {
        let is_new_input = match &message.source {
            None | Some(MessageSource::Mail(_) | MessageSource::Prompt(_)) => true,
            Some(
                MessageSource::Commands(_) | MessageSource::Reminder | MessageSource::Continuation,
            ) => false,
        };
        if is_new_input {
            // The next reply answers it.
            self.partial.text.clear();
        }
        if message.source == Some(MessageSource::Reminder) {
            self.reminder = Some(message.text.clone());
        }
        if message.is_kept() {
            let text = message.text.clone();
            self.kept.messages.push(KeptMessage { text, cut: None });
        }
        let images = message.images.into_iter().map(|image| {
            Block::Image(Image {
                media_type: image.media_type,
                data: image.data,
            })
        });
        for block in [Block::text(message.text)].into_iter().chain(images) {
            self.bytes += block_bytes(&block);
            self.user_blocks().push(block);
        }
        self.is_waiting = true;
        self.is_paused = false;
    }

    fn apply_assistant(&mut self, assistant: AssistantRecord<LlmTypes>) {
        self.answer_open_uses();
        if self.turns.is_empty() {
            return;
        }
        let blocks = kept_blocks(assistant.blocks);
        self.partial.take(&blocks, &assistant.stop);
        self.uses = blocks.iter().filter_map(tool_use).cloned().collect();
        self.answered = vec![false; self.uses.len()];
        self.asked = None;
        self.is_paused = assistant.stop == StopReason::Paused && self.uses.is_empty();
        self.is_waiting = self.is_paused || !self.uses.is_empty();
        if !blocks.is_empty() {
            self.bytes += blocks.iter().map(block_bytes).sum::<usize>();
            self.turns.push(Turn::assistant(blocks));
        }
    }

    /// Puts a result in its place: in the order of the uses, behind the reply.
    fn apply_result(&mut self, result: ToolResult) {
        let id = &result.tool_use_id;
        let place = self.uses.iter().position(|tool_use| tool_use.id == *id);
        let Some(place) = place.filter(|place| !self.answered[*place]) else {
            return;
        };
        let before = self.answered.iter().take(place);
        let before = before.filter(|answered| **answered).count();
        self.answered[place] = true;
        let block = Block::ToolResult(result);
        self.bytes += block_bytes(&block);
        let blocks = self.user_blocks();
        blocks.insert(before.min(blocks.len()), block);
        self.is_waiting = true;
    }

    fn apply_compaction(&mut self, compaction: CompactionRecord<LlmTypes>) {
        self.turns = compaction.turns;
        self.bytes = turns_bytes(&self.turns);
        self.uses.clear();
        self.answered.clear();
        self.asked = None;
        self.cleared.clear();
        self.kept = compaction.kept;
        self.reminder = compaction.reminder;
        self.is_paused = false;
    }

    /// The blocks of the user's turn at the end.
    fn user_blocks(&mut self) -> &mut Vec<Block> {
        let ends_with_user = self.turns.last().map(|turn| turn.role) == Some(Role::User);
        if !ends_with_user {
            self.turns.push(Turn {
                role: Role::User,
                blocks: Vec::new(),
            });
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last].blocks
    }

    /// A log in which something else follows open uses is damaged; the conversation goes on.
    fn answer_open_uses(&mut self) {
        let open: Vec<String> = self.open_uses().map(|open| open.id.clone()).collect();
        for id in open {
            self.apply_result(ToolResult::error(id, INTERRUPTED));
        }
    }
}

impl PartialReply {
    /// Takes in the next reply.
    fn take(&mut self, blocks: &[Block], stop: &StopReason) {
        let uses_tools = blocks.iter().any(|block| tool_use(block).is_some());
        match stop {
            StopReason::MaxTokens => self.cuts += 1,
            StopReason::Paused => {}
            _ => self.cuts = 0,
        }
        if uses_tools || !matches!(stop, StopReason::MaxTokens | StopReason::Paused) {
            self.text.clear();
        } else {
            self.text
                .extend(blocks.iter().filter_map(Block::readable_text));
        }
    }
}

/// The blocks of a reply as a conversation keeps them: those that may stand in one, and tool uses
/// with ids that no other use of the reply has.
fn kept_blocks(blocks: Vec<Block>) -> Vec<Block> {
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

fn tool_use(block: &Block) -> Option<&ToolUse> {
    match block {
        Block::ToolUse(tool_use) => Some(tool_use),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
