//! What happened in a conversation, read from its turns or from a transcript of them.

use llm::{Block, Role, Turn};
use serde::Deserialize;
use serde_json::Value;

/// The line in a summary of this model after which the open part of the conversation stands.
const HEAD: &str = "The offline model goes on with this part of the conversation:";
/// How the agent marks a conversation that begins with a summary, and the end of the old one.
const COMPACTED: [&str; 2] = ["[Conversation compressed", "[Earlier conversation cut"];
const UNANSWERED: &str = "Not answered yet:";
const SPEAKERS: [&str; 4] = ["User: ", "Assistant: ", "Assistant uses ", "Result of "];

/// How much of a result a summary keeps, in characters, if it is not a list of files.
const KEPT: usize = 1_200;

/// A message of a teammate or of the program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Mail {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) from: String,
    pub(crate) content: String,
    /// Why the program sent a notice.
    pub(crate) cause: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) approve: Option<bool>,
    pub(crate) plan: Option<String>,
    #[serde(alias = "reason")]
    pub(crate) feedback: Option<String>,
}

impl Mail {
    /// Whether a plan is submitted with it.
    pub(crate) fn submits_plan(&self) -> bool {
        self.plan.is_some() && self.approve.is_none()
    }

    pub(crate) fn is(&self, kind: &str, from: &str) -> bool {
        self.kind == kind && self.is_from(from)
    }

    pub(crate) fn is_from(&self, name: &str) -> bool {
        self.from.to_lowercase() == name.to_lowercase()
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) content: String,
    pub(crate) failed: bool,
}

impl Outcome {
    /// An argument of the call that is a text.
    pub(crate) fn text(&self, key: &str) -> &str {
        let value = self.input.get(key).and_then(Value::as_str);
        value.unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Instruction(String),
    Mail(Mail),
    /// The program claimed this task for the agent.
    Claimed {
        id: i64,
        work: String,
    },
    /// A background command ended.
    Background(String),
    Result(Outcome),
    /// The agent ended a turn with a text.
    Said,
}

/// The events of a conversation.
pub(crate) fn of_turns(turns: &[Turn]) -> Vec<Event> {
    let mut reader = Reader::default();
    for turn in turns {
        let mut texts = Vec::new();
        let mut calls = false;
        for block in &turn.blocks {
            match block {
                Block::Text { text } => texts.push(text),
                Block::ToolUse(used) => {
                    calls = true;
                    let input = used.replayed_input().read().unwrap_or(Value::Null);
                    reader.called(&used.id, &used.name, input);
                }
                Block::ToolResult(result) => {
                    reader.answered(&result.tool_use_id, &result.content, result.is_error);
                }
                _ => {}
            }
        }
        match turn.role {
            Role::User => texts.iter().for_each(|text| reader.user(text)),
            Role::Assistant if calls => {}
            Role::Assistant => reader.events.push(Event::Said),
        }
    }
    reader.events
}

/// The summary of a conversation that is given as a transcript: the part that is not finished, with
/// long results cut.
pub(crate) fn summary(transcript: &str) -> String {
    let parts = parts(transcript);
    let ends = |part: &String| part.starts_with("Assistant: ") && !part.contains("Waiting for ");
    let open = parts.iter().rposition(ends).map_or(0, |at| at + 1);
    let mut text = HEAD.to_owned();
    let mut lists = false;
    for part in parts.iter().skip(open) {
        if COMPACTED.iter().any(|start| part.contains(start)) {
            continue;
        }
        let kept = match named(part, "Result of ") {
            Some(("read_file", content)) if !content.starts_with("Error") => 0,
            Some(_) if !lists => KEPT,
            Some(_) | None => usize::MAX,
        };
        lists = part.contains("{\"command\":\"find ");
        let start = part.find(": ").map_or(0, |at| at + 2);
        let (start, content) = part.split_at(start);
        text += &format!("\n{start}");
        text.extend(content.trim_end().chars().take(kept));
    }
    text
}

/// The parts of a transcript, each with its speaker. What a summary covers is there once only.
fn parts(transcript: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let lines = transcript.lines();
    for line in lines.filter(|line| !line.ends_with(" turns left out ...]")) {
        let begins = SPEAKERS.iter().any(|speaker| line.starts_with(speaker));
        match parts.last_mut() {
            Some(part) if !begins => *part += &format!("\n{line}"),
            _ => parts.push(line.to_owned()),
        }
    }
    let (mut restored, mut repeats) = (false, false);
    parts.retain(|part| {
        restored |= part.contains(HEAD);
        let is_end = part.starts_with(&format!("User: {UNANSWERED}"));
        repeats = restored && (is_end || repeats && !part.starts_with("Assistant"));
        !repeats
    });
    parts
}

#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    /// Calls without a result, with a key by which the result finds them.
    calls: Vec<(String, String, Value)>,
    /// Whether the conversation begins with a summary of this model, which has all that was before.
    restored: bool,
}

impl Reader {
    fn called(&mut self, key: &str, tool: &str, input: Value) {
        self.calls.push((key.to_owned(), tool.to_owned(), input));
    }

    fn answered(&mut self, key: &str, content: &str, is_error: bool) {
        let Some(at) = self.calls.iter().position(|(call, ..)| call == key) else {
            return;
        };
        let (_, tool, input) = self.calls.remove(at);
        // The output of a command and the text of a file may begin with any word.
        let says = !matches!(tool.as_str(), "bash" | "read_file") && content.starts_with("Error");
        let (content, failed) = (content.to_owned(), is_error || says);
        self.events.push(Event::Result(Outcome {
            tool,
            input,
            content,
            failed,
        }));
    }

    fn user(&mut self, text: &str) {
        let mut rest = text.trim();
        if COMPACTED.iter().any(|start| rest.starts_with(start)) {
            if let Some((_, open)) = rest.split_once(HEAD) {
                self.restored = true;
                self.transcript(open);
            }
            return;
        }
        if let Some(end) = rest.strip_prefix(UNANSWERED) {
            if !self.restored {
                self.transcript(end);
            }
            return;
        }
        while let Some((tag, inner, after)) = block(rest) {
            self.block(tag, inner.trim());
            rest = after.trim();
        }
        if let Some(mails) = mails(rest) {
            self.events.extend(mails.into_iter().map(Event::Mail));
        } else if !rest.is_empty() {
            self.events.push(Event::Instruction(rest.to_owned()));
        }
    }

    /// Takes a block of the program. Blocks of other names hold context, not instructions.
    fn block(&mut self, tag: &str, inner: &str) {
        match tag {
            "inbox" => {
                let mails = mails(inner).unwrap_or_default();
                self.events.extend(mails.into_iter().map(Event::Mail));
            }
            "auto-claimed" => self.events.extend(claimed(inner)),
            "background-results" => {
                let ended = inner.split("\n[bg:").enumerate();
                let ended = ended.map(|(at, text)| match at {
                    0 => text.to_owned(),
                    _ => format!("[bg:{text}"),
                });
                self.events.extend(ended.map(Event::Background));
            }
            _ => {}
        }
    }

    fn transcript(&mut self, text: &str) {
        for part in &parts(text) {
            if let Some(text) = part.strip_prefix("User: ") {
                self.user(text);
            } else if part.starts_with("Assistant: ") {
                self.events.push(Event::Said);
            } else if let Some((tool, input)) = named(part, "Assistant uses ") {
                self.called(
                    tool,
                    tool,
                    serde_json::from_str(input).unwrap_or(Value::Null),
                );
            } else if let Some((tool, content)) = named(part, "Result of ") {
                self.answered(tool, content, content.starts_with("Error: "));
            }
        }
    }
}

fn named<'a>(part: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    let (tool, rest) = part.strip_prefix(start)?.split_once(':')?;
    Some((tool, rest.trim()))
}

/// The name and the inside of the block that a text begins with, and what follows it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let (tag, rest) = text.strip_prefix('<')?.split_once('>')?;
    let (inner, after) = rest.split_once(&format!("</{tag}>"))?;
    Some((tag, inner, after))
}

/// `Task #3: subject`, and perhaps more lines.
fn claimed(inner: &str) -> Option<Event> {
    let (id, work) = inner.strip_prefix("Task #")?.split_once(':')?;
    let (id, work) = (id.parse().ok()?, work.trim().to_owned());
    Some(Event::Claimed { id, work })
}

/// Messages as a JSON list or as one object after the other.
pub(crate) fn mails(text: &str) -> Option<Vec<Mail>> {
    let values: Vec<Value> = match text.chars().next()? {
        '[' => serde_json::from_str(text).ok()?,
        '{' => {
            let objects = serde_json::Deserializer::from_str(text).into_iter();
            objects.collect::<Result<_, _>>().ok()?
        }
        _ => return None,
    };
    let mails = values.into_iter().map(serde_json::from_value);
    Some(mails.filter_map(Result::ok).collect())
}
