//! The conversation of a member as lines of text: messages to its model, replies, and tool results.
//!
//! Journal lines of unknown kinds and invalid records are skipped.

mod call;

use crate::text_line::{LineKind, TextLine};
use call::Call;
use highlight::highlight;
use overview::{kind_words, split_tag};
use protocol::{
    Block, ConversationRecord, EngineToolRecord, JournalLine, JournalRecord, MAIL_TAG,
    MessageSource, TextBlock, ToolResult, UserMessage,
};
use rules::restarts_text;
use serde_json::Value;

/// The maximum number of lines of one text.
const MAX_LINES: usize = 200;

/// Follows a conversation, record by record.
#[derive(Debug)]
pub struct Conversation {
    /// Whether code is taken apart. Without colours that would only cost the loading of the languages.
    colors: bool,
    /// The unfinished tool calls.
    calls: Vec<Call>,
    /// Those of an earlier incarnation: they do not run any more, and the next one says so in their results.
    interrupted: Vec<Call>,
    /// Whether a reply was read. The results before the first one are of calls in the part of the journal
    /// that was not read.
    has_reply: bool,
}

impl Conversation {
    pub const fn new(colors: bool) -> Self {
        Self {
            colors,
            calls: Vec::new(),
            interrupted: Vec::new(),
            has_reply: false,
        }
    }

    /// Begins another conversation.
    pub fn restart(&mut self) {
        *self = Self::new(self.colors);
    }

    /// The next line of the journal, as lines for people, without control characters.
    pub fn read(&mut self, line: &[u8]) -> Vec<TextLine> {
        let JournalLine::Known(record) = JournalLine::decode(line) else {
            return Vec::new();
        };
        match record {
            JournalRecord::Open(open) => {
                self.interrupted = std::mem::take(&mut self.calls);
                note(restarts_text(open.incarnation).unwrap_or_else(|| "started".to_owned()))
            }
            JournalRecord::Conversation(record) => self.conversation(record),
            JournalRecord::EngineTool(record) => self.engine_tool(record),
            JournalRecord::Mail(_)
            | JournalRecord::Cut(_)
            | JournalRecord::Seal(_)
            | JournalRecord::Checkpoint(_)
            | JournalRecord::Report(_)
            | JournalRecord::Plan(_) => Vec::new(),
        }
    }

    fn conversation(&mut self, record: ConversationRecord) -> Vec<TextLine> {
        match record {
            ConversationRecord::User(user) => {
                user.messages.iter().flat_map(message_lines).collect()
            }
            ConversationRecord::Assistant(reply) => self.reply(reply.blocks),
            ConversationRecord::Result(record) => self.result(&record.result),
            ConversationRecord::Compaction(compaction) => note(format!(
                "the conversation was compacted; the full text is in {}",
                compaction.archive
            )),
            ConversationRecord::Ended(ended) => note(ended.reason),
            ConversationRecord::Asked(asked) => note(format!(
                "waits for the answer to request {}",
                asked.request_id
            )),
            ConversationRecord::Session(session) => match session.model() {
                Some(model) => note(format!("the model is {model}")),
                None => Vec::new(),
            },
            ConversationRecord::Started(_) | ConversationRecord::Cleared(_) => Vec::new(),
        }
    }

    /// The unfinished tool calls.
    pub fn running(&self) -> Vec<TextLine> {
        self.calls.iter().flat_map(Call::running).collect()
    }

    /// A call that the engine ran by itself. Its last record has all that is known of it.
    fn engine_tool(&mut self, record: EngineToolRecord) -> Vec<TextLine> {
        taken(&mut self.calls, &record.id);
        let (call, result) = record.into_call();
        self.reply(vec![call]);
        match result {
            Some(result) => self.result(&result),
            None => Vec::new(),
        }
    }

    fn reply(&mut self, blocks: Vec<Block>) -> Vec<TextLine> {
        let mut lines = Vec::new();
        self.has_reply = true;
        for block in blocks {
            if let Some(text) = block.readable_text() {
                lines.extend(match self.colors {
                    true => said_lines(&text),
                    false => first_lines(LineKind::Said, &text),
                });
            }
            if let Block::ToolUse {
                id, name, input, ..
            } = block
            {
                self.calls.push(Call::new(id, name, input));
            }
        }
        lines
    }

    fn result(&mut self, outcome: &ToolResult) -> Vec<TextLine> {
        let id = outcome.tool_use_id.as_str();
        let call = taken(&mut self.calls, id).or_else(|| taken(&mut self.interrupted, id));
        if call.is_none() && !self.has_reply {
            return Vec::new();
        }
        // A journal that somebody changed may have a result without a call.
        let unknown = || Call::new(String::new(), "a tool".to_owned(), Value::Null);
        call.unwrap_or_else(unknown)
            .finished(&outcome.content, outcome.is_error)
    }
}

fn taken(calls: &mut Vec<Call>, id: &str) -> Option<Call> {
    let place = calls.iter().position(|call| call.id == id)?;
    Some(calls.remove(place))
}

fn note(text: String) -> Vec<TextLine> {
    vec![TextLine::new(LineKind::Note, &format!("! {text}"))]
}

/// The lines of a message to the model.
fn message_lines(given: &UserMessage) -> Vec<TextLine> {
    let text = given.text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let (tag, inside) = split_tag(text);
    match &given.source {
        Some(MessageSource::Prompt(_)) => with_name("prompt", text),
        Some(MessageSource::Mail(_)) => match TextBlock::read_all(text, MAIL_TAG).first() {
            Some(mail) => with_name(&sender(mail), &mail.text),
            None => with_name("mail", inside),
        },
        Some(MessageSource::Commands(_)) => with_name("background", inside),
        // The view has its own windows for what a reminder says.
        Some(MessageSource::Reminder) => Vec::new(),
        Some(MessageSource::Continuation) => with_name("continued", text),
        None => with_name(tag.unwrap_or("user"), inside),
    }
}

/// The lines of a text, the first one prefixed with a name. An empty line sets them off from what is
/// above them.
fn with_name(name: &str, text: &str) -> Vec<TextLine> {
    let text = format!("{name}: {}", text.trim_start());
    let mut lines = vec![TextLine::new(LineKind::Told, "")];
    lines.extend(first_lines(LineKind::Told, &text));
    lines
}

/// The first lines of a text.
fn first_lines(kind: LineKind, text: &str) -> Vec<TextLine> {
    let all = text.trim_end().lines();
    let mut lines: Vec<TextLine> = all
        .take(MAX_LINES)
        .map(|line| TextLine::new(kind, line))
        .collect();
    let more = text.trim_end().lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.push(TextLine::new(kind, &format!("... {more} more lines")));
    }
    lines
}

/// The first lines of what a model says, with the code in it.
fn said_lines(text: &str) -> Vec<TextLine> {
    let mut lines = first_lines(LineKind::Said, text);
    let mut at = 0;
    while let Some((from, block)) = next_block(&lines, at) {
        at = from + block.len + 1;
        let Some(code) = highlight(&block.language, &block.text) else {
            continue;
        };
        for (line, pieces) in lines.iter_mut().skip(from).zip(code) {
            *line = TextLine::code(pieces);
        }
    }
    lines
}

/// A block of code in fences.
struct CodeBlock {
    language: String,
    text: String,
    /// The number of its lines.
    len: usize,
}

/// The first block of code from a line on, and its first line.
fn next_block(lines: &[TextLine], from: usize) -> Option<(usize, CodeBlock)> {
    let fence = |line: &TextLine| line.text.trim_start().starts_with("```");
    let start = from + lines.iter().skip(from).position(fence)?;
    let language = lines.get(start)?.text.trim().trim_start_matches('`');
    let inside: Vec<&str> = lines
        .iter()
        .skip(start + 1)
        .take_while(|line| !fence(line))
        .map(|line| line.text.as_str())
        .collect();
    let block = CodeBlock {
        language: language.to_owned(),
        text: inside.join("\n"),
        len: inside.len(),
    };
    Some((start + 1, block))
}

/// The sender of a message, and its type and what it answers unless it is a plain message.
fn sender(mail: &TextBlock) -> String {
    let from = mail.get("from").unwrap_or("an unknown sender");
    let answer = match mail.get("approve") {
        Some("true") => ", yes",
        Some("false") => ", no",
        Some(_) | None => "",
    };
    match mail.get("type") {
        None | Some("message") => format!("mail from {from}"),
        Some(kind) => format!("mail from {from} ({}{answer})", kind_words(kind)),
    }
}

#[cfg(test)]
mod tests;
