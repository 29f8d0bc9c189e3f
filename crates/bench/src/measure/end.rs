//! One end of a line between processes: ours, or the same steps in bare system calls.

use super::bare::BareEnd;
use super::kind::Engine;
pub(super) use super::kind::Kind;
use super::nats::{self, NatsEnd};
use super::proc;
use super::programs;
use super::redis::{self, RedisEnd};
use super::socket::SocketEnd;
use super::team::contestants::agent_mail;
use anyhow::{Context as _, bail};
use protocol::{Body, Line, Member, Message, Recipient, Sender};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;
use teamdir::{
    AppendError, Durability, MemberSession, Options, RosterError, SendError, TeamDir, WatchChoice,
    WatchMode,
};
use test_support::Worker;
use trust::{FolderId, Store};

/// The length of a line in an inbox, newline included.
pub(super) const LINE: usize = 300;

/// What lines go through, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Medium {
    pub(super) kind: Kind,
    pub(super) dir: PathBuf,
    pub(super) me: String,
    pub(super) peer: String,
    /// The core this end stays on.
    pub(super) core: Option<usize>,
}

/// What must be there as long as a medium is used.
pub(super) struct Ground {
    server: Option<Worker>,
}

impl Ground {
    /// The process of a server, if there is one.
    pub(super) fn server(&self) -> Option<u32> {
        self.server.as_ref().map(Worker::id)
    }
}

/// One end: sends to its peer, and takes what comes.
pub(super) trait End {
    /// Sends a line. `false` if the other side has too much to read already.
    fn send(&mut self, content: &str) -> anyhow::Result<bool>;
    /// Waits for the next lines.
    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>>;
}

impl Medium {
    pub(super) fn new(kind: Kind, dir: &Path, me: &str, peer: &str) -> Self {
        Self {
            kind,
            dir: dir.to_path_buf(),
            me: me.to_owned(),
            peer: peer.to_owned(),
            core: None,
        }
    }

    pub(super) const fn on_core(mut self, core: Option<usize>) -> Self {
        self.core = core;
        self
    }

    /// Makes the folder ready for `members`.
    pub(super) fn prepare(kind: Kind, dir: &Path, members: &[&str]) -> anyhow::Result<Ground> {
        let mut server = None;
        match kind.engine() {
            // What this writes is not measured, so it need not be synced.
            Engine::Ours => create_team(dir, members).map(drop)?,
            Engine::Bare => BareEnd::prepare(dir, members)?,
            Engine::Redis => server = Some(redis::start(kind, dir)?),
            Engine::Nats => server = Some(nats::start(kind, dir)?),
            Engine::Python(_) if kind == Kind::AgentMail => {
                server = Some(agent_mail::start(dir)?);
            }
            Engine::Socket | Engine::Python(_) => {}
        }
        Ok(Ground { server })
    }

    /// The end that sends and receives.
    pub(super) fn open(&self) -> anyhow::Result<Box<dyn End>> {
        if let Some(core) = self.core {
            proc::stay_on(core).context("stay on one core")?;
        }
        Ok(match self.kind.engine() {
            Engine::Ours => Box::new(OurEnd::open(self)?),
            Engine::Bare => Box::new(BareEnd::open(self)?),
            Engine::Socket => Box::new(SocketEnd::open(self)?),
            Engine::Redis => Box::new(RedisEnd::open(self)?),
            Engine::Nats => Box::new(NatsEnd::open(self)?),
            Engine::Python(kind) => bail!("{kind} is run by Python"),
        })
    }

    /// An end that takes what comes. A member of ours records its mail without a sync of its own: the record that it
    /// acts on next, such as the reply of its model, is synced with it.
    pub(super) fn open_to_drain(&self) -> anyhow::Result<Box<dyn End>> {
        match self.kind.engine() {
            Engine::Ours => Ok(Box::new(OurEnd::open_as_member(self)?)),
            Engine::Bare | Engine::Socket | Engine::Redis | Engine::Nats | Engine::Python(_) => {
                self.open()
            }
        }
    }

    /// An end that sends only.
    pub(super) fn open_to_send(&self) -> anyhow::Result<Box<dyn End>> {
        Ok(match self.kind.engine() {
            Engine::Ours => Box::new(OurEnd::open_to_send(self)?),
            Engine::Bare => Box::new(BareEnd::open_to_send(self)),
            Engine::Socket => Box::new(SocketEnd::open_to_send(self)?),
            Engine::Redis => Box::new(RedisEnd::open_to_send(self)?),
            Engine::Nats => Box::new(NatsEnd::open_to_send(self)?),
            Engine::Python(kind) => bail!("{kind} is run by Python"),
        })
    }
}

/// The options of a team, as they are by default but for the syncs.
pub(crate) fn options(durability: Durability) -> Options {
    Options {
        durability,
        ..Options::default()
    }
}

/// Creates a team folder with the given members.
pub(crate) fn create_team(dir: &Path, members: &[&str]) -> anyhow::Result<TeamDir> {
    let team = TeamDir::create(dir, "bench", options(Durability::ProcessDeath))?;
    team.update_roster(|roster| {
        for name in members {
            let name = name.parse().expect("a plain name");
            roster.members.push(Member::new(name, "bench"));
        }
        Ok::<(), RosterError>(())
    })?;
    // As `team-lead` does; the commands of a benchmark have their home in the folder.
    let state = programs::home(dir).join(".local/state/team-lead");
    let record = Store::new(Some(state)).lock(dir)?;
    record.made(FolderId::of(team.layout().root())?)?;
    Ok(team)
}

/// An end in a team folder.
pub(super) struct OurEnd {
    team: TeamDir,
    session: Option<MemberSession>,
    from: Sender,
    to: Recipient,
}

impl OurEnd {
    pub(super) fn open(medium: &Medium) -> anyhow::Result<Self> {
        let mut end = Self::open_to_send(medium)?;
        let me: Recipient = medium.me.parse()?;
        end.session = Some(MemberSession::open(&end.team, &me, WatchChoice::Auto)?);
        Ok(end)
    }

    /// The same, and mail is recorded as members do.
    pub(super) fn open_as_member(medium: &Medium) -> anyhow::Result<Self> {
        let mut end = Self::open(medium)?;
        if let Some(session) = &mut end.session {
            session.sync_later();
        }
        Ok(end)
    }

    pub(super) fn open_to_send(medium: &Medium) -> anyhow::Result<Self> {
        Ok(Self {
            team: TeamDir::open(&medium.dir, options(medium.kind.durability()))?,
            session: None,
            from: Sender::new(&medium.me),
            to: medium.peer.parse()?,
        })
    }

    /// Whether it is notified of mail, or polls.
    pub(super) fn watch_mode(&self) -> Option<WatchMode> {
        self.session.as_ref().map(MemberSession::watch_mode)
    }
}

impl End for OurEnd {
    fn send(&mut self, content: &str) -> anyhow::Result<bool> {
        match self.team.send(message(&self.from, &self.to, content)) {
            Ok(_) => Ok(true),
            Err(SendError::Append(AppendError::Full { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>> {
        let session = self.session.as_mut().context("this end only sends")?;
        let Some(delivery) = session.next(deadline)? else {
            return Ok(Vec::new());
        };
        let texts = delivery.mail.into_iter().map(|mail| match mail.decode() {
            Line::Message(message) => message.body.text().to_owned(),
            other => format!("{other:?}"),
        });
        Ok(texts.collect())
    }
}

/// A message whose line is about [`LINE`] long.
pub(crate) fn message(from: &Sender, to: &Recipient, content: &str) -> Message {
    // The envelope: an identifier of about 20 digits, a time, the names and the text around them.
    const ENVELOPE: usize = 108;
    let names = from.as_str().len() + to.as_str().len();
    let width = LINE - ENVELOPE - names;
    let filling = "x".repeat(width.saturating_sub(content.len() + 1));
    let content = [content, &filling].join(" ");
    let mut message = Message::new(Body::Message { content });
    message.from = Some(from.clone());
    message.to = Some(to.clone());
    message
}

/// The number at `place` of a content.
pub(super) fn number(content: &str, place: usize) -> anyhow::Result<u64> {
    let word = content.split_ascii_whitespace().nth(place);
    let word = word.with_context(|| format!("no number in {content:?}"))?;
    word.parse()
        .with_context(|| format!("no number in {content:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_length_they_should() {
        let mut message = message(&Sender::new("alice"), &Recipient::Lead, "123 456");
        message.id = Some(teamdir::new_message_id());
        message.timestamp = Some(teamdir::now());
        let length = message.to_line().len();
        assert!(length.abs_diff(LINE) <= 8, "{length}");
        assert_eq!(number(message.body.text(), 1).unwrap(), 456);
    }
}
