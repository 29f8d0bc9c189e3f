//! Mail for somebody at home on another host, on its way into the outbox of that host.

use crate::core::lock;
use protocol::{HostId, MailEntry, Payload, Recipient};
use serde_json::{Map, Value};
use std::sync::Mutex;
use teamdir::{Outbox, PathError};

/// Stores mail for somebody elsewhere in the outbox of their host, but for what is there already.
pub(crate) fn forward(
    outbox: &Mutex<Outbox>,
    me: &HostId,
    to: &Recipient,
    mail: &[MailEntry],
) -> Result<(), PathError> {
    let mut outbox = lock(outbox);
    let mut payloads = Vec::new();
    for entry in mail {
        let line = crossing_line(me, entry);
        if !outbox.has_stored(to, &line) {
            let to = to.clone();
            payloads.push(Payload::Mail { to, line });
        }
    }
    outbox.append(payloads)
}

/// The line as it crosses: an object with an id. A line without one is called after its place here.
fn crossing_line(me: &HostId, entry: &MailEntry) -> Map<String, Value> {
    let place = || Value::String(format!("{me}/{}", entry.id));
    match serde_json::from_str::<Value>(entry.line.get()) {
        Ok(Value::Object(mut line)) => {
            let has_id = line.get("id").is_some_and(Value::is_string);
            if !has_id {
                line.insert("id".to_owned(), place());
            }
            line
        }
        Ok(Value::String(text)) => plain_text(text, place()),
        Ok(other) => plain_text(other.to_string(), place()),
        Err(_) => plain_text(entry.line.get().to_owned(), place()),
    }
}

fn plain_text(text: String, id: Value) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("type".to_owned(), Value::String("message".to_owned()));
    line.insert("id".to_owned(), id);
    line.insert("content".to_owned(), Value::String(text));
    line
}
