//! Replaces old tool results by placeholders.

use llm::{Block, Role, ToolResult, Turn};

use crate::context::estimate::Estimator;
use crate::context::limits::Limits;

/// Results of this tool stay: agents that lose what they read read it again.
const KEPT_TOOL: &str = "read_file";
/// A result that is not longer than this stays, since nothing is gained by clearing it.
const SHORT: usize = 100;
const PLACEHOLDER: &str = "[Previous: used ";

/// A result that was replaced by a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The turn it stands in.
    pub turn: usize,
    /// Its place among the blocks of the turn.
    pub block: usize,
    /// What it said.
    pub content: String,
}

/// One tool result with its place and the name of its tool.
struct Place<'a> {
    turn: usize,
    block: usize,
    result: &'a ToolResult,
    tool: &'a str,
}

/// How many results, counted from the start of the conversation, should be cleared now; nothing if
/// too little would be saved. The newest results and those that the model has not seen stay.
pub fn plan_clearing(turns: &[Turn], limits: &Limits, estimator: &Estimator) -> Option<usize> {
    let last_reply = turns
        .iter()
        .rposition(|turn| turn.role == Role::Assistant)?;
    let places = places(turns);
    let seen = places.partition_point(|place| place.turn < last_reply);
    let old = seen.min(places.len().saturating_sub(limits.keep_results));
    let clearable = places.iter().take(old).filter(|place| place.is_clearable());
    let saved: usize = clearable
        .map(|place| place.result.content.len() - SHORT)
        .sum();
    (saved > 0 && estimator.tokens(saved) >= limits.clear_at_least).then_some(old)
}

/// Clears those of the first `count` results that may be, and returns what they said.
pub fn clear_results(turns: &mut [Turn], count: usize) -> Vec<Cleared> {
    let places = places(turns);
    let clearable = places
        .iter()
        .take(count)
        .filter(|place| place.is_clearable());
    let found: Vec<(usize, usize, String)> = clearable
        .map(|place| (place.turn, place.block, placeholder(place.tool)))
        .collect();
    let mut cleared = Vec::with_capacity(found.len());
    for (turn, block, text) in found {
        if let Some(Block::ToolResult(result)) = turns[turn].blocks.get_mut(block) {
            let content = std::mem::replace(&mut result.content, text);
            cleared.push(Cleared {
                turn,
                block,
                content,
            });
        }
    }
    cleared
}

impl Place<'_> {
    fn is_clearable(&self) -> bool {
        let content = &self.result.content;
        self.tool != KEPT_TOOL
            && content.len() > SHORT.max(placeholder(self.tool).len())
            && !content.starts_with(PLACEHOLDER)
    }
}

fn placeholder(tool: &str) -> String {
    format!("{PLACEHOLDER}{tool}]")
}

/// All results in order.
fn places(turns: &[Turn]) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut last = Role::User;
    for (turn, value) in turns.iter().enumerate() {
        if value.role == Role::Assistant && last == Role::User {
            names.clear();
        }
        last = value.role;
        for (block, value) in value.blocks.iter().enumerate() {
            match value {
                Block::ToolUse(tool_use) => names.push((&tool_use.id, &tool_use.name)),
                Block::ToolResult(result) => {
                    let name = names.iter().find(|(id, _)| *id == result.tool_use_id);
                    places.push(Place {
                        turn,
                        block,
                        result,
                        tool: name.map_or("a tool", |(_, name)| *name),
                    });
                }
                Block::Text { .. }
                | Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::Opaque { .. } => {}
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::ToolUse;

    fn conversation(tools: &[&str], size: usize) -> Vec<Turn> {
        let mut turns = vec![Turn::user("begin")];
        for (at, tool) in tools.iter().enumerate() {
            let id = format!("u{at}");
            turns.push(Turn::assistant(vec![Block::ToolUse(ToolUse::new(
                &id, *tool, "",
            ))]));
            turns.push(Turn::results([ToolResult::ok(&id, "x".repeat(size))]));
        }
        turns
    }

    fn limits(clear_at_least: u64) -> Limits {
        Limits {
            clear_at_least,
            ..Limits::default()
        }
    }

    #[test]
    fn old_results_give_way_but_the_newest_and_file_reads_stay() {
        let mut turns = conversation(&["bash", "read_file", "bash", "bash", "bash", "bash"], 500);
        let count = plan_clearing(&turns, &limits(1), &Estimator::default()).unwrap();
        assert_eq!(count, 3);
        let cleared = clear_results(&mut turns, count);
        let places: Vec<usize> = cleared.iter().map(|cleared| cleared.turn).collect();
        assert_eq!(places, [2, 6]);
        assert_eq!(cleared[0].content.len(), 500);
        assert_eq!(
            turns[2],
            Turn::results([ToolResult::ok("u0", "[Previous: used bash]")])
        );
        assert_eq!(turns[4], conversation(&["", "read_file"], 500)[4]);
        assert_eq!(clear_results(&mut turns, count), []);
    }

    #[test]
    fn nothing_is_done_until_it_is_worth_it() {
        let few = conversation(&["bash"; 6], 500);
        assert_eq!(
            plan_clearing(&few, &limits(1_000), &Estimator::default()),
            None
        );
        let many = conversation(&["bash"; 20], 500);
        assert_eq!(
            plan_clearing(&many, &limits(1_000), &Estimator::default()),
            Some(17)
        );
        let short = conversation(&["bash"; 20], 100);
        assert_eq!(
            plan_clearing(&short, &limits(0), &Estimator::default()),
            None
        );
    }

    #[test]
    fn results_that_the_model_has_not_seen_stay() {
        let mut turns = conversation(&["bash"], 500);
        let uses = (0..9).map(|at| Block::ToolUse(ToolUse::new(format!("p{at}"), "bash", "")));
        turns.push(Turn::assistant(uses.collect()));
        let results = (0..9).map(|at| ToolResult::ok(format!("p{at}"), "y".repeat(500)));
        turns.push(Turn::results(results));
        assert_eq!(
            plan_clearing(&turns, &limits(1), &Estimator::default()),
            Some(1)
        );
    }
}
