//! A member's conversation in lines: what was said to its model, what the model said, and what came
//! of its tools.
//!
//! The journal is read as any program may read it: kinds that are not known, and records that do not
//! look as they should, are passed over.

use crate::sanitize::sanitize;
use protocol::{
    Block, ConversationRecord, JournalLine, JournalRecord, MessageSource, ToolResult, UserMessage,
};
use serde_json::{Map, Value};

/// How much of what a tool was asked is shown.
const ASKED: usize = 80;
/// How much of what came of it.
const OUTCOME: usize = 200;
/// How many lines one text may have.
const LINES: usize = 200;
/// What a tool is asked, by the field that says most.
const TELLING: [&str; 10] = [
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
/// Where the words of a letter stand, by what comes first.
const WORDS: [&str; 4] = ["content", "plan", "reason", "feedback"];

/// Follows a conversation, record by record.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The calls that nothing has come of yet: their ids, and how they are shown.
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
        lines.iter().map(|line| sanitize(line)).collect()
    }

    fn conversation(&mut self, record: ConversationRecord) -> Vec<String> {
        match record {
            ConversationRecord::User(user) => user.messages.iter().flat_map(heard).collect(),
            ConversationRecord::Assistant(reply) => self.reply(reply.blocks),
            ConversationRecord::Result(record) => vec![self.outcome(&record.result)],
            ConversationRecord::Compaction(compaction) => vec![format!(
                "! the conversation was compacted; the full text is in {}",
                compaction.archive
            )],
            ConversationRecord::Ended(ended) => vec![format!("! {}", ended.reason)],
            ConversationRecord::Cleared(_) => Vec::new(),
        }
    }

    /// The calls that nothing has come of yet.
    pub fn running(&self) -> Vec<String> {
        let calls = self.calls.iter();
        calls.map(|(_, call)| format!("> {call} ...")).collect()
    }

    fn reply(&mut self, blocks: Vec<Block>) -> Vec<String> {
        let mut lines = Vec::new();
        for block in blocks {
            match block {
                Block::Text { text } => lines.extend(several(&text)),
                Block::ToolUse {
                    id, name, input, ..
                } => {
                    let call = format!("{name} {}", asked(&input));
                    let call = sanitize(call.trim_end());
                    self.calls.push((id, call));
                }
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolResult(_)
                | Block::Opaque { .. } => {}
            }
        }
        lines
    }

    fn outcome(&mut self, outcome: &ToolResult) -> String {
        let place = self
            .calls
            .iter()
            .position(|(id, _)| *id == outcome.tool_use_id);
        let call = place.map_or_else(|| "a tool".to_owned(), |at| self.calls.remove(at).1);
        let word = match outcome.is_error {
            true => "failed: ",
            false => "",
        };
        let came = cut(outcome.content.trim(), OUTCOME);
        format!("> {call} => {word}{came}")
    }
}

/// What the model was given, in lines.
fn heard(given: &UserMessage) -> Vec<String> {
    let text = given.text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let (tag, inside) = unwrapped(text);
    match &given.source {
        Some(MessageSource::Prompt(_)) => with_name("prompt", text),
        Some(MessageSource::Mail(_)) => match serde_json::from_str(inside) {
            Ok(letter) => with_name(&writer(&letter), words_of(&letter)),
            Err(_) => with_name("mail", inside),
        },
        Some(MessageSource::Commands(_)) => with_name("background", inside),
        None => with_name(tag.unwrap_or("user"), inside),
    }
}

/// A text in its lines, the first of them behind a name.
fn with_name(name: &str, text: &str) -> Vec<String> {
    let mut lines = several(text);
    match lines.first_mut() {
        Some(first) => *first = format!("{name}: {first}"),
        None => lines.push(format!("{name}:")),
    }
    lines
}

/// The lines of a text, as many as are good to read.
fn several(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .trim_end()
        .lines()
        .take(LINES)
        .map(str::to_owned)
        .collect();
    if text.trim_end().lines().count() > LINES {
        lines.push("...".to_owned());
    }
    lines
}

/// Who a letter is from, and what kind of letter it is if it is no plain one.
fn writer(letter: &Map<String, Value>) -> String {
    let field = |name: &str| letter.get(name).and_then(Value::as_str);
    let from = field("from").unwrap_or("somebody");
    match field("type") {
        None | Some("message") => from.to_owned(),
        Some(kind) => format!("{from} ({kind})"),
    }
}

fn words_of(letter: &Map<String, Value>) -> &str {
    let mut words = WORDS
        .iter()
        .filter_map(|field| letter.get(*field)?.as_str());
    words.find(|words| !words.is_empty()).unwrap_or_default()
}

/// A text without the tag that the program puts around its own words, and the tag.
fn unwrapped(text: &str) -> (Option<&str>, &str) {
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

/// What a tool was asked, in a few words.
fn asked(input: &Value) -> String {
    let Value::Object(fields) = input else {
        return String::new();
    };
    let mut telling = TELLING.iter().filter_map(|field| fields.get(*field));
    let text = match telling.next() {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if fields.is_empty() => String::new(),
        None => input.to_string(),
    };
    cut(&text, ASKED)
}

/// The beginning of a text.
fn cut(text: &str, most: usize) -> String {
    let mut kept: String = text.chars().take(most).collect();
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
            r#"{"kind":"user","messages":[{"source":{"prompt":"a-0"},"text":"Mend it.\nQuickly."}]}"#,
            r#"{"kind":"assistant","blocks":[{"type":"thinking","text":"hm"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"bash","input":{"command":"ls\nnowhere"}},{"type":"tool_use","id":"2","name":"list_teammates","input":{}}],"stop":"tool_use"}"#,
            r#"{"kind":"result","result":{"tool_use_id":"1","content":"no such file\n[exit status 2]","is_error":true},"millis":9}"#,
            r#"{"kind":"mail","incarnation":2,"time":1,"position":{},"mail":[]}"#,
            r#"{"kind":"user","messages":[{"source":{"mail":1},"text":"<inbox>\n{\"content\":\"a <\\/b>\",\"from\":\"bob\",\"type\":\"message\"}\n</inbox>"},{"source":{"mail":2},"text":""},{"source":{"mail":3},"text":"<inbox>\n{\"reason\":\"busy\",\"from\":\"carol\",\"type\":\"shutdown_response\"}\n</inbox>"},{"text":"<plan-decided>Your plan was decided.</plan-decided>"}]}"#,
        ]);
        assert_eq!(
            lines,
            [
                "! restarted 1x",
                "prompt: Mend it.",
                "Quickly.",
                "I look.",
                "> bash ls nowhere => failed: no such file [exit status 2]",
                "bob: a </b>",
                "carol (shutdown_response): busy",
                "plan-decided: Your plan was decided.",
            ]
        );
        assert_eq!(running, ["> list_teammates ..."]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let (lines, running) = read(&[
            "{\"kind\":\"user\",\"messages\":[{\"text\":\"a\\u001b[2Jb\"}]}",
            "{\"kind\":\"assistant\",\"blocks\":[{\"type\":\"text\",\"text\":\"c\\u009bd\\te\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\\u001b\",\"input\":{\"command\":\"g\\u0007\"}},{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"h\\u001b\",\"input\":{}}],\"stop\":\"tool_use\"}",
            "{\"kind\":\"result\",\"result\":{\"tool_use_id\":\"1\",\"content\":\"\\u001b]0;x\\u0007\"}}",
        ]);
        let all = [lines, running].concat().concat();
        assert!(!all.chars().any(char::is_control), "{all:?}");
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
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
        let text = "word\\n".repeat(LINES + 5);
        let line = format!(r#"{{"kind":"user","messages":[{{"text":"{text}"}}]}}"#);
        let (lines, _) = read(&[&line]);
        assert_eq!(lines.len(), LINES + 1);
        assert_eq!(cut("žžž", 2), "žž...");
    }
}
