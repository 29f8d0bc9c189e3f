//! The conversation of a member as entries for the page, from the lines of its journal.
//!
//! An entry has a number, and is sent again under the same number when there is more to say: a tool call first
//! runs, and then has a result. Only the newest entries are kept, and long texts are cut.

use overview::split_tag;
use protocol::{
    Block, ConversationRecord, EngineToolRecord, JournalLine, JournalRecord, MAIL_TAG,
    MessageSource, TextBlock, ToolResult, UserMessage,
};
use rules::{call_line, main_argument, restarts_text};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// The newest entries that are kept.
const MAX_ENTRIES: usize = 200;
/// The longest text of an entry, in characters: its beginning and its end.
const MAX_TEXT: usize = 12_000;
/// The most calls that are taken to run.
const MAX_CALLS: usize = 64;

/// An entry as JSON.
pub(crate) type Entry = Arc<str>;

/// Follows the conversation of a member.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    next: u64,
    entries: VecDeque<(u64, Entry)>,
    running: VecDeque<Call>,
}

#[derive(Debug)]
struct Call {
    number: u64,
    id: String,
    tool: String,
    input: Value,
}

impl Conversation {
    /// The entries that are kept, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// The next line of the journal. Returns the entries that are new or have changed.
    pub(crate) fn read(&mut self, line: &[u8]) -> Vec<Entry> {
        let JournalLine::Known(record) = JournalLine::decode(line) else {
            return Vec::new();
        };
        match record {
            JournalRecord::Open(open) => {
                let mut changed = self.interrupt();
                let restarts = restarts_text(open.incarnation);
                let text = restarts.unwrap_or_else(|| "started".to_owned());
                changed.push(self.add(json!({"kind": "note", "text": text})));
                changed
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

    fn conversation(&mut self, record: ConversationRecord) -> Vec<Entry> {
        let note = match record {
            ConversationRecord::User(user) => {
                let told = user.messages.iter().filter_map(told);
                return told.map(|entry| self.add(entry)).collect();
            }
            ConversationRecord::Assistant(reply) => return self.reply(reply.blocks),
            ConversationRecord::Result(record) => return vec![self.result(&record.result)],
            ConversationRecord::Compaction(_) => "the conversation was compacted".to_owned(),
            ConversationRecord::Ended(ended) => ended.reason,
            ConversationRecord::Asked(asked) => {
                format!("waits for the answer to request {}", asked.request_id)
            }
            ConversationRecord::Started(_)
            | ConversationRecord::Cleared(_)
            | ConversationRecord::Session(_) => return Vec::new(),
        };
        vec![self.add(json!({"kind": "note", "text": cut(&note)}))]
    }

    fn reply(&mut self, blocks: Vec<Block>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for block in blocks {
            if let Some(text) = block.readable_text()
                && !text.trim().is_empty()
            {
                entries.push(self.add(json!({"kind": "said", "text": cut(&text)})));
            }
            let Block::ToolUse {
                id, name, input, ..
            } = block
            else {
                continue;
            };
            let call = Call {
                number: self.next,
                id,
                tool: name,
                input,
            };
            entries.push(self.add(call.entry()));
            self.running.push_back(call);
            if self.running.len() > MAX_CALLS {
                self.running.pop_front();
            }
        }
        entries
    }

    fn result(&mut self, result: &ToolResult) -> Entry {
        let place = |call: &Call| call.id == result.tool_use_id;
        let place = self.running.iter().position(place);
        let call = place.and_then(|place| self.running.remove(place));
        let (mut entry, number) = match &call {
            Some(call) => (call.entry(), Some(call.number)),
            // The call is in the part of the journal that was not read.
            None => (json!({"kind": "call", "call": "a tool call"}), None),
        };
        set(&mut entry, "state", json!(state(result.is_error)));
        set(&mut entry, "output", json!(cut(result.content.trim())));
        match number {
            Some(number) => self.replace(number, entry),
            None => self.add(entry),
        }
    }

    /// A call that the engine ran by itself. Its last record has all that is known of it.
    fn engine_tool(&mut self, record: EngineToolRecord) -> Vec<Entry> {
        let (call, result) = record.into_call();
        let Some(result) = result else {
            return self.reply(vec![call]);
        };
        let mut running = self.running.iter_mut();
        let known = running.find(|known| known.id == result.tool_use_id);
        let mut changed = match (known, call) {
            (Some(known), Block::ToolUse { name, input, .. }) => {
                (known.tool, known.input) = (name, input);
                Vec::new()
            }
            (_, call) => self.reply(vec![call]),
        };
        changed.push(self.result(&result));
        changed
    }

    /// The calls of an earlier incarnation do not run any more.
    fn interrupt(&mut self) -> Vec<Entry> {
        let calls: Vec<Call> = self.running.drain(..).collect();
        let mut changed = Vec::new();
        for call in calls {
            let mut entry = call.entry();
            set(&mut entry, "state", json!("interrupted"));
            changed.push(self.replace(call.number, entry));
        }
        changed
    }

    fn add(&mut self, entry: Value) -> Entry {
        let number = self.next;
        self.next += 1;
        let entry = numbered(number, entry);
        self.entries.push_back((number, Arc::clone(&entry)));
        if self.entries.len() > MAX_ENTRIES {
            self.entries.pop_front();
        }
        entry
    }

    fn replace(&mut self, number: u64, entry: Value) -> Entry {
        let entry = numbered(number, entry);
        let place = self.entries.iter_mut().find(|(found, _)| *found == number);
        if let Some(place) = place {
            place.1 = Arc::clone(&entry);
        }
        entry
    }
}

impl Call {
    fn entry(&self) -> Value {
        let main = main_argument(&self.input).map(|(_, text)| text);
        let call = call_line(&self.tool, main.as_deref());
        json!({
            "kind": "call", "state": "running", "tool": self.tool, "call": cut(&call),
            "change": self.change(),
        })
    }

    /// The replaced and the new text of a call that edits files.
    fn change(&self) -> Option<Vec<Value>> {
        let text = |object: &Value, name: &str| object.get(name)?.as_str().map(cut);
        let edit = |edit: &Value| {
            let (old, new) = (text(edit, "old_text")?, text(edit, "new_text")?);
            Some(json!({"old": old, "new": new}))
        };
        match self.tool.as_str() {
            "write_file" => Some(vec![
                json!({"old": "", "new": text(&self.input, "content")?}),
            ]),
            "edit_file" => match self.input.get("edits").and_then(Value::as_array) {
                Some(edits) => Some(edits.iter().filter_map(edit).collect()),
                None => Some(vec![edit(&self.input)?]),
            },
            _ => None,
        }
    }
}

const fn state(is_error: bool) -> &'static str {
    match is_error {
        true => "failed",
        false => "done",
    }
}

fn set(entry: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = entry {
        fields.insert(name.to_owned(), value);
    }
}

fn numbered(number: u64, mut entry: Value) -> Entry {
    set(&mut entry, "n", json!(number));
    entry.to_string().into()
}

/// What the model was told.
fn told(given: &UserMessage) -> Option<Value> {
    let text = given.text.trim();
    if text.is_empty() {
        return None;
    }
    let (tag, inside) = split_tag(text);
    let from = match &given.source {
        Some(MessageSource::Prompt(_)) => "prompt",
        Some(MessageSource::Mail(_)) => {
            if let Some(mail) = TextBlock::read_all(text, MAIL_TAG).first() {
                let from = mail.get("from").unwrap_or("an unknown sender");
                let kind = mail.get("type").unwrap_or("message");
                return Some(json!({
                    "kind": "told", "from": cut(from), "type": cut(kind), "text": cut(&mail.text),
                }));
            }
            "mail"
        }
        Some(MessageSource::Commands(_)) => {
            return Some(json!({"kind": "told", "from": "background", "text": cut(inside)}));
        }
        // The page shows what a reminder says elsewhere.
        Some(MessageSource::Reminder) => return None,
        Some(MessageSource::Continuation) => "continued",
        // What the program itself has added says in its tag what it is.
        None => {
            let from = tag.unwrap_or("user");
            return Some(json!({"kind": "told", "from": from, "text": cut(inside)}));
        }
    };
    Some(json!({"kind": "told", "from": from, "text": cut(text)}))
}

/// A text of limited length: its beginning and its end.
pub(crate) fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_TEXT {
        return text.to_owned();
    }
    let half = MAX_TEXT / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    let left_out = length - 2 * half;
    format!("{start}\n... {left_out} characters left out ...\n{end}")
}

#[cfg(test)]
mod tests;
