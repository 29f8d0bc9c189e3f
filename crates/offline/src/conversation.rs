//! What happened in a conversation, read from its turns.

use std::collections::HashMap;

use llm::{Block, Role, ToolResult, ToolUse, Turn};
use protocol::{MAIL_TAG, TextBlock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The line in a summary of this model after which the open events stand, one on each line.
const HEAD: &str = "The offline model goes on with these events of the conversation:";
/// How the agent marks a conversation that begins with a summary, and the end of the old one.
const COMPACTED: [&str; 2] = ["[Conversation compressed", "[Earlier conversation cut"];
const UNANSWERED: &str = "Not answered yet:";
/// A summary leaves out a result that has more bytes.
const KEPT: usize = 1_200;

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
    /// The program asks for a summary of what was before.
    SummaryRequest,
}

impl Event {
    pub(crate) fn mail(&self) -> Option<&Mail> {
        let Self::Mail(mail) = self else { return None };
        Some(mail)
    }

    pub(crate) fn result(&self) -> Option<&Outcome> {
        let Self::Result(of) = self else { return None };
        Some(of)
    }
}

/// A message of a teammate or of the program.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Mail {
    pub(crate) kind: String,
    pub(crate) from: String,
    pub(crate) text: String,
    /// Why the program sent a notice.
    pub(crate) cause: String,
    pub(crate) request_id: String,
    pub(crate) approve: bool,
    /// It came as the result of `read_inbox`, which is reported itself.
    pub(crate) was_fetched: bool,
}

impl Mail {
    /// The messages in a text of the program.
    pub(crate) fn read_all(text: &str) -> impl Iterator<Item = Self> {
        let blocks = TextBlock::read_all(text, MAIL_TAG).into_iter();
        blocks.map(|block| {
            let field = |name: &str| block.get(name).unwrap_or_default().to_owned();
            Self {
                kind: field("type"),
                from: field("from"),
                cause: field("cause"),
                request_id: field("request_id"),
                approve: field("approve") == "true",
                was_fetched: false,
                text: block.text,
            }
        })
    }

    pub(crate) fn is_plan(&self) -> bool {
        self.kind == "plan_approval_request"
    }
}

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
}

/// The summary of a conversation, with the parts that agents ask for: the events since the work before
/// was finished are the next step. A list of files that is left out is made again.
pub(crate) fn summary(events: &mut [Event]) -> String {
    let ends = |event: &Event| matches!(event, Event::Said { waits: false });
    let open = events.iter().rposition(ends).map_or(0, |at| at + 1);
    let mut text = String::new();
    for part in ["Goal", "Done", "Files", "Open points"] {
        text += &format!("## {part}\nSee the next step.\n");
    }
    text += &format!("## Next step\n{HEAD}");
    for event in events.iter_mut().skip(open) {
        if let Event::Result(outcome) = event
            && (outcome.content.len() > KEPT || outcome.tool == "read_file" && !outcome.failed)
        {
            outcome.content = "[Left out.]".to_owned();
        }
        text += "\n";
        text += &serde_json::to_string(event).unwrap_or_default();
    }
    text
}

/// The events of a conversation.
pub(crate) fn events(turns: &[Turn]) -> Vec<Event> {
    let mut reader = Reader::default();
    for turn in turns {
        let is_call = |block: &Block| matches!(block, Block::ToolUse(_));
        let calls = turn.blocks.iter().any(is_call);
        for block in &turn.blocks {
            match block {
                Block::Text { text } if turn.role == Role::User => reader.user(text),
                Block::Text { text } if !calls => {
                    let waits = text.contains("Waiting for ");
                    reader.events.push(Event::Said { waits });
                }
                Block::ToolUse(used) => {
                    reader.calls.insert(&used.id, used);
                }
                Block::ToolResult(result) => reader.result(result),
                _ => {}
            }
        }
    }
    reader.events
}

#[derive(Default)]
struct Reader<'a> {
    events: Vec<Event>,
    /// Calls without a result, by their ids.
    calls: HashMap<&'a str, &'a ToolUse>,
    /// Whether the conversation begins with a summary of this model, which has all that was before.
    is_restored: bool,
}

impl Reader<'_> {
    fn result(&mut self, result: &ToolResult) {
        let Some(used) = self.calls.remove(result.tool_use_id.as_str()) else {
            return;
        };
        let (tool, content) = (used.name.clone(), result.content.clone());
        // The output of a command and the text of a file may begin with any word.
        let says = !matches!(tool.as_str(), "bash" | "read_file") && content.starts_with("Error");
        let failed = result.is_error || says;
        if tool == "read_inbox" && !failed {
            for mut mail in Mail::read_all(&content) {
                mail.was_fetched = true;
                self.events.push(Event::Mail(mail));
            }
        }
        self.events.push(Event::Result(Outcome {
            tool,
            input: used.replayed_input().read().unwrap_or(Value::Null),
            content,
            failed,
        }));
    }

    fn user(&mut self, text: &str) {
        let text = text.trim();
        if COMPACTED.iter().any(|start| text.starts_with(start)) {
            if let Some((_, events)) = text.split_once(HEAD) {
                self.is_restored = true;
                let events = events.lines().map(serde_json::from_str);
                self.events.extend(events.filter_map(Result::ok));
            }
        } else if let Some(unanswered) = text.strip_prefix(UNANSWERED) {
            if !self.is_restored {
                let texts = unanswered.split("\n\nUser: ").skip(1);
                texts.for_each(|text| self.user(text));
            }
        } else if text.starts_with("<summary-request>") {
            self.events.push(Event::SummaryRequest);
        } else {
            self.blocks(text);
        }
    }

    /// Reads the blocks that a text begins with, and the instruction that follows them.
    fn blocks(&mut self, text: &str) {
        let mut rest = text;
        while let Some((tag, inner, after)) = block(rest) {
            match tag {
                MAIL_TAG => {
                    let whole = rest.get(..rest.len() - after.len()).unwrap_or(rest);
                    self.events.extend(Mail::read_all(whole).map(Event::Mail));
                }
                "auto-claimed" => self.events.extend(claimed(inner.trim())),
                "background-results" => {
                    let ended = inner.split("\n[bg:").skip(1).map(|text| Mail {
                        kind: "background".to_owned(),
                        text: format!("[bg:{}", text.trim()),
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
