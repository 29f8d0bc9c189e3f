//! Writers and readers of mail.

use super::{Args, orphan, say};
use anyhow::Context;
use protocol::{Body, Message, MessageId, Recipient, Sender};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use teamdir::{MemberSession, TeamDir};

/// Sends numbered messages.
#[derive(clap::Args)]
pub(crate) struct Write {
    #[arg(long)]
    from: String,
    #[arg(long)]
    to: Recipient,
    /// The first number.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// The number after the last.
    #[arg(long)]
    end: u64,
    /// How to write.
    #[arg(long, value_enum, default_value_t = How::Locked)]
    how: How,
    /// Bytes of text in each message.
    #[arg(long, default_value_t = 120)]
    size: usize,
}

/// How a writer appends.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum How {
    /// As our own senders do.
    Locked,
    /// As `echo >>` does: opens the file for each line and takes no lock.
    LockFree,
    /// With one descriptor that stays open, whatever happens to the file's name.
    Kept,
}

/// Takes mail for ever.
#[derive(clap::Args)]
pub(crate) struct Read {
    #[arg(long)]
    name: Recipient,
    /// Print each message's identifier.
    #[arg(long)]
    print: bool,
    /// Sync mail with a record that follows it, as an agent does.
    #[arg(long)]
    sync_later: bool,
}

/// Holds a member's lock.
#[derive(clap::Args)]
pub(crate) struct Hold {
    #[arg(long)]
    name: Recipient,
    /// Start a child that keeps running for this many seconds.
    #[arg(long)]
    child: Option<u32>,
    /// Start a child that waits for this pipe before exec.
    #[arg(long)]
    orphan: Option<PathBuf>,
}

pub(super) fn write(args: &Args, work: &Write) -> anyhow::Result<()> {
    let team = args.team()?;
    let mut kept = None;
    for number in work.start..work.end {
        let message = message(work, number)?;
        match work.how {
            How::Locked => drop(team.send(message)?),
            How::LockFree => open_inbox(&team, work)?.write_all(&message.to_line())?,
            How::Kept => {
                let file = match &mut kept {
                    Some(file) => file,
                    None => kept.insert(open_inbox(&team, work)?),
                };
                file.write_all(&message.to_line())?;
            }
        }
        say(&number.to_string())?;
    }
    Ok(())
}

fn message(work: &Write, number: u64) -> anyhow::Result<Message> {
    let mut message = Message::new(Body::Message {
        content: format!("{number} {}", "x".repeat(work.size)),
    });
    message.id = Some(MessageId::new(&format!("{}-{number}", work.from))?);
    message.from = Some(Sender::new(&work.from));
    message.to = Some(work.to.clone());
    Ok(message)
}

fn open_inbox(team: &TeamDir, work: &Write) -> anyhow::Result<std::fs::File> {
    let path = team.layout().inbox(&work.to);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path);
    file.with_context(|| path.display().to_string())
}

pub(super) fn read(args: &Args, work: &Read) -> anyhow::Result<()> {
    let team = args.team()?;
    let mut session = MemberSession::open(&team, &work.name, args.choice())?;
    if work.sync_later {
        session.sync_later();
    }
    say("ready")?;
    loop {
        let Some(delivery) = session.next(None)? else {
            continue;
        };
        if work.sync_later {
            let reply = serde_json::json!({"kind": "reply"});
            session.journal().append(&reply)?;
        }
        if work.print {
            for received in delivery.mail {
                say(received.id.as_str())?;
            }
        }
    }
}

pub(super) fn hold(args: &Args, work: &Hold) -> anyhow::Result<()> {
    let team = args.team()?;
    let guard = team.join(&work.name)?;
    if let Some(seconds) = work.child {
        let child = Command::new("sleep")
            .arg(seconds.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        say(&format!("child {}", child.id()))?;
    }
    say(&format!("incarnation {}", guard.incarnation()))?;
    if let Some(gate) = &work.orphan {
        orphan::start(gate)?;
    }
    loop {
        std::thread::park();
    }
}
