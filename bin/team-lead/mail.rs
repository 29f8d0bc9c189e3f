//! `send` and `inbox`.

use crate::cli::{Args, print};
use crate::failure::Failure;
use anyhow::Context;
use protocol::{Body, Line, Message, Party, Recipient, Sender};
use serde_json::{Value, json};
use std::io::Read;
use teamdir::TeamDir;

pub(crate) fn send(team: &TeamDir, args: &Args, to: &str, text: &str) -> Result<(), Failure> {
    let mut content = text.to_owned();
    if text == "-" {
        content.clear();
        std::io::stdin()
            .read_to_string(&mut content)
            .context("cannot read the text from standard input")?;
    }
    let to: Recipient = to
        .parse()
        .map_err(|error: protocol::NameError| Failure::usage(error.to_string()))?;
    let mut message = Message::new(Body::Message { content });
    message.from = Some(Sender::Party(Party::User));
    message.to = Some(to);
    let sent = team.send(message)?;
    if args.json {
        return print(&json!({"id": sent.id, "to": sent.to}).to_string());
    }
    print(&format!("Sent message to {}", sent.to))
}

pub(crate) fn inbox(team: &TeamDir, args: &Args, name: &str) -> Result<(), Failure> {
    let found = team
        .roster()?
        .recipient(name)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let unknown = || Failure::unknown_member(format!("there is no member called {name}"));
    let owner = found.ok_or_else(unknown)?;
    let mut lines: Vec<(Value, String)> = Vec::new();
    team.peek(&owner, |bytes, line| {
        let raw = String::from_utf8_lossy(bytes).into_owned();
        let value = serde_json::from_slice(bytes).unwrap_or(Value::String(raw.clone()));
        lines.push((value, words(&line, raw)));
    })?;
    if args.json {
        let messages: Vec<&Value> = lines.iter().map(|(value, _)| value).collect();
        return print(&json!({"messages": messages}).to_string());
    }
    if lines.is_empty() {
        return print(&format!("No unread mail for {owner}."));
    }
    lines.iter().try_for_each(|(_, text)| print(text))
}

/// An unread line for a person.
fn words(line: &Line, raw: String) -> String {
    match line {
        Line::Message(message) => {
            let from = message.from.as_ref().map_or("somebody", Sender::as_str);
            let kind = message.body.kind();
            format!("{from} ({kind}): {}", message.body.text())
        }
        Line::Text(text) => format!("unsigned: {text}"),
        Line::Unknown(unknown) => format!("unknown ({}): {raw}", unknown.reason),
        Line::Corrupt { reason } => format!("broken ({reason}): {raw}"),
        Line::Blank => raw,
    }
}
