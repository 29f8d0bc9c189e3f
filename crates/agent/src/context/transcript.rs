//! A conversation as plain text, for a model that summarises it.

use llm::{Block, Role, Turn};

/// How much of one tool's input or result is shown, in bytes.
const LONGEST_PART: usize = 4_000;
/// The same where only what was done matters.
const SHORT_PART: usize = 200;
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
    fitted(turns, room, LONGEST_PART)
}

/// The same with only the start and the end of each tool's input and result.
pub(crate) fn digest(turns: &[Turn], room: usize) -> String {
    fitted(turns, room, SHORT_PART)
}

fn fitted(turns: &[Turn], room: usize, longest: usize) -> String {
    let parts = parts(turns, longest).into_iter();
    let parts: Vec<String> = parts.map(|blocks| blocks.concat()).collect();
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

/// What the user's side has said since the model's last reply: each message and each result whole,
/// but for the messages that are left out.
pub(crate) fn unanswered(turns: &[Turn], is_left_out: impl Fn(&str) -> bool) -> Vec<String> {
    let end = answered(turns);
    let (before, open) = turns.split_at(end);
    // The last reply names the tools of the results, and may have come in several turns.
    let start = before.iter().rposition(|turn| turn.role == Role::User);
    let start = start.map_or(0, |at| at + 1);
    let reply = before.get(start..).unwrap_or_default();
    let turns = [reply, &without_texts(open, is_left_out)].concat();
    let parts = parts(&turns, usize::MAX);
    parts.get(end - start..).unwrap_or_default().concat()
}

/// Some turns without the texts that are left out.
pub(crate) fn without_texts(turns: &[Turn], is_left_out: impl Fn(&str) -> bool) -> Vec<Turn> {
    let stays = |block: &&Block| !matches!(block, Block::Text { text } if is_left_out(text));
    let turns = turns.iter().map(|turn| Turn {
        role: turn.role,
        blocks: turn.blocks.iter().filter(stays).cloned().collect(),
    });
    turns.collect()
}

/// The texts of the user's side since the model's last reply.
pub(crate) fn unanswered_texts(turns: &[Turn]) -> Vec<&str> {
    texts(turns.get(answered(turns)..).unwrap_or_default())
}

/// The texts of some turns.
pub(crate) fn texts(turns: &[Turn]) -> Vec<&str> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    let texts = blocks.filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// How many turns there are up to the model's last reply.
fn answered(turns: &[Turn]) -> usize {
    let last = turns.iter().rposition(|turn| turn.role == Role::Assistant);
    last.map_or(0, |at| at + 1)
}

/// Texts, each clipped to the same length, so that all of them fit in `room`. None is clipped to less
/// than `shortest`, even if they do not fit then.
pub(crate) fn clip_evenly(texts: &[String], room: usize, shortest: usize) -> Vec<String> {
    let mut lengths: Vec<usize> = texts.iter().map(String::len).collect();
    lengths.sort_unstable();
    let mut left = room;
    let mut longest = usize::MAX;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if *length > share {
            longest = share.max(shortest);
            break;
        }
        left -= length;
    }
    texts.iter().map(|text| clip(text, longest)).collect()
}

/// The blocks of each turn as texts, with the input and the result of a tool clipped to `longest`.
fn parts(turns: &[Turn], longest: usize) -> Vec<Vec<String>> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut parts = Vec::with_capacity(turns.len());
    for turn in turns {
        let mut blocks = Vec::with_capacity(turn.blocks.len());
        for block in &turn.blocks {
            if let Block::ToolUse(tool_use) = block {
                names.push((&tool_use.id, &tool_use.name));
            }
            let text = block_text(turn.role, block, &names, longest);
            blocks.extend(text.map(|text| text + "\n\n"));
        }
        parts.push(blocks);
    }
    parts
}

fn block_text(role: Role, block: &Block, names: &[(&str, &str)], longest: usize) -> Option<String> {
    let speaker = match role {
        Role::User => "User",
        Role::Assistant => "Assistant",
    };
    match block {
        Block::ToolUse(tool_use) => {
            let input = clip(tool_use.replayed_input().get(), longest);
            Some(format!("Assistant uses {}: {input}", tool_use.name))
        }
        Block::ToolResult(result) => {
            let name = names.iter().rev().find(|(id, _)| *id == result.tool_use_id);
            let name = name.map_or("a tool", |(_, name)| *name);
            let content = clip(&result.content, longest);
            Some(format!("Result of {name}: {content}"))
        }
        Block::Text { .. } | Block::Opaque { .. } => {
            let text = block.readable_text()?;
            Some(format!("{speaker}: {text}"))
        }
        Block::Image(image) => Some(format!("{speaker}: {image:?}")),
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
    fn long_texts_are_clipped_before_short_ones() {
        let texts = ["a".repeat(100), "b".repeat(9_000), "c".repeat(9_000)];
        let clipped = clip_evenly(&texts, 4_100, 10);
        assert_eq!(clipped[0], texts[0]);
        assert!(clipped.concat().len() < 4_200, "{}", clipped.concat().len());
        assert!(clipped[2].starts_with("ccc") && clipped[2].ends_with("ccc"));
        assert_eq!(clip_evenly(&texts, 20_000, 10), texts);
        let many = vec!["d".repeat(100); 50];
        assert_eq!(
            clip_evenly(&many, 1_000, 200),
            many,
            "short ones stay whole"
        );
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
