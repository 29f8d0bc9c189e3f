//! A conversation as text, for those who read it from outside.

use llm::{Block, Role, Turn};

/// How much of one tool's input or result is shown, in bytes.
const LONGEST_PART: usize = 4_000;
/// The share of the room that the start of a conversation gets when not all of it fits.
const START_SHARE: usize = 4;

/// A text of at most about `most` bytes: if it is longer, its start and its end with a note about
/// what is missing between them.
pub fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let left_out = tail - head;
    let head = text.get(..head).unwrap_or_default();
    let tail = text.get(tail..).unwrap_or_default();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// The turns as text of at most about `room` bytes. The newest are always there. The first turn is
/// there too, shortened if need be, since it says what the work is about; turns between may be left
/// out.
pub fn transcript(turns: &[Turn], room: usize) -> String {
    let parts: Vec<String> = parts(turns);
    if parts.iter().map(String::len).sum::<usize>() <= room {
        return parts.concat();
    }
    let Some((first, rest)) = parts.split_first() else {
        return String::new();
    };
    let first = clip(first, room / START_SHARE);
    let mut left = room.saturating_sub(first.len());
    let mut from = rest.len();
    for (at, part) in rest.iter().enumerate().rev() {
        if part.len() > left {
            break;
        }
        left -= part.len();
        from = at;
    }
    // The newest turn alone may be too large.
    let newest = match rest.split_last() {
        Some((newest, _)) if from == rest.len() => clip(newest, left),
        Some(_) | None => rest.get(from..).unwrap_or_default().concat(),
    };
    let left_out = from.min(rest.len().saturating_sub(1));
    format!("{first}\n[... {left_out} turns left out ...]\n\n{newest}")
}

/// What the user's side has said since the model's last reply, as text.
pub(crate) fn unanswered(turns: &[Turn]) -> String {
    let end = turns.iter().rposition(|turn| turn.role == Role::Assistant);
    let end = end.map_or(0, |at| at + 1);
    let (answered, _) = turns.split_at(end);
    // The last reply names the tools of the results, and may have come in several turns.
    let before = answered.iter().rposition(|turn| turn.role == Role::User);
    let start = before.map_or(0, |at| at + 1);
    let parts = parts(turns.get(start..).unwrap_or_default());
    parts.get(end - start..).unwrap_or_default().concat()
}

/// Each turn as text.
fn parts(turns: &[Turn]) -> Vec<String> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut parts = Vec::with_capacity(turns.len());
    for turn in turns {
        let mut part = String::new();
        for block in &turn.blocks {
            if let Block::ToolUse(tool_use) = block {
                names.push((&tool_use.id, &tool_use.name));
            }
            if let Some(text) = block_text(turn.role, block, &names) {
                part.push_str(&text);
                part.push_str("\n\n");
            }
        }
        parts.push(part);
    }
    parts
}

fn block_text(role: Role, block: &Block, names: &[(&str, &str)]) -> Option<String> {
    let speaker = match role {
        Role::User => "User",
        Role::Assistant => "Assistant",
    };
    match block {
        Block::ToolUse(tool_use) => {
            let input = clip(tool_use.replayed_input().get(), LONGEST_PART);
            Some(format!("Assistant uses {}: {input}", tool_use.name))
        }
        Block::ToolResult(result) => {
            let name = names.iter().rev().find(|(id, _)| *id == result.tool_use_id);
            let name = name.map_or("a tool", |(_, name)| *name);
            let content = clip(&result.content, LONGEST_PART);
            Some(format!("Result of {name}: {content}"))
        }
        Block::Text { .. } | Block::Opaque { .. } => {
            let text = block.readable_text()?;
            Some(format!("{speaker}: {text}"))
        }
        Block::Thinking { .. } | Block::RedactedThinking { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{ToolResult, ToolUse};

    #[test]
    fn a_text_is_clipped_in_its_middle_between_characters() {
        assert_eq!(clip("short", 5), "short");
        let clipped = clip(&"ü".repeat(100), 21);
        assert!(clipped.starts_with("üüüüü\n[... "), "{clipped}");
        assert!(clipped.ends_with("\nüüüüü"), "{clipped}");
    }

    #[test]
    fn a_transcript_names_speakers_and_tools() {
        let turns = [
            Turn::user("look"),
            Turn::assistant(vec![
                Block::text("I look."),
                Block::ToolUse(ToolUse::new("a", "bash", r#"{"command":"ls"}"#)),
            ]),
            Turn::results([ToolResult::ok("a", "Cargo.toml")]),
        ];
        assert_eq!(
            transcript(&turns, 10_000),
            "User: look\n\nAssistant: I look.\n\nAssistant uses bash: {\"command\":\"ls\"}\n\n\
             Result of bash: Cargo.toml\n\n"
        );
    }

    #[test]
    fn the_start_and_the_newest_part_are_there_when_not_all_fits() {
        let mut turns = vec![Turn::user("the task")];
        for at in 0..200 {
            turns.push(Turn::assistant(vec![Block::text(format!("step {at}"))]));
            turns.push(Turn::user("go on"));
        }
        let text = transcript(&turns, 1_000);
        assert!(text.len() < 1_100, "{}", text.len());
        assert!(text.starts_with("User: the task"));
        assert!(text.contains("step 199") && !text.contains("step 100"));
        turns.push(Turn::user("z".repeat(5_000)));
        let text = transcript(&turns, 1_000);
        assert!(text.len() < 1_200, "{}", text.len());
        assert!(text.ends_with("zzz\n\n"), "{text}");
    }
}
