//! What happened in a conversation, read from its turns.

use llm::{Block, Role, Turn};
use protocol::MAIL_TAG;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mail::Mail;

/// The line in a summary of this model after which the open events stand, one on each line.
const HEAD: &str = "The offline model goes on with these events of the conversation:";
/// How the agent marks a conversation that begins with a summary, and the end of the old one.
const COMPACTED: [&str; 2] = ["[Conversation compressed", "[Earlier conversation cut"];
const UNANSWERED: &str = "Not answered yet:";

/// How much of a result a summary keeps, in characters, if it is not a list of files.
const KEPT: usize = 1_200;

/// The result of a tool call.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Outcome {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) content: String,
    pub(crate) failed: bool,
}

impl Outcome {
    /// An argument of the call that is a text.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.input[key].as_str().unwrap_or_default()
    }

    /// Whether the agent has agreed to end.
    pub(crate) fn ends_the_process(&self) -> bool {
        self.tool == "shutdown_response" && self.input["approve"] == true && !self.failed
    }

    fn shorten(&mut self) {
        let kept = match self.tool.as_str() {
            "read_file" if !self.failed => 0,
            _ if crate::report::is_list(self.text("command")) => return,
            _ => KEPT,
        };
        self.content = self.content.chars().take(kept).collect();
    }
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Event {
    Instruction(String),
    Mail(Mail),
    /// The program claimed this task for the agent.
    Claimed {
        id: i64,
        work: String,
    },
    Result(Outcome),
    /// The agent ended a turn with a text, and perhaps waits for mail.
    Said {
        waits: bool,
    },
}

/// The events of a conversation.
pub(crate) fn of_turns(turns: &[Turn]) -> Vec<Event> {
    let mut reader = Reader::default();
    for turn in turns {
        let calls = turn
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse(_)));
        for block in &turn.blocks {
            match block {
                Block::Text { text } if turn.role == Role::User => reader.user(text),
                Block::Text { text } if !calls => reader.said(text),
                Block::ToolUse(used) => {
                    let input = used.replayed_input().read().unwrap_or(Value::Null);
                    reader
                        .calls
                        .push((used.id.clone(), used.name.clone(), input));
                }
                Block::ToolResult(result) => {
                    reader.answered(&result.tool_use_id, &result.content, result.is_error);
                }
                _ => {}
            }
        }
    }
    reader.events
}

/// The summary of a conversation, with the parts that agents ask for: the events since the work before
/// was finished, with long results cut, are the next step.
pub(crate) fn summary(events: Vec<Event>) -> String {
    let ends = |event: &Event| matches!(event, Event::Said { waits: false });
    let open = events.iter().rposition(ends).map_or(0, |at| at + 1);
    let mut text = String::new();
    for part in ["Goal", "Done", "Files", "Open points"] {
        text += &format!("## {part}\nSee the next step.\n");
    }
    text += &format!("## Next step\n{HEAD}");
    for mut event in events.into_iter().skip(open) {
        if let Event::Result(outcome) = &mut event {
            outcome.shorten();
        }
        text += "\n";
        text += &serde_json::to_string(&event).unwrap_or_default();
    }
    text
}

#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    /// Calls without a result: a key by which the result finds them, the tool, and the input.
    calls: Vec<(String, String, Value)>,
    /// Whether the conversation begins with a summary of this model, which has all that was before.
    restored: bool,
}

impl Reader {
    fn said(&mut self, text: &str) {
        let waits = text.contains("Waiting for ");
        self.events.push(Event::Said { waits });
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
            if let Some((_, events)) = rest.split_once(HEAD) {
                self.restored = true;
                let events = events.lines().map(serde_json::from_str);
                self.events.extend(events.filter_map(Result::ok));
            }
            return;
        }
        if let Some(unanswered) = rest.strip_prefix(UNANSWERED) {
            let restored = self.restored;
            let texts = unanswered.split("\n\nUser: ").skip(1);
            texts.filter(|_| !restored).for_each(|text| self.user(text));
            return;
        }
        while let Some((tag, inner, after)) = block(rest) {
            let whole = rest.get(..rest.len() - after.len()).unwrap_or(rest);
            match tag {
                MAIL_TAG => {
                    let mails = Mail::read_all(whole).into_iter();
                    self.events.extend(mails.map(Event::Mail));
                }
                "auto-claimed" => self.events.extend(claimed(inner.trim())),
                "background-results" => {
                    let ended = inner.split("\n[bg:").skip(1).map(|text| Mail {
                        kind: "background".to_owned(),
                        content: format!("[bg:{}", text.trim()),
                        ..Mail::default()
                    });
                    self.events.extend(ended.map(Event::Mail));
                }
                // A reminder before the end of a turn. The report stays what it was.
                "own-tree" if matches!(self.events.last(), Some(Event::Said { .. })) => {
                    self.events.pop();
                }
                // Other blocks hold context, not instructions.
                _ => {}
            }
            rest = after.trim();
        }
        if !rest.is_empty() {
            self.events.push(Event::Instruction(rest.to_owned()));
        }
    }
}

/// The name and the inside of the block that a text begins with, and what follows it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.strip_prefix('<')?.split_once('>')?;
    let tag = head.split(' ').next()?;
    let (inner, after) = rest.split_once(&format!("</{tag}>"))?;
    Some((tag, inner, after))
}

/// `Task #3: subject`, and perhaps more lines.
fn claimed(inner: &str) -> Option<Event> {
    let (id, work) = inner.strip_prefix("Task #")?.split_once(':')?;
    let (id, work) = (id.parse().ok()?, work.trim().to_owned());
    Some(Event::Claimed { id, work })
}
