//! Limits of mail between agents, enforced whatever a model asks for.
//!
//! They do not apply to a person who types a command.

use crate::Actor;
use crate::mail::{notice, send_message};
use protocol::{Message, NoticeCause, Pair, Party, Recipient, TeamLimits, Timestamp, Traffic};
use std::time::Duration;
use teamdir::{AppendError, SendError, Sent, TeamDir, TeamFileError, now};

/// The time window in which messages are counted, and for which two agents are stopped.
const SPAN: Duration = Duration::from_secs(60);

/// Why a text was not sent.
#[derive(Debug, thiserror::Error)]
pub enum LimitedSendError {
    #[error(
        "the message has {size} bytes, more than the {most} that may be sent; write it to a file and \
         send the path"
    )]
    TooLong { size: u64, most: u64 },
    /// The two agents have exchanged too many messages.
    #[error(
        "nothing was sent: you and {other} have exchanged {most} messages within a minute, as many as \
         may be. If you need no answer, end your turn; otherwise write again in {} s",
        wait.as_secs().max(1)
    )]
    TooOften {
        other: Recipient,
        most: u64,
        wait: Duration,
    },
    /// The recipient does not read its mail.
    #[error(
        "nothing was sent: {size} bytes of mail wait unread for {to}; write again when it \
         has read some"
    )]
    InboxFull { to: Recipient, size: u64 },
    /// The limits could not be read, or the message could not be counted.
    #[error(transparent)]
    Ledger(#[from] TeamFileError),
    #[error(transparent)]
    Send(#[from] SendError),
}

/// The permission to send one text.
pub(crate) struct SendPermit<'a> {
    team: &'a TeamDir,
    /// The sender and the limits, if the sender is an agent.
    agent: Option<(Recipient, TeamLimits)>,
}

impl<'a> SendPermit<'a> {
    /// Checks whether `text` may be sent.
    pub(crate) fn ask(team: &'a TeamDir, me: &Actor, text: &str) -> Result<Self, LimitedSendError> {
        let agent = match &me.party {
            Party::Lead => Recipient::Lead,
            Party::Member(name) => Recipient::Member(name.clone()),
            Party::User | Party::System => return Ok(Self { team, agent: None }),
        };
        let limits = team.limits()?;
        let (size, most) = (text.len() as u64, limits.max_message_bytes());
        if size > most {
            return Err(LimitedSendError::TooLong { size, most });
        }
        let agent = Some((agent, limits));
        Ok(Self { team, agent })
    }

    /// Sends a message with this text.
    pub(crate) fn send(&self, message: Message) -> Result<Sent, LimitedSendError> {
        let Some((me, limits)) = &self.agent else {
            return Ok(send_message(self.team, message)?);
        };
        if let Some(to) = self.spelled(message.to.as_ref()) {
            let me = self.spelled(Some(me)).unwrap_or_else(|| me.clone());
            self.count(&me, &to, limits.max_messages_per_minute())?;
        }
        let team = self.team.with_inbox_limit(limits.max_inbox_bytes());
        let to = message.to.clone();
        send_message(&team, message).map_err(|error| match (error, to) {
            (SendError::Append(AppendError::Full { size, .. }), Some(to)) => {
                LimitedSendError::InboxFull { to, size }
            }
            (error, _) => error.into(),
        })
    }

    /// A member as the roster spells it, so that two spellings are counted together.
    fn spelled(&self, who: Option<&Recipient>) -> Option<Recipient> {
        match who? {
            Recipient::Lead => Some(Recipient::Lead),
            Recipient::Member(name) => {
                let roster = self.team.roster().ok()?;
                let member = roster.member(name)?;
                Some(Recipient::Member(member.spec.name.clone()))
            }
        }
    }

    /// Counts a message, or stops two agents that exchange too many.
    fn count(&self, me: &Recipient, to: &Recipient, most: u64) -> Result<(), LimitedSendError> {
        let now = now();
        let counted = self
            .team
            .update_traffic(|traffic| count(traffic, me, to, most, now))?;
        let Count::Stopped {
            until,
            stop,
            notified,
        } = counted
        else {
            return Ok(());
        };
        if !notified {
            self.report(me, to, most, stop);
        }
        Err(LimitedSendError::TooOften {
            other: to.clone(),
            most,
            wait: until.since(now),
        })
    }

    /// Notifies the lead of a stop, once. If this process is killed in between, the notice is repeated with
    /// the same id.
    fn report(&self, me: &Recipient, to: &Recipient, most: u64, stop: u64) {
        // The text must not depend on which of the two reports the stop.
        let (a, b) = if me <= to { (me, to) } else { (to, me) };
        let text = format!(
            "{a} and {b} have exchanged {most} messages within a minute, which looks like a loop: they \
             cannot write to each other for a minute. All other mail is delivered. To lift the stop now: \
             `team-lead limits reset`."
        );
        let id = format!("traffic/{stop}");
        if notice(self.team, Recipient::Lead, NoticeCause::Traffic, &id, &text).is_err() {
            // The next message that is refused tries again.
            return;
        }
        let _ = self.team.update_traffic(|traffic| {
            for pair in &mut traffic.pairs {
                if pair.stop == Some(stop) {
                    pair.notified = Some(true);
                }
            }
        });
    }
}

/// Lifts all stops. Returns the pairs that had been stopped.
pub fn reset_traffic(team: &TeamDir) -> Result<Vec<(Recipient, Recipient)>, TeamFileError> {
    let now = now();
    team.update_traffic(|traffic| {
        drop_expired(traffic, now);
        let stopped = traffic
            .pairs
            .iter()
            .filter(|pair| pair.stopped_until.is_some());
        let stopped = stopped
            .map(|pair| (pair.a.clone(), pair.b.clone()))
            .collect();
        traffic.pairs.clear();
        stopped
    })
}

/// The result of counting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Counted,
    Stopped {
        until: Timestamp,
        stop: u64,
        notified: bool,
    },
}

/// Counts a message between two agents, unless they are stopped.
fn count(
    traffic: &mut Traffic,
    me: &Recipient,
    to: &Recipient,
    most: u64,
    now: Timestamp,
) -> Count {
    drop_expired(traffic, now);
    let known = traffic.pairs.iter().position(|pair| pair.is_of(me, to));
    let stops = &mut traffic.stops;
    let pair = match known.and_then(|at| traffic.pairs.get_mut(at)) {
        Some(pair) => pair,
        None => traffic.pairs.push_mut(Pair::new(me.clone(), to.clone())),
    };
    if pair.stopped_until.is_none() && (pair.sent.len() as u64) < most {
        pair.sent.push(now);
        return Count::Counted;
    }
    let until = *pair.stopped_until.get_or_insert_with(|| now.plus(SPAN));
    let stop = *pair.stop.get_or_insert_with(|| {
        *stops += 1;
        *stops
    });
    Count::Stopped {
        until,
        stop,
        notified: pair.notified == Some(true),
    }
}

/// Drops expired entries. An entry too far in the future is dropped too: the clock was set back.
fn drop_expired(traffic: &mut Traffic, now: Timestamp) {
    let is_near = |at: Timestamp| now.since(at) < SPAN && at.since(now) <= SPAN;
    traffic.pairs.retain_mut(|pair| {
        pair.sent.retain(|at| is_near(*at));
        match pair.stopped_until {
            Some(until) => until > now && is_near(until),
            None => !pair.sent.is_empty(),
        }
    });
}

#[cfg(test)]
mod tests;
