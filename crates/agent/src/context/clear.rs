//! Replaces old tool results by placeholders.

use llm::{Block, Role, ToolResult, ToolUse, Turn};
use protocol::ClearedResult;

use crate::context::estimate::{Estimator, result_bytes};
use crate::context::limits::Limits;
use crate::context::transcript::clip;

/// A result is cleared only if it is longer than its placeholder by more than this, in bytes.
const WORTH: usize = 100;
/// How much of the arguments of a call its placeholder repeats, in bytes.
const ARGUMENTS: usize = 160;

/// A result that was replaced by a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The turn it stands in.
    pub turn: usize,
    /// Its place among the blocks of the turn.
    pub block: usize,
    pub content: String,
}

/// What decides which results may be cleared.
pub struct ClearingRules<'a> {
    pub limits: &'a Limits,
    pub estimator: &'a Estimator,
    /// Whether the results of a tool always stay.
    pub is_kept: &'a dyn Fn(&str) -> bool,
    /// Where the whole results can be read, in a form that the model can use.
    pub records: &'a str,
}

/// One tool result with its place and the call that it answers.
struct FoundResult<'a> {
    turn: usize,
    block: usize,
    result: &'a ToolResult,
    call: Option<&'a ToolUse>,
}

/// The results that should be cleared now, those with images first and then the oldest; none while a request of `bytes` fills less
/// than its share of the window, or if too little would be saved.
///
/// Each clearing makes the provider's prompt cache miss for everything behind it. Therefore it clears
/// as much as it takes to be rare. The newest results and those that the model has not seen stay.
pub fn plan_clearing(
    turns: &[Turn],
    bytes: usize,
    rules: &ClearingRules<'_>,
) -> Vec<ClearedResult> {
    let ClearingRules {
        limits, estimator, ..
    } = rules;
    let last_reply = turns.iter().rposition(|turn| turn.role == Role::Assistant);
    let (Some(last_reply), true) = (last_reply, estimator.tokens(bytes) > limits.clear_above)
    else {
        return Vec::new();
    };
    let results = results(turns);
    let seen = results.partition_point(|found| found.turn < last_reply);
    let old = seen.min(results.len().saturating_sub(limits.keep_results));
    let mut saved = 0;
    let mut planned = Vec::new();
    let old = results.iter().take(old);
    let (seen, read): (Vec<_>, Vec<_>) = old.partition(|found| !found.result.images.is_empty());
    for found in seen.into_iter().chain(read) {
        if estimator.tokens(bytes - saved) <= limits.clear_down_to() {
            break;
        }
        if let Some(placeholder) = found.placeholder(rules) {
            saved += result_bytes(found.result) - placeholder.len();
            planned.push(ClearedResult {
                turn: found.turn,
                block: found.block,
                placeholder,
            });
        }
    }
    if estimator.tokens(saved) < limits.clear_at_least {
        planned.clear();
    }
    planned
}

/// Puts the placeholders in the places of the results, and returns what those said. A place without a
/// result is passed over.
pub fn clear_results(turns: &mut [Turn], results: Vec<ClearedResult>) -> Vec<Cleared> {
    let clear = |result: ClearedResult| {
        let turn = turns.get_mut(result.turn)?;
        let Block::ToolResult(found) = turn.blocks.get_mut(result.block)? else {
            return None;
        };
        found.images.clear();
        let content = std::mem::replace(&mut found.content, result.placeholder);
        Some(Cleared {
            turn: result.turn,
            block: result.block,
            content,
        })
    };
    results.into_iter().filter_map(clear).collect()
}

impl FoundResult<'_> {
    /// What is to stand in the place of the result, if it is to be cleared.
    fn placeholder(&self, rules: &ClearingRules<'_>) -> Option<String> {
        let call = self.call?;
        if (rules.is_kept)(&call.name) {
            return None;
        }
        let (name, id, records) = (&call.name, &call.id, rules.records);
        let arguments = clip(call.replayed_input().get(), ARGUMENTS);
        let text = format!(
            "[Cleared: the output of {name} {arguments}. The full text is in {records}, in the \
             result with the tool_use_id {id}.]"
        );
        (result_bytes(self.result) > text.len() + WORTH).then_some(text)
    }
}

/// All results in order.
fn results(turns: &[Turn]) -> Vec<FoundResult<'_>> {
    let mut results = Vec::new();
    let mut calls: Vec<&ToolUse> = Vec::new();
    let mut last = Role::User;
    for (turn, value) in turns.iter().enumerate() {
        if value.role == Role::Assistant && last == Role::User {
            calls.clear();
        }
        last = value.role;
        for (block, value) in value.blocks.iter().enumerate() {
            match value {
                Block::ToolUse(tool_use) => calls.push(tool_use),
                Block::ToolResult(result) => {
                    let call = calls.iter().find(|call| call.id == result.tool_use_id);
                    results.push(FoundResult {
                        turn,
                        block,
                        result,
                        call: call.copied(),
                    });
                }
                Block::Text { .. }
                | Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::Image(_)
                | Block::Opaque { .. } => {}
            }
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(tools: &[&str], size: usize) -> Vec<Turn> {
        let mut turns = vec![Turn::user("begin")];
        for (at, tool) in tools.iter().enumerate() {
            let id = format!("u{at}");
            let tool_use = ToolUse::new(&id, *tool, r#"{"command":"ls"}"#);
            turns.push(Turn::assistant(vec![Block::ToolUse(tool_use)]));
            turns.push(Turn::results([ToolResult::ok(&id, "x".repeat(size))]));
        }
        turns
    }

    /// The turns whose results would be cleared, in a window of this many tokens.
    fn planned(turns: &[Turn], window: u64) -> Vec<usize> {
        let rules = ClearingRules {
            limits: &Limits::for_window(window),
            estimator: &Estimator::default(),
            is_kept: &|tool| tool == "read_inbox",
            records: "journal",
        };
        let bytes = crate::context::turns_bytes(turns);
        let planned = plan_clearing(turns, bytes, &rules);
        planned.iter().map(|result| result.turn).collect()
    }

    #[test]
    fn results_with_images_go_first_and_their_images_with_them() {
        let mut turns = conversation(
            &["bash", "read_file", "bash", "bash", "bash", "bash"],
            5_000,
        );
        let image = llm::Image::new("image/png", &[1; 3_000]);
        let Block::ToolResult(result) = &mut turns[4].blocks[0] else {
            panic!("a result");
        };
        (result.content, result.images) = ("seen".into(), vec![image; 2]);
        let limits = Limits {
            clear_at_least: 1,
            ..Limits::for_window(10_000)
        };
        let rules = ClearingRules {
            limits: &limits,
            estimator: &Estimator::default(),
            is_kept: &|_| false,
            records: "records",
        };
        let planned = plan_clearing(&turns, 40_000, &rules);
        assert_eq!(planned[0].turn, 4, "{planned:?}");
        clear_results(&mut turns, planned);
        let Block::ToolResult(result) = &turns[4].blocks[0] else {
            panic!("a result");
        };
        assert!(result.images.is_empty() && result.content.starts_with("[Cleared"));
    }

    #[test]
    fn nothing_is_cleared_before_half_of_the_window_is_full() {
        // About 5,000 tokens.
        let turns = conversation(&["bash"; 10], 2_000);
        assert!(planned(&turns, 200_000).is_empty());
        assert!(planned(&turns, 11_000).is_empty());
        assert_eq!(planned(&turns, 9_000), [2, 4, 6, 8, 10, 12, 14]);
    }

    #[test]
    fn the_oldest_give_way_in_one_step_to_a_quarter_of_the_window() {
        let mut turns = conversation(&["bash"; 20], 2_000);
        let first = planned(&turns, 16_000);
        assert_eq!(first.first(), Some(&2));
        assert!((10..=16).contains(&first.len()), "{first:?}");
        let clear = |turn: &usize| ClearedResult {
            turn: *turn,
            block: 0,
            placeholder: "gone".to_owned(),
        };
        let cleared = clear_results(&mut turns, first.iter().map(clear).collect());
        assert_eq!(cleared[0].content.len(), 2_000);
        assert_eq!(turns[2], Turn::results([ToolResult::ok("u0", "gone")]));
        assert!(
            planned(&turns, 16_000).is_empty(),
            "the next step is far away"
        );
    }

    #[test]
    fn mail_and_the_newest_results_stay() {
        let turns = conversation(
            &["bash", "read_inbox", "bash", "bash", "bash", "bash"],
            4_000,
        );
        assert_eq!(planned(&turns, 4_000), [2, 6]);
    }

    #[test]
    fn short_results_stay() {
        assert!(planned(&conversation(&["bash"; 50], 200), 2_000).is_empty());
    }

    #[test]
    fn a_placeholder_says_what_it_stands_for_and_where_the_text_is() {
        let turns = conversation(&["bash"; 10], 2_000);
        let rules = ClearingRules {
            limits: &Limits::for_window(8_000),
            estimator: &Estimator::default(),
            is_kept: &|_| false,
            records: ".team/members/alice/transcript.jsonl",
        };
        let planned = plan_clearing(&turns, 20_000, &rules);
        assert_eq!(
            planned[0].placeholder,
            "[Cleared: the output of bash {\"command\":\"ls\"}. The full text is in \
             .team/members/alice/transcript.jsonl, in the result with the tool_use_id u0.]"
        );
    }

    #[test]
    fn results_that_the_model_has_not_seen_stay() {
        let mut turns = conversation(&["bash"], 5_000);
        let uses = (0..9).map(|at| Block::ToolUse(ToolUse::new(format!("p{at}"), "bash", "")));
        turns.push(Turn::assistant(uses.collect()));
        let results = (0..9).map(|at| ToolResult::ok(format!("p{at}"), "y".repeat(5_000)));
        turns.push(Turn::results(results));
        assert_eq!(planned(&turns, 8_000), [2]);
    }
}
