//! What the model says, and what it reads in the results of tools.

use serde_json::Value;

use crate::conversation::{Mail, Outcome};
use crate::identity::Identity;

/// For a user who was not understood.
pub(crate) const EXAMPLES: &str = "I understand, for example: \
    Spawn alice (coder) and bob (tester). | Ask alice to write hello to a.txt. | Send bob a message saying \"hi\". | \
    Broadcast \"phase 1 complete\" to all teammates. | Request her shutdown. | Approve bob's plan. | \
    Create 2 tasks: \"Build\", \"Test\". | Run \"ls -la\". | Read README.md. | List the teammates. \
    For everything else choose a real model, as with --model anthropic:NAME.";

/// How the report of a teammate begins that has nothing to do yet.
pub(crate) const READY: &str = "Ready.";

const LONGEST: usize = 1500;

pub(crate) fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} [...]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(crate) fn not_understood(text: &str) -> String {
    format!(
        "I did not understand \"{}\" and did nothing about it: I am the offline model, which \
         follows plain instructions and is no LLM.",
        short(text)
    )
}

/// The answer to the sender of a message. A model of this kind answers nothing that begins with
/// `Re:`, so two of them never write to each other for ever.
pub(crate) fn reply(report: &[String]) -> String {
    match report {
        [] => "Re: Done.".to_owned(),
        report => format!("Re: {}", short(&report.join(" "))),
    }
}

/// The answer to a question: what the agent was asked to do so far, or who it is.
pub(crate) fn open_answer(text: &str, asked: &[String], me: &Identity<'_>) -> String {
    match asked {
        _ if !text.to_lowercase().contains("remember") => format!(
            "I am {}, speaking through the offline model: I follow plain instructions and cannot \
             answer open questions.",
            me.introduction
        ),
        [] => "Nobody has asked me to do anything yet.".to_owned(),
        asked => format!("I was asked, in this order:\n- {}", asked.join("\n- ")),
    }
}

/// A plan for the lead to decide about.
pub(crate) fn plan(me: &Identity<'_>, about: Option<&str>, step: &str) -> String {
    let about = about.map_or_else(String::new, |about| format!(" for: {about}"));
    format!("Plan of {}{about}\n1. {step}", me.introduction)
}

/// One message, with what the user may say about it.
pub(crate) fn mail(mail: &Mail) -> String {
    let from = Some(mail.from.as_str()).filter(|from| !from.is_empty());
    let from = from.unwrap_or("the program");
    let line = match mail.kind.as_str() {
        "message" => format!("From {from}"),
        "idle_notification" => format!("{from} reports"),
        kind => format!("From {from} ({kind})"),
    };
    let mut line = format!("{line}: {}", short(&mail.text));
    let id = &mail.request_id;
    if mail.is_plan() && !id.is_empty() {
        line += &format!(
            "\nTo decide about it say: Approve plan {id}. Or: Reject plan {id} because ..."
        );
    }
    line
}

/// The report about the result of a tool call.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let (tool, text) = (outcome.tool.as_str(), |key: &str| outcome.text(key));
    let content = match tool {
        "read_file" => short(&without_line_numbers(&outcome.content)),
        _ => short(&outcome.content),
    };
    let content = match content.as_str() {
        "" => format!("{tool}: (no output)"),
        _ => content,
    };
    match tool {
        _ if outcome.failed => format!("{} did not work: {content}", describe(outcome)),
        "send_message" => format!("{content}: \"{}\"", text("content")),
        "bash" => format!("$ {}\n{content}", text("command")),
        "read_file" => format!("{}:\n{content}", text("path")),
        "read_inbox" => inbox(&outcome.content),
        "task_create" => {
            let id = task_id(&content).map_or_else(String::new, |id| format!(" #{id}"));
            format!("Created task{id}: {}", text("subject"))
        }
        "task_update" => {
            let status = outcome.input["status"].as_str().unwrap_or("updated");
            format!("Task #{} is {status}.", outcome.input["task_id"])
        }
        _ => content,
    }
}

fn inbox(content: &str) -> String {
    let lines: Vec<String> = Mail::read_all(content).map(|found| mail(&found)).collect();
    match lines.as_slice() {
        [] => "Inbox: no messages.".to_owned(),
        lines => format!("Inbox:\n{}", lines.join("\n")),
    }
}

/// The text of a file without the numbers that `read_file` puts before its lines, such as `12→`.
fn without_line_numbers(shown: &str) -> String {
    let lines = shown.lines().map(|line| match line.split_once('→') {
        Some((number, text)) if number.parse::<u64>().is_ok() => text,
        Some(_) | None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A call in short: the tool, and the argument that matters most.
pub(crate) fn describe(call: &Outcome) -> String {
    let keys = "path command to name teammate subject request_id";
    let mut texts = keys.split(' ').filter_map(|key| call.input[key].as_str());
    format!("{} {}", call.tool, texts.next().unwrap_or_default())
}

/// Whether the first word of the text is one of these, which are separated by spaces.
pub(crate) fn opens_with(text: &str, words: &str) -> bool {
    let first = text.split(|char: char| !char.is_alphanumeric()).next();
    let first = first.unwrap_or_default().to_lowercase();
    words.split(' ').any(|word| word == first)
}

/// The id under which the agent's own plan was submitted, or nothing.
pub(crate) fn request_id(content: &str) -> &str {
    let is_end = |char: char| !char.is_alphanumeric() && !matches!(char, '_' | '-');
    let after = content.split_once("request_id=");
    let id = after.and_then(|(_, rest)| rest.split(is_end).next());
    id.unwrap_or_default()
}

/// The id in the result of `task_create`, if the result is still there.
pub(crate) fn task_id(content: &str) -> Option<i64> {
    serde_json::from_str::<Value>(content).ok()?["id"].as_i64()
}

/// The names in the result of `list_teammates`, without those that have ended.
pub(crate) fn listed(content: &str) -> Vec<String> {
    let lines = content.lines().filter(|line| line.starts_with(' '));
    let running = lines.filter_map(|line| {
        let (name, rest) = line.trim().split_once(" (")?;
        let (_, state) = rest.rsplit_once("): ")?;
        let has_ended = state.starts_with("shutdown") || state.starts_with("dead");
        (!has_ended).then(|| name.to_owned())
    });
    running.collect()
}

/// Whether a result was cleared or clipped.
pub(crate) fn is_incomplete(content: &str) -> bool {
    let content = content.trim();
    content.starts_with('[') && content.ends_with(']')
        || content.starts_with("<persisted-output")
        || content.contains(" bytes left out ...]")
}

/// A first content for a file that is asked for without any, by its name.
pub(crate) fn first_content(path: &str) -> String {
    match path.rsplit('.').next() {
        Some("html") => "<!DOCTYPE html>\n<html lang=\"en\">\n<h1>Hello</h1>\n</html>\n".to_owned(),
        Some("json") => "{\n  \"host\": \"127.0.0.1\",\n  \"port\": 8080\n}\n".to_owned(),
        _ => format!("{path}\n"),
    }
}
