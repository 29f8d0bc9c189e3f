//! The conversation as the sum of its records.

mod reply;

use crate::context::{Cleared, block_bytes, clear_results, turns_bytes};
use llm::{Block, Image, Role, StopReason, ToolResult, ToolUse, Turn};

use protocol::{
    AssistantRecord, CompactionRecord, CutRecord, GivenMessages, KeptMessage, KeptMessages,
    MessageSource, PartialReply, RequestId, SessionMark, Tally, UserMessage, UserRecord,
};

use crate::record::{LlmTypes, Record};
use reply::{kept_blocks, take_part, tool_use};

/// The result of a tool use whose process died before there was one.
pub const INTERRUPTED: &str = "interrupted, outcome unknown: the process ended before the result \
     was recorded; find out what was done before you repeat it";

/// The result of a tool use that was not started, because the turn was interrupted before.
pub const NOT_STARTED: &str = "interrupted before it was started";

/// Where the whole conversation is, if no archive was made of it.
pub(crate) const NO_ARCHIVE: &str = "the journal";

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
    given: GivenMessages,
    /// The messages that compactions keep word for word.
    kept: KeptMessages,
    /// The last reminder among the turns.
    reminder: Option<String>,
    /// Which session it is, if the member has sessions.
    session: Option<SessionMark>,
    is_waiting: bool,
    is_paused: bool,
    /// What the model has said of a reply that is not complete yet. It is derived from the records, so
    /// that a later process joins the parts as this one would.
    partial: PartialReply,
}

impl Conversation {
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known of a conversation whose journal was cut. The compaction that follows has its turns.
    pub fn after_cut(cut: &CutRecord) -> Self {
        Self {
            given: cut.given.clone(),
            is_waiting: cut.waiting,
            partial: cut.partial.clone(),
            session: cut.session.clone(),
            ..Self::default()
        }
    }

    /// The messages that must not be given to the model again.
    pub const fn given(&self) -> &GivenMessages {
        &self.given
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

    /// What a person said first.
    pub fn first_said(&self) -> Option<&str> {
        let first = self.kept.messages.first();
        first.map(|message| message.text.as_str())
    }

    /// Which session it is, if the member has sessions.
    pub const fn session(&self) -> Option<&SessionMark> {
        self.session.as_ref()
    }

    /// The whole conversation as one record, to take it up again as this session.
    pub fn to_record(&self, session: SessionMark) -> CompactionRecord<LlmTypes> {
        let mut whole = self.clone();
        whole.answer_open_uses();
        CompactionRecord {
            archive: NO_ARCHIVE.to_owned(),
            summarised: false,
            turns: whole.turns,
            usage: None,
            kept: whole.kept,
            reminder: whole.reminder,
            session: Some(session),
        }
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
    pub const fn partial_reply(&self) -> &PartialReply {
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
            Record::Result(record) => {
                for number in record.mail {
                    self.given.add_mail(number);
                }
                self.apply_result(record.result);
            }
            Record::Cleared(record) => {
                let cleared = clear_results(&mut self.turns, record.results);
                self.cleared.extend(cleared);
                self.bytes = turns_bytes(&self.turns);
            }
            Record::Compaction(compaction) => self.apply_compaction(compaction),
            Record::Ended(_) => self.end_turn(),
            Record::Session(session) => self.session = Some(session),
        }
    }

    /// Nothing waits for an answer any more.
    fn end_turn(&mut self) {
        self.is_waiting = false;
        self.partial = PartialReply::default();
    }

    fn apply_user(&mut self, user: UserRecord) {
        self.answer_open_uses();
        for message in user.messages {
            let once = message.source.as_ref();
            let once = once.filter(|source| source.is_given_once()).cloned();
            let is_new = once.is_none_or(|source| self.given.add(&source));
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
        if let (Some(session), Some(usage)) = (&mut self.session, assistant.usage) {
            session.count(&Tally {
                calls: 1,
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                ..Tally::default()
            });
        }
        let blocks = kept_blocks(assistant.blocks);
        take_part(&mut self.partial, &blocks, &assistant.stop);
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
        let Some(session) = compaction.session else {
            return;
        };
        let current = self.session.as_ref().map(|session| &session.id);
        if current != Some(&session.id) {
            self.end_turn();
        }
        self.session = Some(session);
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

#[cfg(test)]
mod tests;
