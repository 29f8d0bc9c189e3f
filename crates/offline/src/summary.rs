//! The summary of a conversation: what has to be lived through again to go on.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::follower::guess;
use super::letters::{Mail, News, news};
use super::step::Answered;
use llm::{Block, Role, Turn};

/// The line after which the lines of a summary stand.
pub(super) const HEAD: &str = "Journal of the offline model, one step a line:";

const KEPT: usize = 300;
const KEPT_OF_LISTS: usize = 40_000;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Instruction(String),
    Mail(Mail),
    Claimed(i64, String),
    Background(String),
    Result {
        tool: String,
        input: Value,
        content: String,
        failed: bool,
    },
    Said,
}

impl Line {
    /// A result, without the bulk of it that nobody needs again.
    pub(super) fn result(answered: Answered<'_>) -> Self {
        let kept = match answered.tool {
            "read_file" if !answered.failed => 0,
            "bash" if answered.text("command").starts_with("find ") => KEPT_OF_LISTS,
            "task_create" | "read_inbox" => 4 * KEPT,
            _ => KEPT,
        };
        Self::Result {
            tool: answered.tool.to_owned(),
            input: answered.input.clone(),
            content: answered.content.chars().take(kept).collect(),
            failed: answered.failed,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Instruction(text) => json!({"instruction": text}),
            Self::Mail(mail) => json!({"mail": {
                "type": mail.kind, "from": mail.from, "content": mail.content, "request_id": mail.request_id,
                "approve": mail.approve, "plan": mail.plan, "feedback": mail.feedback,
            }}),
            Self::Claimed(id, work) => json!({"claimed": id, "work": work}),
            Self::Background(text) => json!({"background": text}),
            Self::Result {
                tool,
                input,
                content,
                failed,
            } => {
                json!({"tool": tool, "input": input, "content": content, "failed": failed})
            }
            Self::Said => json!({"said": true}),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(text) = text("instruction") {
            return Some(Self::Instruction(text));
        }
        if let Some(mail) = value.get("mail") {
            let mails = super::letters::mails(&mail.to_string())?;
            return mails.into_iter().next().map(Self::Mail);
        }
        if let Some(id) = value.get("claimed").and_then(Value::as_i64) {
            return Some(Self::Claimed(id, text("work")?));
        }
        if let Some(text) = text("background") {
            return Some(Self::Background(text));
        }
        if let Some(tool) = text("tool") {
            let input = value.get("input")?.clone();
            let failed = value.get("failed").and_then(Value::as_bool)?;
            return Some(Self::Result {
                tool,
                input,
                content: text("content")?,
                failed,
            });
        }
        value.get("said").map(|_| Self::Said)
    }
}

/// The summary with these lines.
pub(super) fn write(lines: &[Line]) -> String {
    let mut text = HEAD.to_owned();
    for line in lines {
        text.push('\n');
        text.push_str(&line.to_json().to_string());
    }
    text
}

/// The lines of a summary.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let Some((_, after)) = text.split_once(HEAD) else {
        return Vec::new();
    };
    let values = after
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter_map(|value| Line::from_json(&value)).collect()
}

/// What matters of a conversation, without the question at its end.
pub(super) fn of_turns(turns: &[Turn], question: &str) -> Vec<Line> {
    let mut journal = Journal::default();
    let mut calls: HashMap<&str, (&str, Value)> = HashMap::new();
    let blocks = turns
        .iter()
        .flat_map(|turn| turn.blocks.iter().map(|block| (turn.role, block)));
    for block in blocks {
        match block {
            (Role::Assistant, Block::Text { text }) => journal.said(text),
            (_, Block::Text { text }) if text != question => journal.heard(text),
            (_, Block::ToolUse(used)) => {
                let input = used.replayed_input().read().unwrap_or(Value::Null);
                calls.insert(&used.id, (&used.name, input));
            }
            (_, Block::ToolResult(result)) => {
                if let Some((tool, input)) = calls.remove(result.tool_use_id.as_str()) {
                    let answered = Answered::of(tool, &input, result);
                    journal.lines.push(Line::result(answered));
                }
            }
            _ => {}
        }
    }
    journal.lines
}

/// The same of a conversation that is told as a text, with `User:`, `Assistant:`,
/// `Assistant uses TOOL:` and `Result of TOOL:` before its parts.
pub(super) fn of_transcript(text: &str) -> Vec<Line> {
    const SPEAKERS: [&str; 4] = ["User: ", "Assistant: ", "Assistant uses ", "Result of "];
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        let begins = SPEAKERS.iter().any(|speaker| line.starts_with(speaker));
        match parts.last_mut() {
            Some(part) if !begins => {
                part.push('\n');
                part.push_str(line);
            }
            _ => parts.push(line.to_owned()),
        }
    }
    let mut journal = Journal::default();
    let mut calls: Vec<(String, Value)> = Vec::new();
    let mut repeats = false;
    for part in &parts {
        // After a summary the end of what was summarised may be told once more.
        repeats = match part.trim_end() {
            "User: Not answered yet:" => journal.restored,
            part => repeats && !part.starts_with("Assistant"),
        };
        if repeats {
            continue;
        }
        if let Some(text) = part.strip_prefix("User: ") {
            journal.heard(text);
        } else if let Some(text) = part.strip_prefix("Assistant: ") {
            journal.said(text);
        } else if let Some((tool, input)) = named(part, "Assistant uses ") {
            let input = serde_json::from_str(input).unwrap_or(Value::Null);
            calls.push((tool.to_owned(), input));
        } else if let Some((tool, content)) = named(part, "Result of ")
            && let Some(call) = calls.iter().position(|(name, _)| name == tool)
        {
            let (_, input) = calls.remove(call);
            let failed = content.starts_with("Error: ");
            journal.lines.push(Line::result(Answered {
                tool,
                input: &input,
                content,
                failed,
            }));
        }
    }
    journal.lines
}

fn named<'a>(part: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    let (tool, rest) = part.strip_prefix(start)?.split_once(": ")?;
    Some((tool, rest.trim()))
}

#[derive(Default)]
struct Journal {
    lines: Vec<Line>,
    /// Whether there was a summary of this model's own.
    restored: bool,
}

impl Journal {
    fn heard(&mut self, text: &str) {
        for news in news(text) {
            match news {
                News::Instruction(text) => self.lines.push(Line::Instruction(text)),
                News::Mail(mail) => self.lines.push(Line::Mail(mail)),
                News::Claimed { id, work } => self.lines.push(Line::Claimed(id, work)),
                News::Background(text) => self.lines.push(Line::Background(text)),
                News::Unanswered(_) => {}
                News::Summary(text) => {
                    let told = lines(&text);
                    self.restored |= text.contains(HEAD);
                    if told.is_empty() {
                        self.lines.extend(guess(&text).map(Line::Instruction));
                    }
                    self.lines.extend(told);
                }
            }
        }
    }

    /// Words that wait for nothing end all that was before them.
    fn said(&mut self, text: &str) {
        if text.contains("Waiting for ") || text.starts_with("Claimed task") {
            self.lines.push(Line::Said);
        } else {
            self.lines.clear();
        }
    }
}

/// Whether a text stands for a conversation that was shortened, by this model or
/// by another one.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default().to_lowercase();
    let shortened = ["compressed", "compacted", "summary", "conversation cut"]
        .iter()
        .any(|word| first.contains(word));
    text.contains(HEAD) || first.contains("conversation") && shortened
}

/// Whether a text asks for a summary of the conversation. An agent that has tools
/// is asked only by the very word.
pub(super) fn is_asked(text: &str, has_tools: bool) -> bool {
    let lower = text.to_lowercase();
    let words: &[&str] = if has_tools {
        &["summarise", "summarize"]
    } else {
        &["summar", "compress"]
    };
    let asks = words.iter().any(|word| lower.contains(word));
    let about = lower.contains("conversation") || lower.contains("accomplished");
    asks && about && !(has_tools && is_one(text))
}
