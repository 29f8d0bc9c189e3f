//! `send`, `broadcast` and `inbox`.

mod drain;

use crate::cli::Args;
use crate::failure::Failure;
use crate::names;
use crate::out::{plain, print};
use anyhow::Context;
use protocol::{Line, Recipient, Sender};
use serde_json::{Value, json};
use std::io::Read;
use team::Actor;
use teamdir::{Liveness, TeamDir};

/// Send a message to a member or to the lead.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead send alice 'Please review the parser.'
  git diff | team-lead send alice -

A member that works sees it in its next request to its model; an idle one wakes up. A name that
nobody bears is an error, and creates nothing. With --json: {\"id\", \"to\"}.")]
pub(crate) struct Send {
    /// The member's name, or `lead`.
    to: String,
    /// The text; `-` reads it from standard input.
    #[arg(allow_hyphen_values = true)]
    text: String,
}

/// Send the same message to every teammate that has not been shut down.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead broadcast 'The build is red, please wait with commits.'

With --json: {\"to\": [NAME, ...]}.")]
pub(crate) struct Broadcast {
    /// The text; `-` reads it from standard input.
    #[arg(allow_hyphen_values = true)]
    text: String,
}

/// Show unread mail as it is, without taking it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead inbox               the lead's
  team-lead inbox alice
  team-lead inbox bob --drain   take it, if no process is bob

What was drained is not shown to the member when it comes back. If draining is killed half way, the
letters that were not printed wait for the member.

With --json: {\"messages\": [...]}, each as its sender wrote it.")]
pub(crate) struct Inbox {
    /// Whose mail: a member's name, or `lead`.
    #[arg(default_value = "lead")]
    name: String,
    /// Take the mail, so that nobody sees it again. Refused while its owner lives.
    #[arg(long)]
    drain: bool,
}

/// An unread line: as an object for programs, and in words for people.
struct MailItem {
    object: Value,
    words: String,
}

pub(crate) fn send(team: &TeamDir, args: &Args, send: &Send) -> Result<(), Failure> {
    // The name first: a typo should not wait for the end of standard input.
    let to = names::recipient(&*team.roster()?, &send.to)?;
    let content = content(&send.text)?;
    let sent = team::tell(team, &Actor::user(), to, &content)?;
    if let Ok(Liveness::Gone(_)) = team.liveness(&sent.to) {
        args.note(&match &sent.to {
            Recipient::Lead => "no lead runs; it is read by the next: team-lead run".to_owned(),
            Recipient::Member(name) => {
                format!("{name} does not run; to bring it back: team-lead restart {name}")
            }
        });
    }
    args.confirm(
        &json!({"id": sent.id, "to": sent.to}),
        &format!("Sent message to {}", sent.to),
    )
}

pub(crate) fn broadcast(team: &TeamDir, args: &Args, wish: &Broadcast) -> Result<(), Failure> {
    let content = content(&wish.text)?;
    let reached = team::broadcast(team, &Actor::user(), &content)?;
    let count = reached.len();
    if count == 0 {
        args.note("nobody is there to read it; see: team-lead status");
    }
    let plural = if count == 1 { "" } else { "s" };
    args.confirm(
        &json!({"to": reached}),
        &format!("Broadcast to {count} teammate{plural}"),
    )
}

/// The text of a message. One without words is a mistake: nobody could act on it.
fn content(text: &str) -> Result<String, Failure> {
    let mut content = text.to_owned();
    if text == "-" {
        content.clear();
        std::io::stdin()
            .read_to_string(&mut content)
            .context("cannot read the text from standard input")?;
    }
    if content.trim().is_empty() {
        return Err(Failure::usage("the text of the message is empty"));
    }
    Ok(content)
}

pub(crate) fn inbox(team: &TeamDir, args: &Args, inbox: &Inbox) -> Result<(), Failure> {
    let owner = names::recipient(&*team.roster()?, &inbox.name)?;
    if inbox.drain {
        return drain::drain(team, args, &owner);
    }
    let mut letters = Vec::new();
    team.unread_mail(&owner, |bytes, line| {
        letters.push(MailItem::new(bytes, &line))
    })?;
    show(args, &owner, &letters)
}

fn show(args: &Args, owner: &Recipient, letters: &[MailItem]) -> Result<(), Failure> {
    if args.json {
        let messages: Vec<&Value> = letters.iter().map(|letter| &letter.object).collect();
        return print(&json!({"messages": messages}).to_string());
    }
    if letters.is_empty() {
        return print(&format!("No unread mail for {owner}."));
    }
    letters.iter().try_for_each(|letter| print(&letter.words))
}

impl MailItem {
    /// A line of an inbox or of a journal.
    fn new(bytes: &[u8], line: &Line) -> Self {
        let raw = String::from_utf8_lossy(bytes).into_owned();
        let words = plain(&words(line, &raw));
        let object = serde_json::from_slice(bytes).unwrap_or(Value::String(raw));
        Self { object, words }
    }
}

/// An unread line for a person.
fn words(line: &Line, raw: &str) -> String {
    match line {
        Line::Message(message) => {
            let from = message.from.as_ref().map_or("somebody", Sender::as_str);
            let kind = message.body.kind();
            let text = message.body.text();
            match message.body.request_id() {
                Some(id) => format!("{from} ({kind} {id}): {text}"),
                None => format!("{from} ({kind}): {text}"),
            }
        }
        Line::Text(text) => format!("unsigned: {text}"),
        Line::Unknown(unknown) => format!("unknown ({}): {raw}", unknown.reason),
        Line::Corrupt { reason } => format!("broken ({reason}): {raw}"),
        Line::Blank => raw.to_owned(),
    }
}
