//! The words of the offline model.

use std::fmt::Write;

use serde_json::Value;

use super::letters::Mail;
use super::step::{Answered, Awaited};
use super::who::Me;

/// What it understands, for someone who was not understood.
pub(super) const EXAMPLES: &str = "I understand, for example: \
    Spawn alice (coder) and bob (tester). | Ask alice to write hello to a.txt. | Send bob a message saying \"hi\". | \
    Broadcast \"phase 1 complete\" to all teammates. | Request her shutdown. | Approve bob's plan. | \
    Create 2 tasks: \"Build\", \"Test\". | Run \"ls -la\". | Read README.md. | List the teammates. \
    For everything else choose a real model, as with --model anthropic:NAME.";

const LONG: usize = 1500;

/// The text, cut if it is long.
pub(super) fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{} [...]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The answer to the sender of a message. Its start tells that it is one, so that
/// nobody answers it.
pub(super) fn reply(report: &[String]) -> String {
    let text = if report.is_empty() {
        "Done.".to_owned()
    } else {
        report.join(" ")
    };
    format!("Re: {}", short(&text))
}

pub(super) fn status(me: &Me<'_>) -> String {
    format!(
        "I am {}, speaking through the offline model: I follow plain instructions and cannot answer open questions. I have nothing else in hand.",
        me.introduction()
    )
}

/// What it was asked to do, the oldest first.
pub(super) fn memory(asked: &[String]) -> String {
    if asked.is_empty() {
        return "Nobody has asked me to do anything yet.".to_owned();
    }
    let asked: Vec<String> = asked.iter().map(|text| format!("- {text}")).collect();
    format!("I was asked, in this order:\n{}", asked.join("\n"))
}

fn first_word(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_matches(|char: char| !char.is_alphanumeric())
        .to_lowercase()
}

pub(super) fn is_question(text: &str) -> bool {
    text.contains('?') || text.to_lowercase().contains("your status")
}

/// Whether someone wants to know what it remembers.
pub(super) fn asks_for_memory(text: &str) -> bool {
    let text = text.to_lowercase();
    ["remember", "so far"]
        .iter()
        .any(|word| text.contains(word))
}

pub(super) fn is_thanks(text: &str) -> bool {
    [
        "thanks", "thank", "ok", "okay", "fyi", "noted", "great", "good",
    ]
    .contains(&first_word(text).as_str())
}

pub(super) fn is_greeting(text: &str) -> bool {
    ["hello", "hi", "hey"].contains(&first_word(text).as_str())
}

pub(super) fn awaited(awaited: &Awaited) -> String {
    match awaited {
        Awaited::Idle(name) => format!("{name} to be done"),
        Awaited::Plan(name) => format!("{name}'s plan"),
        Awaited::Shutdown(name) => format!("{name}'s answer to the shutdown request"),
        Awaited::Decision => "the lead's decision about my plan".to_owned(),
        Awaited::Background => "the background command to end".to_owned(),
    }
}

/// Whether the program tells that a teammate is no longer there.
pub(super) fn tells_of_end(mail: &Mail, name: &str) -> bool {
    let text = mail.content.to_lowercase();
    let ends = [
        "died",
        "dead",
        "killed",
        "crashed",
        "exited",
        "failed",
        "shut down",
        "expired",
    ];
    mail.kind == "notice"
        && text.contains(&name.to_lowercase())
        && ends.iter().any(|word| text.contains(word))
}

pub(super) fn shutdown_answer(name: &str, mail: &Mail) -> String {
    let why = mail
        .feedback
        .clone()
        .unwrap_or_else(|| mail.content.clone());
    let why = if why.trim().is_empty() {
        String::new()
    } else {
        format!(" ({})", short(&why))
    };
    match (mail.kind.as_str(), mail.approve) {
        ("shutdown_response", Some(true)) => format!("{name} approved the shutdown{why}."),
        ("shutdown_response", Some(false)) => format!("{name} rejected the shutdown{why}."),
        _ => format!("{name} answered{why}."),
    }
}

/// One line or paragraph about a result.
pub(super) fn outcome(answered: &Answered<'_>) -> String {
    let text = |key: &str| answered.text(key);
    let tool = answered.tool;
    let main = [
        "path",
        "command",
        "to",
        "name",
        "teammate",
        "subject",
        "request_id",
    ]
    .iter()
    .map(|key| text(key))
    .find(|text| !text.is_empty());
    let content = match short(answered.content).as_str() {
        "" => format!("{tool}: (no output)"),
        text => text.to_owned(),
    };
    if answered.failed {
        return format!(
            "{tool} {} did not work: {content}",
            main.unwrap_or_default()
        );
    }
    match tool {
        "send_message" => format!("{content}: \"{}\"", text("content")),
        "bash" => format!("$ {}\n{content}", text("command")),
        "read_file" => format!("{}:\n{content}", text("path")),
        "write_file" if !content.contains(text("path")) => format!("{content} to {}", text("path")),
        "task_create" => match task_id(&content) {
            Some(id) => format!("Created task #{id}: {}", text("subject")),
            None => format!("Created a task: {}", text("subject")),
        },
        "task_update" => {
            let id = answered
                .input
                .get("task_id")
                .map(ToString::to_string)
                .unwrap_or_default();
            match text("status") {
                "" => format!("Updated task #{id}."),
                status => format!("Task #{id} is {status}."),
            }
        }
        _ => content,
    }
}

/// The report about an inbox that was looked into.
pub(super) fn inbox<'m>(mails: impl Iterator<Item = &'m Mail>, content: &str) -> String {
    let lines: Vec<String> = mails.map(line).collect();
    match (lines.is_empty(), content.trim()) {
        (false, _) => format!("Inbox:\n{}", lines.join("\n")),
        (true, "" | "[]") => "Inbox: no messages.".to_owned(),
        (true, other) => format!("Inbox: {}", short(other)),
    }
}

/// One line about a message.
pub(super) fn line(mail: &Mail) -> String {
    let mut text = format!(
        "From {}",
        if mail.from.is_empty() {
            "the program"
        } else {
            &mail.from
        }
    );
    if mail.kind != "message" {
        let _ = write!(text, " ({})", mail.kind);
    }
    if let Some(id) = &mail.request_id {
        let _ = write!(text, " [request {id}]");
    }
    let content = mail
        .plan
        .as_ref()
        .filter(|_| mail.content.trim().is_empty())
        .unwrap_or(&mail.content);
    let _ = write!(text, ": {}", short(content));
    if mail.submits_plan() {
        let id = mail.request_id.as_deref().unwrap_or("ID");
        let _ = write!(
            text,
            "\nTo decide about it say: Approve plan {id}. Or: Reject plan {id} because ..."
        );
    }
    text
}

/// The id in the result of `task_create`, if it can be seen.
pub(super) fn task_id(content: &str) -> Option<i64> {
    if let Ok(value) = serde_json::from_str::<Value>(content) {
        return value
            .get("id")
            .or_else(|| value.get("task")?.get("id"))?
            .as_i64();
    }
    let (_, rest) = content
        .split_once('#')
        .or_else(|| content.split_once("\"id\":"))?;
    let digits: String = rest
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// The names in the result of `list_teammates` that are not shut down.
pub(super) fn listed(content: &str) -> Vec<String> {
    let lines = content
        .lines()
        .filter(|line| line.starts_with(' ') && line.contains('('));
    let live = lines.filter(|line| {
        let state = line.rsplit_once("):").map_or("", |(_, state)| state.trim());
        !state.starts_with("shutdown") && !state.starts_with("dead")
    });
    live.filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Whether a result is no longer there and something stands in its place.
pub(super) fn is_placeholder(content: &str) -> bool {
    let content = content.trim();
    content.starts_with("[Previous: used")
        || content.starts_with('[') && content.ends_with(']')
        || content.starts_with("<persisted-output")
}
