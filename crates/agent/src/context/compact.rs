//! Replaces the whole conversation by a summary, or by its newest part.

use llm::{Block, Request, Role, Turn};
use protocol::KeptMessages;

use crate::context::estimate::{Estimator, turns_bytes};
use crate::context::kept;
use crate::context::limits::Limits;
use crate::context::summary::{Fault, question};
use crate::context::transcript::{
    clip, clip_evenly, digest, texts, transcript, unanswered, unanswered_texts, without_texts,
};

/// The most that a summary is asked to have, in tokens.
const LONGEST_SUMMARY: u64 = 4_000;
const SHORTEST_SUMMARY: u64 = 64;
/// A message or a result of this size that has no answer yet is never shortened, in bytes, unless the
/// model's window is very small.
pub const KEPT_WHOLE: usize = 8_000;

const SUMMARY_SYSTEM: &str = "You summarise the conversation of an agent with its tools and its \
     users, so that the agent can go on working from your summary alone. Answer with the summary \
     only.";

/// What the program puts into a compacted conversation by itself, so that no summary can lose it.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// What the model was told, and made to fit by [`Plan::fit`].
    pub kept: &'a KeptMessages,
    /// The work that the agent holds, read from where it is kept.
    pub open_work: Option<&'a str>,
    /// The reminder of now, which stands behind a summary and what has no answer yet. Behind the turns that a cut
    /// leaves the agent gives it with its next request: they may have older ones.
    pub reminder: Option<&'a str>,
    /// The reminder that the conversation has so far.
    pub last_reminder: Option<&'a str>,
    /// The file that has every message whole.
    pub records: &'a str,
}

impl Carried<'_> {
    /// Whether a text of the conversation is carried over, or replaced by what is.
    fn has(&self, text: &str) -> bool {
        let mut kept = self.kept.messages.iter();
        kept.any(|message| kept::is_whole_of(text, message)) || self.last_reminder == Some(text)
    }
}

/// How a conversation is to be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How much of the conversation a summary is made from, in bytes.
    transcript_room: usize,
    /// How much each of the parts of the new conversation may have, in bytes.
    part_room: usize,
    /// How much of what has no answer yet stays as it is, in bytes.
    unanswered_room: usize,
    /// How much of what is kept word for word stays, in bytes.
    kept_room: usize,
    /// How long the summary may be, in tokens.
    summary_tokens: u32,
}

/// A plan, if a request is too large. `conversation` is the size of its turns, and `fixed` that of
/// everything else, in bytes. There is no plan if the conversation is not what makes it large.
pub fn plan_compaction(
    conversation: usize,
    fixed: usize,
    limits: &Limits,
    estimator: &Estimator,
) -> Option<Plan> {
    let is_long = estimator.tokens(conversation + fixed) > limits.threshold;
    let would_help = estimator.tokens(conversation) > limits.threshold / 3;
    (is_long && would_help).then(|| Plan::new(limits, estimator))
}

impl Plan {
    /// The plan for a conversation that is to be compacted whatever its size.
    pub fn new(limits: &Limits, estimator: &Estimator) -> Self {
        let summary_tokens = (limits.threshold / 8).clamp(SHORTEST_SUMMARY, LONGEST_SUMMARY);
        Self {
            transcript_room: estimator.bytes(limits.window / 10 * 8),
            part_room: estimator.bytes(limits.threshold / 8),
            unanswered_room: limits.portion(),
            kept_room: estimator.bytes(limits.threshold / 8),
            summary_tokens: u32::try_from(summary_tokens).unwrap_or(u32::MAX),
        }
    }

    /// The same, with a summary made from half as much, for a model that finds the request too long.
    #[must_use]
    pub fn smaller(self) -> Self {
        Self {
            transcript_room: self.transcript_room / 2,
            ..self
        }
    }

    /// Makes the messages that are kept word for word fit in their share of the window.
    pub fn fit(&self, kept: &mut KeptMessages) {
        kept::fit(kept, self.kept_room);
    }

    /// The question for a summary, to be put behind the conversation as it stands. Then the provider
    /// reads the whole conversation from its cache.
    pub(crate) fn question(&self, focus: Option<&str>, fault: Option<&Fault>) -> String {
        question(self.summary_tokens, focus, fault)
    }

    /// The request for a summary of so much of these turns as there is room for, for a model that finds
    /// the conversation as it stands too long.
    pub fn request(&self, turns: &[Turn], question: &str) -> Request {
        let conversation = transcript(turns, self.transcript_room);
        let text = format!("<conversation>\n{conversation}</conversation>\n\n{question}");
        Request {
            system: SUMMARY_SYSTEM.to_owned(),
            turns: vec![Turn::user(text)],
            max_tokens: self.summary_tokens,
            ..Request::default()
        }
    }

    /// The conversation after a summary: one turn of the user with the summary, the place where the
    /// whole conversation can be read, what is carried over, and what the model has not answered yet.
    pub fn after(
        &self,
        turns: &[Turn],
        summary: &str,
        archive: &str,
        carried: &Carried<'_>,
    ) -> Vec<Turn> {
        let summary = clip(summary.trim(), self.part_room);
        let mut blocks = vec![Block::text(format!(
            "[Conversation compressed. Transcript: {archive}]\n\n{summary}"
        ))];
        blocks.extend(self.carried(turns, &[], carried));
        blocks.extend(self.unanswered(turns, carried).map(Block::text));
        blocks.extend(carried.reminder.map(Block::text));
        vec![Turn {
            role: Role::User,
            blocks,
        }]
    }

    /// The conversation after a cut: what the program can say of the turns that are gone, what is
    /// carried over, and as many of the newest turns as there is room for, from a place where no tool
    /// use is parted from its result.
    pub fn cut(&self, turns: &[Turn], archive: &str, carried: &Carried<'_>) -> Vec<Turn> {
        let from = self.cut_at(turns);
        let gone = turns.get(..from.unwrap_or(turns.len())).unwrap_or_default();
        let gone = without_texts(gone, |text| carried.has(text));
        // Half a part: what has no answer yet and what is carried over need the rest.
        let gone = digest(&gone, self.part_room / 2);
        let mut note = vec![Block::text(format!(
            "[Earlier conversation cut. Transcript: {archive}]\n\nNobody summarised it. In short:\n{}",
            gone.trim()
        ))];
        let stays = from.map(|from| turns.get(from..).unwrap_or_default());
        let stays = stays.unwrap_or_default();
        note.extend(self.carried(turns, stays, carried));
        let Some((first, rest)) = stays.split_first() else {
            note.extend(self.unanswered(turns, carried).map(Block::text));
            return vec![Turn {
                role: Role::User,
                blocks: note,
            }];
        };
        let mut after = vec![Turn {
            role: Role::User,
            blocks: note,
        }];
        match (first.role, after.first_mut()) {
            (Role::User, Some(turn)) => turn.blocks.extend(first.blocks.iter().cloned()),
            (Role::User | Role::Assistant, _) => after.push(first.clone()),
        }
        after.extend(rest.iter().cloned());
        after
    }

    /// The blocks of what is carried over into a conversation that goes on with the turns that stay.
    fn carried(&self, turns: &[Turn], stays: &[Turn], carried: &Carried<'_>) -> Vec<Block> {
        let (open, stays) = (unanswered_texts(turns), texts(stays));
        let is_among =
            |texts: &[&str], message: &_| texts.iter().any(|text| kept::is_whole_of(text, message));
        let mut shown = carried.kept.clone();
        shown.messages.retain(|message| !is_among(&stays, message));
        let is_open = |message: &_| is_among(&open, message);
        let messages = kept::render(&shown, is_open, carried.records);
        let work = carried.open_work.map(|text| clip(text, self.part_room));
        let texts = [messages, work].into_iter().flatten();
        texts.map(Block::text).collect()
    }

    /// The first turn that can be kept, with all behind it.
    fn cut_at(&self, turns: &[Turn]) -> Option<usize> {
        let mut bytes = 0;
        let mut best = None;
        for at in (1..turns.len()).rev() {
            bytes += turns_bytes(turns.get(at..=at).unwrap_or_default());
            if bytes > self.part_room {
                break;
            }
            if is_seam(turns, at) {
                best = Some(at);
            }
        }
        best
    }

    /// What the model has not answered yet, as text. Only the longest messages and results are
    /// shortened: nobody has seen the others, so a cut in the middle of them all would lose whole
    /// messages. What is carried over is not repeated.
    fn unanswered(&self, turns: &[Turn], carried: &Carried<'_>) -> Option<String> {
        let room = self.unanswered_room;
        let texts = unanswered(turns, |text| carried.has(text));
        let text = clip_evenly(&texts, room, KEPT_WHOLE.min(room)).concat();
        let text = text.trim();
        (!text.is_empty()).then(|| format!("Not answered yet:\n\n{text}"))
    }
}

/// Whether a cut before this turn leaves all tool uses with their results.
fn is_seam(turns: &[Turn], at: usize) -> bool {
    let (Some(before), Some(turn)) = (at.checked_sub(1).map(|at| &turns[at]), turns.get(at)) else {
        return false;
    };
    let same_side = turns.get(at..).unwrap_or_default();
    let same_side = same_side.iter().take_while(|other| other.role == turn.role);
    before.role != turn.role
        && !same_side
            .flat_map(|turn| &turn.blocks)
            .any(|block| matches!(block, Block::ToolResult(_)))
}

#[cfg(test)]
mod tests;
