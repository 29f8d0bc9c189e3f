//! Replaces the whole conversation by a summary, or by its newest part.

use llm::{Block, Request, Role, Turn};

use crate::context::estimate::{Estimator, turns_bytes};
use crate::context::limits::Limits;
use crate::context::transcript::{clip, clip_evenly, transcript, unanswered};

/// The most that a summary is asked to have, in tokens.
const LONGEST_SUMMARY: u64 = 4_000;
const SHORTEST_SUMMARY: u64 = 64;
/// A message or a result of this size that has no answer yet is never shortened, in bytes, unless the
/// model's window is very small.
pub const KEPT_WHOLE: usize = 8_000;

const SUMMARY_SYSTEM: &str = "You summarise the conversation of an agent with its tools and its \
     users, so that the agent can go on working from your summary alone. Answer with the summary \
     only.";

const SUMMARY_QUESTION: &str = "Summarise the conversation above for the agent that will go on \
     with it. Say:\n\
     1. what was asked for and what was done,\n\
     2. the current state: files, results, what works and what does not,\n\
     3. the decisions that were made, and why,\n\
     4. the requests and questions that are still open, from whom, with their exact identifiers,\n\
     5. what comes next.\n\
     Keep names, paths, numbers and identifiers exactly as they are.";

/// How a conversation is to be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How much of the conversation a summary is made from, in bytes.
    transcript_room: usize,
    /// How much each of the parts of the new conversation may have, in bytes.
    part_room: usize,
    /// How much of what has no answer yet stays as it is, in bytes.
    unanswered_room: usize,
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

    /// The request for a summary of these turns, which stresses the focus if there is one.
    pub fn request(&self, turns: &[Turn], focus: Option<&str>) -> Request {
        let conversation = transcript(turns, self.transcript_room);
        let mut question =
            format!("<conversation>\n{conversation}</conversation>\n\n{SUMMARY_QUESTION}");
        if let Some(focus) = focus {
            question.push_str("\nTake the most care of this: ");
            question.push_str(focus);
        }
        Request {
            system: SUMMARY_SYSTEM.to_owned(),
            turns: vec![Turn::user(question)],
            max_tokens: self.summary_tokens,
            ..Request::default()
        }
    }

    /// The conversation after a summary: one turn of the user with the summary, the place where the
    /// whole conversation can be read, and what the model has not answered yet.
    pub fn after(&self, turns: &[Turn], summary: &str, archive: &str) -> Vec<Turn> {
        let summary = clip(summary.trim(), self.part_room);
        let mut blocks = vec![Block::text(format!(
            "[Conversation compressed. Transcript: {archive}]\n\n{summary}"
        ))];
        blocks.extend(self.unanswered(turns).map(Block::text));
        vec![Turn {
            role: Role::User,
            blocks,
        }]
    }

    /// The conversation after a cut: a note about it, how the conversation began, and as many of the
    /// newest turns as there is room for, from a place where no tool use is parted from its result.
    pub fn cut(&self, turns: &[Turn], archive: &str) -> Vec<Turn> {
        let begun = turns.first().map(std::slice::from_ref).unwrap_or_default();
        let begun = clip(transcript(begun, self.part_room).trim(), self.part_room);
        let mut note = vec![Block::text(format!(
            "[Earlier conversation cut. Transcript: {archive}]\n\nIt began with:\n{begun}"
        ))];
        let from = self.cut_at(turns);
        let kept = from.map(|from| turns.get(from..).unwrap_or_default());
        let Some((first, rest)) = kept.and_then(<[Turn]>::split_first) else {
            note.extend(self.unanswered(turns).map(Block::text));
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
    /// messages.
    fn unanswered(&self, turns: &[Turn]) -> Option<String> {
        let room = self.unanswered_room;
        let texts = clip_evenly(&unanswered(turns), room, KEPT_WHOLE.min(room));
        let text = texts.concat();
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
