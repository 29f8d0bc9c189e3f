//! The conversation of a member as lines of text: messages to its model, replies, and tool results.
//!
//! Journal lines of unknown kinds and invalid records are skipped.

use crate::one_line;
use protocol::{
    Block, ConversationRecord, JournalLine, JournalRecord, MAIL_TAG, MessageSource, TextBlock,
    ToolResult, UserMessage,
};
use serde_json::Value;

/// The maximum number of characters of the arguments of a tool call.
const MAX_ARGUMENTS: usize = 80;
/// The maximum number of characters of a tool result.
const MAX_RESULT: usize = 200;
/// The maximum number of lines of one text.
const MAX_LINES: usize = 200;
/// The argument that is shown of a tool call, in order of preference.
const SHOWN_ARGUMENTS: [&str; 10] = [
    "command",
    "path",
    "to",
    "name",
    "teammate",
    "task_id",
    "request_id",
    "subject",
    "plan",
    "id",
];

/// Follows a conversation, record by record.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The unfinished tool calls: their ids and texts.
    calls: Vec<(String, String)>,
}

impl Conversation {
    /// The next line of the journal, as lines for people, without control characters.
    pub fn read(&mut self, line: &[u8]) -> Vec<String> {
        let JournalLine::Known(record) = JournalLine::decode(line) else {
            return Vec::new();
        };
        let lines = match record {
            JournalRecord::Open(open) => {
                // The calls of an earlier incarnation never finish.
                self.calls.clear();
                vec![match open.incarnation.0.saturating_sub(1) {
                    0 => "! started".to_owned(),
                    restarts => format!("! restarted {restarts}x"),
                }]
            }
            JournalRecord::Conversation(record) => self.conversation(record),
            JournalRecord::Mail(_)
            | JournalRecord::Seal(_)
            | JournalRecord::Checkpoint(_)
            | JournalRecord::Report(_)
            | JournalRecord::Plan(_) => Vec::new(),
        };
        lines.iter().map(|line| one_line(line)).collect()
    }

    fn conversation(&mut self, record: ConversationRecord) -> Vec<String> {
        match record {
            ConversationRecord::User(user) => {
                user.messages.iter().flat_map(message_lines).collect()
            }
            ConversationRecord::Assistant(reply) => self.reply(reply.blocks),
            ConversationRecord::Result(record) => vec![self.result(&record.result)],
            ConversationRecord::Compaction(compaction) => vec![format!(
                "! the conversation was compacted; the full text is in {}",
                compaction.archive
            )],
            ConversationRecord::Ended(ended) => vec![format!("! {}", ended.reason)],
            ConversationRecord::Asked(asked) => {
                vec![format!(
                    "! waits for the answer to request {}",
                    asked.request_id
                )]
            }
            ConversationRecord::Started(_) | ConversationRecord::Cleared(_) => Vec::new(),
        }
    }

    /// The unfinished tool calls.
    pub fn running(&self) -> Vec<String> {
        let calls = self.calls.iter();
        calls.map(|(_, call)| format!("> {call} ...")).collect()
    }

    fn reply(&mut self, blocks: Vec<Block>) -> Vec<String> {
        let mut lines = Vec::new();
        for block in blocks {
            if let Some(text) = block.readable_text() {
                lines.extend(first_lines(&text));
            }
            if let Block::ToolUse {
                id, name, input, ..
            } = block
            {
                let call = format!("{name} {}", main_argument(&input));
                let call = one_line(call.trim_end());
                self.calls.push((id, call));
            }
        }
        lines
    }

    fn result(&mut self, outcome: &ToolResult) -> String {
        let place = self
            .calls
            .iter()
            .position(|(id, _)| *id == outcome.tool_use_id);
        let call = place.map_or_else(|| "a tool".to_owned(), |at| self.calls.remove(at).1);
        let prefix = match outcome.is_error {
            true => "failed: ",
            false => "",
        };
        let result = cut(outcome.content.trim(), MAX_RESULT);
        format!("> {call} => {prefix}{result}")
    }
}

/// The lines of a message to the model.
fn message_lines(given: &UserMessage) -> Vec<String> {
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

/// The lines of a text, the first one prefixed with a name.
fn with_name(name: &str, text: &str) -> Vec<String> {
    let mut lines = first_lines(text);
    match lines.first_mut() {
        Some(first) => *first = format!("{name}: {first}"),
        None => lines.push(format!("{name}:")),
    }
    lines
}

/// The first lines of a text.
fn first_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .trim_end()
        .lines()
        .take(MAX_LINES)
        .map(str::to_owned)
        .collect();
    if text.trim_end().lines().count() > MAX_LINES {
        lines.push("...".to_owned());
    }
    lines
}

/// The sender of a message, and its type unless it is a plain message.
fn sender(mail: &TextBlock) -> String {
    let from = mail.get("from").unwrap_or("an unknown sender");
    match mail.get("type") {
        None | Some("message") => from.to_owned(),
        Some(kind) => format!("{from} ({kind})"),
    }
}

/// Splits a text of the program into its tag and content.
fn split_tag(text: &str) -> (Option<&str>, &str) {
    let parts = text.strip_prefix('<').and_then(|rest| {
        let (tag, rest) = rest.split_once('>')?;
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let inside = rest.strip_suffix('>')?.strip_suffix(tag)?;
        let inside = inside.strip_suffix("</")?;
        (!tag.is_empty() && tag.chars().all(is_name)).then_some((tag, inside.trim()))
    });
    match parts {
        Some((tag, inside)) => (Some(tag), inside),
        None => (None, text),
    }
}

/// The most important argument of a tool call.
fn main_argument(input: &Value) -> String {
    let Value::Object(fields) = input else {
        return String::new();
    };
    let mut shown = SHOWN_ARGUMENTS
        .iter()
        .filter_map(|field| fields.get(*field));
    let text = match shown.next() {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if fields.is_empty() => String::new(),
        None => input.to_string(),
    };
    cut(&text, MAX_ARGUMENTS)
}

/// The first characters of a text.
fn cut(text: &str, max_chars: usize) -> String {
    let mut kept: String = text.chars().take(max_chars).collect();
    if kept.len() < text.len() {
        kept.push_str("...");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut conversation = Conversation::default();
        let lines = lines.iter();
        let lines = lines.flat_map(|line| conversation.read(line.as_bytes()));
        (lines.collect(), conversation.running())
    }

    #[test]
    fn a_turn_reads_as_a_conversation() {
        let (lines, running) = read(&[
            r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#,
            r#"{"kind":"user","messages":[{"source":{"prompt":"a-0"},"text":"Fix it.\nQuickly."}]}"#,
            r#"{"kind":"assistant","blocks":[{"type":"thinking","text":"hm"},{"type":"text","text":"I look."},{"type":"opaque","provider":"responses","json":{"type":"message","content":[{"type":"output_text","text":"And see."}]}},{"type":"tool_use","id":"1","name":"bash","input":{"command":"ls\nnowhere"}},{"type":"tool_use","id":"2","name":"list_teammates","input":{}}],"stop":"tool_use"}"#,
            r#"{"kind":"result","result":{"tool_use_id":"1","content":"no such file\n[exit status 2]","is_error":true},"millis":9}"#,
            r#"{"kind":"mail","incarnation":2,"time":1,"position":{},"mail":[]}"#,
            r#"{"kind":"user","messages":[{"source":{"mail":1},"text":"<mail from=\"bob\" type=\"message\">\na </b>\n</mail>"},{"source":{"mail":2},"text":""},{"source":{"mail":3},"text":"<mail from=\"carol\" type=\"shutdown_response\" request_id=\"1a2b3c4d\" approve=\"false\">\nbusy\n</mail>"},{"text":"<plan-decided>Your plan was decided.</plan-decided>"}]}"#,
        ]);
        assert_eq!(
            lines,
            [
                "! restarted 1x",
                "prompt: Fix it.",
                "Quickly.",
                "I look.",
                "And see.",
                "> bash ls nowhere => failed: no such file [exit status 2]",
                "bob: a </b>",
                "carol (shutdown_response): busy",
                "plan-decided: Your plan was decided.",
            ]
        );
        assert_eq!(running, ["> list_teammates ..."]);
    }

    #[test]
    fn no_control_character_is_left() {
        let (lines, running) = read(&[
            "{\"kind\":\"user\",\"messages\":[{\"text\":\"a\\u001b[2Jb\"}]}",
            "{\"kind\":\"assistant\",\"blocks\":[{\"type\":\"text\",\"text\":\"c\\u009bd\\te\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\\u001b\",\"input\":{\"command\":\"g\\u0007\"}},{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"h\\u001b\",\"input\":{}}],\"stop\":\"tool_use\"}",
            "{\"kind\":\"result\",\"result\":{\"tool_use_id\":\"1\",\"content\":\"\\u001b]0;x\\u0007\"}}",
        ]);
        let all = [lines, running].concat().concat();
        assert!(!all.chars().any(char::is_control), "{all:?}");
    }

    #[test]
    fn unknown_lines_are_skipped() {
        let (lines, running) = read(&[
            "words",
            "",
            r#"{"kind":"dance"}"#,
            r#"{"kind":"user","messages":7}"#,
            r#"{"kind":"result","result":{"tool_use_id":"9","content":"late"}}"#,
            r#"{"kind":"compaction","archive":"archives/1-1.jsonl","summarised":true,"turns":[]}"#,
            r#"{"kind":"ended","reason":"interrupted"}"#,
        ]);
        assert_eq!(
            lines,
            [
                "> a tool => late",
                "! the conversation was compacted; the full text is in archives/1-1.jsonl",
                "! interrupted",
            ]
        );
        assert_eq!(running, [""; 0]);
    }

    #[test]
    fn long_texts_are_cut() {
        let text = "word\\n".repeat(MAX_LINES + 5);
        let line = format!(r#"{{"kind":"user","messages":[{{"text":"{text}"}}]}}"#);
        let (lines, _) = read(&[&line]);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(cut("žžž", 2), "žž...");
    }
}
