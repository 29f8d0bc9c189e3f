//! What an agent is sent.

use llm::{Block, Request, Role, Turn};

/// How much of what was said before a new session is told, and how much of one turn.
const MAX_HISTORY_CHARS: usize = 20_000;
const MAX_TURN_CHARS: usize = 2_000;

const INTERRUPTED: &str = "<interrupted>You may have been given this before: the process that worked on it ended \
     before it had answered. Find out what was done already before you repeat anything.</interrupted>";

/// The text of a prompt: the last turn of the request. In front of it stands, in a new session, the introduction
/// and what was said before.
pub(super) fn compose(
    request: &Request,
    introduction: Option<&str>,
    was_interrupted: bool,
) -> String {
    let (before, input) = match request.turns.split_last() {
        Some((last, before)) => (before, text_of(last)),
        None => (request.turns.as_slice(), String::new()),
    };
    let mut parts = Vec::new();
    if let Some(introduction) = introduction {
        parts.push(introduction.to_owned());
        parts.extend(history(before));
    }
    if was_interrupted {
        parts.push(INTERRUPTED.to_owned());
    }
    parts.push(input);
    parts.join("\n\n")
}

/// What was said before, as far as there is room, the newest of it in any case.
fn history(turns: &[Turn]) -> Option<String> {
    let mut room = MAX_HISTORY_CHARS;
    let mut lines = Vec::new();
    for turn in turns.iter().rev() {
        let who = match turn.role {
            Role::User => "you were told",
            Role::Assistant => "you answered",
        };
        let text: String = text_of(turn).chars().take(MAX_TURN_CHARS).collect();
        let size = text.chars().count();
        if text.trim().is_empty() {
            continue;
        }
        if size > room {
            break;
        }
        room -= size;
        lines.push(format!("[{who}] {}", text.replace("</", "< /")));
    }
    lines.reverse();
    let text = lines.join("\n");
    (!text.is_empty()).then(|| format!("<earlier-session>\n{text}\n</earlier-session>"))
}

fn text_of(turn: &Turn) -> String {
    let texts = turn.blocks.iter().filter_map(Block::readable_text);
    texts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_is_told_what_was_said_and_an_old_one_is_not() {
        let request = Request {
            turns: vec![
                Turn::user("Paint it."),
                Turn::assistant(vec![Block::text("It is blue.")]),
                Turn::user("And now red."),
            ],
            ..Request::default()
        };
        assert_eq!(compose(&request, None, false), "And now red.");
        let first = compose(&request, Some("You are carol."), true);
        let places = [
            "You are carol.",
            "Paint it.",
            "It is blue.",
            "<interrupted>",
            "And now red.",
        ]
        .map(|part| first.find(part).unwrap());
        assert!(places.is_sorted(), "{first}");
    }
}
