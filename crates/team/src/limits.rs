//! Limits of mail that hold whatever a model asks.
//!
//! They are for agents. A person who types a command knows what they do.

use crate::Actor;
use crate::mail::{notice, send_message};
use protocol::{Message, NoticeCause, Pair, Party, Recipient, TeamLimits, Timestamp, Traffic};
use std::time::Duration;
use teamdir::{AppendError, SendError, Sent, TeamDir, TeamFileError, now};

/// The span in which messages are counted, and for which two agents are stopped.
const SPAN: Duration = Duration::from_secs(60);

/// Why a text was not sent. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum LimitedSendError {
    /// They are too long.
    #[error(
        "the message has {size} bytes, more than the {most} that may be sent; write it to a file and \
         send the path"
    )]
    TooLong {
        /// How long they are.
        size: u64,
        /// How long they may be.
        most: u64,
    },
    /// The two have written to each other too often.
    #[error(
        "nothing was sent: you and {other} have exchanged {most} messages within a minute, as many as \
         may be. If you need no answer, end your turn; otherwise write again in {} s",
        wait.as_secs().max(1)
    )]
    TooOften {
        /// The other one.
        other: Recipient,
        /// How many messages may be exchanged.
        most: u64,
        /// How long to wait.
        wait: Duration,
    },
    /// The recipient does not read what is there.
    #[error(
        "nothing was sent: {size} bytes of mail wait unread for {to}, and it takes no more before it \
         has read some"
    )]
    InboxFull {
        /// Whose inbox.
        to: Recipient,
        /// How much waits there.
        size: u64,
    },
    /// The limits could not be read, or the message could not be counted.
    #[error(transparent)]
    Ledger(#[from] TeamFileError),
    /// The message could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// The permission to send a text.
pub(crate) struct SendPermit<'a> {
    team: &'a TeamDir,
    /// The sender and the limits, if it is an agent.
    agent: Option<(Recipient, TeamLimits)>,
}

impl<'a> SendPermit<'a> {
    /// Asks for the permission to send `words`.
    pub(crate) fn ask(
        team: &'a TeamDir,
        me: &Actor,
        words: &str,
    ) -> Result<Self, LimitedSendError> {
        let agent = match &me.party {
            Party::Lead => Recipient::Lead,
            Party::Member(name) => Recipient::Member(name.clone()),
            Party::User | Party::System => return Ok(Self { team, agent: None }),
        };
        let limits = team.limits()?;
        let (size, most) = (words.len() as u64, limits.max_message_bytes());
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

    /// A member as the roster spells it, so that nobody is counted twice.
    fn spelled(&self, who: Option<&Recipient>) -> Option<Recipient> {
        match who? {
            Recipient::Lead => Some(Recipient::Lead),
            Recipient::Member(name) => {
                let roster = self.team.roster().ok()?;
                let member = roster.member(name)?;
                Some(Recipient::Member(member.name.clone()))
            }
        }
    }

    /// Counts a message, or stops the two who write to each other too often.
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

    /// Notifies the lead of a stop, once. Killed in between it is notified again under the same id.
    fn report(&self, me: &Recipient, to: &Recipient, most: u64, stop: u64) {
        // The same words whoever of the two says them.
        let (a, b) = if me <= to { (me, to) } else { (to, me) };
        let words = format!(
            "{a} and {b} have exchanged {most} messages within a minute, which looks like a loop: they \
             cannot write to each other for a minute. Everything else goes on. To let them go on now: \
             `team-lead limits reset`."
        );
        let id = format!("traffic/{stop}");
        if notice(
            self.team,
            Recipient::Lead,
            NoticeCause::Traffic,
            &id,
            &words,
        )
        .is_err()
        {
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

/// Lets everybody write to everybody again. Returns who had been stopped.
pub fn reset_traffic(team: &TeamDir) -> Result<Vec<(Recipient, Recipient)>, TeamFileError> {
    let now = now();
    team.update_traffic(|traffic| {
        tidy(traffic, now);
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

/// What came of counting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Counted,
    Stopped {
        until: Timestamp,
        stop: u64,
        notified: bool,
    },
}

/// Counts a message between two agents, unless they have had enough.
fn count(
    traffic: &mut Traffic,
    me: &Recipient,
    to: &Recipient,
    most: u64,
    now: Timestamp,
) -> Count {
    tidy(traffic, now);
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

/// Forgets what is over. A time that lies too far ahead is over too: the clock was set back.
fn tidy(traffic: &mut Traffic, now: Timestamp) {
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
