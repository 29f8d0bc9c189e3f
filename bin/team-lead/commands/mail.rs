//! `send`, `broadcast` and `inbox`.

mod drain;

use crate::cli::Args;
use crate::commands::requests;
use crate::failure::{Failure, Kind};
use crate::input::text_or_stdin;
use crate::names;
use crate::output::{print, print_json};
use crate::sandboxed_caller::{self, Needs};
use processes::HostLink;
use protocol::{AgentName, HostId, Line, Party, Recipient, RequestFile, Sender};
use serde_json::{Value, json};
use team::Actor;
use teamdir::{Liveness, TeamDir};
use terminal_text::clean;

/// Send a message to a member or to the lead.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead send alice 'Please review the parser.'
  git diff | team-lead send alice -

A working member sees it in its next request to its model; an idle one wakes up. An unknown name is
an error, and nothing is written. With --json: {\"id\", \"to\"}.")]
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

/// Show unread mail without marking it as read.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead inbox               the lead's
  team-lead inbox alice
  team-lead inbox user          what waits for you: questions, plans, and reports that no lead reads
  team-lead inbox bob --drain   print and remove it, if bob is not running

Drained mail is not shown to the member when it is restarted. If draining is killed, the messages that
were not printed remain for the member.

With --json: {\"messages\": [...]}, each as its sender wrote it; for `user` also {\"requests\": [...]}.")]
pub(crate) struct Inbox {
    /// Whose mail: a member's name, `lead` or `user`.
    #[arg(default_value = "lead", value_name = "NAME")]
    name: String,
    /// Print the mail and mark it as read. Refused while its owner is running.
    #[arg(long)]
    drain: bool,
}

impl Inbox {
    pub(crate) const fn needs(&self) -> Needs {
        match self.drain {
            true => Needs::Team(Some("read_inbox")),
            false => Needs::Nothing,
        }
    }
}

/// An unread line, as an object for programs and as text for people.
struct MailItem {
    object: Value,
    text: String,
}

pub(crate) fn send(team: &TeamDir, args: &Args, send: &Send) -> Result<(), Failure> {
    // The name is resolved first: a typo should not wait for the end of standard input.
    let to = names::recipient(&*team.roster()?, &send.to)?;
    let content = content(&send.text)?;
    let sent = team::send(team, &sender()?, to, &content)?;
    let elsewhere = team.roster()?.host_of(&sent.to).cloned();
    if let Some(host) = &elsewhere {
        let problem = host_problem(team, host);
        args.note(&format!("queued for the host {host}{problem}"));
    } else if let Ok(Liveness::Gone(_)) = team.liveness(&sent.to) {
        args.note(&match &sent.to {
            Recipient::Lead => {
                "no lead is running; the next one reads it: team-lead run".to_owned()
            }
            Recipient::Member(name) => {
                format!("{name} is not running; to start it again: team-lead restart {name}")
            }
        });
    }
    args.confirm(
        &json!({"id": sent.id, "to": sent.to}),
        &format!("Sent message to {}", sent.to),
    )
}

/// Why mail for a host waits.
fn host_problem(team: &TeamDir, host: &HostId) -> &'static str {
    match processes::host_link(team, host) {
        HostLink::Linked => "",
        HostLink::Unreachable { .. } => ", which cannot be reached now",
        HostLink::NoBridge => "; no bridge runs here, see: team-lead bridge --help",
    }
}

pub(crate) fn broadcast(team: &TeamDir, args: &Args, command: &Broadcast) -> Result<(), Failure> {
    let content = content(&command.text)?;
    let reached = team::broadcast(team, &sender()?, &content)?;
    let count = reached.len();
    if count == 0 {
        args.note("no teammate is there to read it; see: team-lead status");
    }
    let plural = if count == 1 { "" } else { "s" };
    args.confirm(
        &json!({"to": reached}),
        &format!("Broadcast to {count} teammate{plural}"),
    )
}

/// Whose message it is: what a person sends counts as the user's word, and what a program sends that is
/// a member as the member's.
fn sender() -> Result<Actor, Failure> {
    let Some((name, incarnation)) = sandboxed_caller::member() else {
        return Ok(Actor::user());
    };
    Ok(Actor {
        party: Party::Member(AgentName::new(&name)?),
        incarnation,
    })
}

/// The text of a message. An empty text is an error.
fn content(text: &str) -> Result<String, Failure> {
    let content = text_or_stdin(text, "the text")?;
    if content.trim().is_empty() {
        return Err(Failure::usage("the text of the message is empty"));
    }
    Ok(content)
}

pub(crate) fn inbox(team: &TeamDir, args: &Args, inbox: &Inbox) -> Result<(), Failure> {
    if inbox.name == "user" {
        return for_the_person(team, args, inbox);
    }
    let owner = names::recipient(&*team.roster()?, &inbox.name)?;
    if inbox.drain {
        return drain::drain(team, args, &owner);
    }
    show(args, &owner, &unread(team, &owner)?)
}

fn unread(team: &TeamDir, owner: &Recipient) -> Result<Vec<MailItem>, Failure> {
    let mut items = Vec::new();
    team.unread_mail(owner, |bytes, line| items.push(MailItem::new(bytes, &line)))?;
    Ok(items)
}

/// Shows what waits for the person: open requests with how to answer them, and, while no lead runs, the
/// mail that is there for the lead.
fn for_the_person(team: &TeamDir, args: &Args, inbox: &Inbox) -> Result<(), Failure> {
    if inbox.drain {
        let message = "what waits for you ends when you answer it, and is not drained";
        return Err(Failure::new(Kind::Usage, message).hint("team-lead inbox lead --drain"));
    }
    processes::repair(team);
    let waiting = team::waiting(team)?;
    let items = match team.liveness(&Recipient::Lead)? {
        Liveness::Alive(_) => Vec::new(),
        Liveness::Gone(_) => unread(team, &Recipient::Lead)?,
    };
    if args.json {
        let messages: Vec<&Value> = items.iter().map(|item| &item.object).collect();
        let requests: Vec<RequestFile> = waiting.into_iter().map(RequestFile::from).collect();
        return print_json(&json!({"requests": requests, "messages": messages}));
    }
    if waiting.is_empty() && items.is_empty() {
        return print("Nothing waits for you.");
    }
    for request in &waiting {
        print(&requests::describe(request))?;
    }
    items.iter().try_for_each(|item| print(&item.text))
}

fn show(args: &Args, owner: &Recipient, items: &[MailItem]) -> Result<(), Failure> {
    if args.json {
        let messages: Vec<&Value> = items.iter().map(|item| &item.object).collect();
        return print_json(&json!({"messages": messages}));
    }
    if items.is_empty() {
        return print(&format!("No unread mail for {owner}."));
    }
    items.iter().try_for_each(|item| print(&item.text))
}

impl MailItem {
    /// A line of an inbox or of a journal.
    fn new(bytes: &[u8], line: &Line) -> Self {
        let raw = String::from_utf8_lossy(bytes).into_owned();
        let text = clean(&describe(line, &raw)).into_owned();
        let object = serde_json::from_slice(bytes).unwrap_or(Value::String(raw));
        Self { object, text }
    }
}

/// The text of an unread line.
fn describe(line: &Line, raw: &str) -> String {
    match line {
        Line::Message(message) => {
            let from = message
                .from
                .as_ref()
                .map_or("an unknown sender", Sender::as_str);
            let kind = overview::kind_words(message.body.kind());
            let text = message.body.text();
            match message.body.request_id() {
                Some(id) => format!("{from} ({kind} {id}): {text}"),
                None => format!("{from} ({kind}): {text}"),
            }
        }
        Line::Text(text) => format!("unsigned: {text}"),
        Line::Unknown(unknown) => format!("unknown ({}): {raw}", unknown.reason),
        Line::Corrupt { reason } => format!("damaged ({reason}): {raw}"),
        Line::Blank => raw.to_owned(),
    }
}
