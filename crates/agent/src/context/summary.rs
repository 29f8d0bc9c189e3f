//! The question for a summary, and the check of the answer.

use llm::{Reply, StopReason};
use std::fmt;

/// The parts that a summary must have, each with what belongs there.
const PARTS: [(&str, &str); 5] = [
    ("Goal", "what was asked for, and by whom"),
    (
        "Done",
        "what was done, and the decisions with their reasons",
    ),
    (
        "Files",
        "the state of files and results: what works and what does not",
    ),
    (
        "Open points",
        "requests and questions that are still open, from whom, with their exact identifiers",
    ),
    ("Next step", "what is to be done next"),
];

/// Why a reply is no summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    CalledTool,
    Refused,
    /// It lacks these parts.
    Lacks(Vec<&'static str>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CalledTool => f.write_str("it called a tool"),
            Self::Refused => f.write_str("it was a refusal"),
            Self::Lacks(parts) => write!(f, "it lacked text below: {}", parts.join(", ")),
        }
    }
}

/// The question for a summary of at most so many tokens, which stresses the focus if there is one,
/// and says what was wrong with the answer before.
pub(crate) fn question(tokens: u32, focus: Option<&str>, fault: Option<&Fault>) -> String {
    let mut text =
        "<summary-request>\nThe conversation grows too long for your window. The program \
         replaces everything above by your answer to this message, and you go on working from it \
         alone. Call no tool now. Write these five headings, each on a line of its own, with text \
         below each of them, or \"none\":\n"
            .to_owned();
    for (name, content) in PARTS {
        text += &format!("## {name}\n{content}\n");
    }
    // A word has more than a token.
    let words = tokens / 2;
    text += &format!(
        "Keep names, paths, numbers and identifiers exactly as they are. What people told you, your \
         task and the state of the team are kept by the program. Write at most {words} words."
    );
    if let Some(fault) = fault {
        text += &format!("\nYour last answer to this was not taken: {fault}.");
    }
    if let Some(focus) = focus {
        text += &format!("\nTake the most care of this: {focus}");
    }
    text += "\n</summary-request>";
    text
}

/// The summary that a reply is, if it has all parts and nothing else was done.
pub(crate) fn check(reply: &Reply) -> Result<String, Fault> {
    if reply.tool_uses().next().is_some() {
        return Err(Fault::CalledTool);
    }
    if matches!(reply.stop, StopReason::Refusal { .. }) {
        return Err(Fault::Refused);
    }
    let text = reply.text();
    let missing = missing(&text);
    if missing.is_empty() {
        Ok(text)
    } else {
        Err(Fault::Lacks(missing))
    }
}

/// The parts without any text.
fn missing(text: &str) -> Vec<&'static str> {
    let mut current = None;
    let mut found = [false; PARTS.len()];
    for line in text.lines() {
        let content = match heading(line) {
            Some((place, rest)) => {
                current = Some(place);
                rest
            }
            None => line,
        };
        if let Some(place) = current
            && !content.trim().is_empty()
        {
            found[place] = true;
        }
    }
    let parts = PARTS.iter().zip(found);
    let missing = parts.filter(|(_, found)| !found);
    missing.map(|((name, _), _)| *name).collect()
}

/// Which heading a line is, and what follows it on the same line. Models number them, and mark them in
/// other ways.
fn heading(line: &str) -> Option<(usize, &str)> {
    let is_mark = |c: char| matches!(c, '#' | '*' | '_' | '.' | ')' | ' ') || c.is_ascii_digit();
    let line = line.trim_start_matches(is_mark);
    let of = |(place, (name, _)): (usize, &(&str, &str))| {
        let start = line.get(..name.len())?;
        let rest = line.get(name.len()..)?;
        let rest = rest.trim_matches(|c: char| matches!(c, '*' | '_' | ' '));
        let is_alone = rest.is_empty() || rest.starts_with(':');
        let content = rest.trim_start_matches(':');
        (start.eq_ignore_ascii_case(name) && is_alone).then_some((place, content))
    };
    PARTS.iter().enumerate().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{Block, ToolUse};

    const GOOD: &str = "## Goal\nA house.\n## Done\nThe walls.\n## Files\nhouse.rs compiles.\n\
         ## Open points\nnone\n## Next step\nThe roof.";

    fn reply(text: &str) -> Reply {
        Reply {
            blocks: vec![Block::text(text)],
            stop: StopReason::EndTurn,
            usage: None,
            model: "m".to_owned(),
        }
    }

    #[test]
    fn a_summary_has_all_parts() {
        assert_eq!(check(&reply(GOOD)), Ok(GOOD.to_owned()));
        let other = "Here it is.\n1. **Goal:** a house\n2. **Done**\nwalls\n\n**FILES**\n- x\n\
             ### Open points:\nnone\nNext step: the roof";
        assert!(check(&reply(other)).is_ok());
    }

    #[test]
    fn a_reply_without_the_parts_is_none() {
        let lacks = |text: &str| match check(&reply(text)) {
            Err(Fault::Lacks(parts)) => parts,
            other => panic!("{other:?}"),
        };
        assert_eq!(lacks("step 0").len(), 5);
        assert_eq!(
            lacks(&GOOD.replace("## Files\nhouse.rs compiles.\n", "")),
            ["Files"]
        );
        assert_eq!(lacks(&GOOD.replace("The roof.", " ")), ["Next step"]);
        assert_eq!(lacks("Goals matter.\nDone deal"), lacks(""));
    }

    #[test]
    fn a_reply_that_does_something_else_is_none() {
        let mut called = reply(GOOD);
        let tool_use = ToolUse::new("a", "bash", "{}");
        called.blocks.push(Block::ToolUse(tool_use));
        assert_eq!(check(&called), Err(Fault::CalledTool));
        let mut refused = reply(GOOD);
        refused.stop = StopReason::Refusal {
            category: None,
            explanation: None,
        };
        assert_eq!(check(&refused), Err(Fault::Refused));
    }

    #[test]
    fn the_question_names_the_parts_the_focus_and_the_fault() {
        let asked = question(4_000, Some("the roof"), Some(&Fault::CalledTool));
        for (name, _) in PARTS {
            assert!(asked.contains(&format!("\n## {name}\n")), "{asked}");
        }
        assert!(asked.contains("not taken: it called a tool."), "{asked}");
        assert!(asked.contains("care of this: the roof\n"), "{asked}");
        assert_eq!(
            missing(&asked),
            [""; 0],
            "what the question shows is an answer"
        );
    }
}
