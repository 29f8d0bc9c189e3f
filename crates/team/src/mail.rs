//! Sends mail, with an event in the event log.

use crate::Actor;
use crate::limits::{LimitedSendError, SendPermit};
use protocol::{
    Body, EventKind, MemberStatus, Message, MessageId, NoticeCause, Party, Recipient, Sender,
};
use teamdir::{SendError, Sent, TeamDir};

/// How many characters of a message the event log shows.
const PREVIEW: usize = 80;

/// Sends a message that is complete except for what [`TeamDir::send`] adds.
pub fn send_message(team: &TeamDir, message: Message) -> Result<Sent, SendError> {
    let sent = team.send(message.clone())?;
    // The event is only for observers; the message is already stored.
    let _ = team.log_event(send_event(&message, sent.id.clone(), sent.to.clone()));
    Ok(sent)
}

/// The event that a message was sent.
pub fn send_event(message: &Message, id: MessageId, to: Recipient) -> EventKind {
    let from = message.from.clone();
    EventKind::Send {
        id,
        from: from.unwrap_or_else(|| Sender::Stranger(String::new())),
        to,
        kind: message.body.kind().to_owned(),
        preview: preview(message.body.text()),
    }
}

/// The beginning of a text on one line. `None` if the text is empty.
pub(crate) fn preview(text: &str) -> Option<String> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() >= PREVIEW {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() > PREVIEW {
        line = line.chars().take(PREVIEW - 1).chain(['…']).collect();
    }
    (!line.is_empty()).then_some(line)
}

/// Sends text to one recipient. The team's limits apply to agents.
pub fn send(
    team: &TeamDir,
    me: &Actor,
    to: Recipient,
    content: &str,
) -> Result<Sent, LimitedSendError> {
    let permit = SendPermit::ask(team, me, content)?;
    let content = content.to_owned();
    let mut message = me.sign(Message::new(Body::Message { content }));
    message.to = Some(to);
    permit.send(message)
}

/// Sends text to every member but the sender, within the same limits. Members that have ended cleanly are
/// left out. Returns the recipients.
///
/// If one recipient fails, the others are still tried, and the first error is returned.
pub fn broadcast(
    team: &TeamDir,
    me: &Actor,
    content: &str,
) -> Result<Vec<Recipient>, LimitedSendError> {
    let permit = SendPermit::ask(team, me, content)?;
    let roster = team.roster().map_err(SendError::from)?;
    let mut reached = Vec::new();
    let mut failed = None;
    for member in &roster.members {
        let is_sender = matches!(&me.party, Party::Member(name) if name.same_as(&member.spec.name));
        if is_sender || member.status == MemberStatus::Shutdown {
            continue;
        }
        let content = content.to_owned();
        let mut message = me.sign(Message::new(Body::Broadcast { content }));
        message.to = Some(Recipient::Member(member.spec.name.clone()));
        match permit.send(message) {
            Ok(sent) => reached.push(sent.to),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(reached),
    }
}

/// Sends a notice of the program itself. A second notice with the same `id` has no effect.
pub fn notice(
    team: &TeamDir,
    to: Recipient,
    cause: NoticeCause,
    id: &str,
    content: &str,
) -> Result<Sent, SendError> {
    let body = Body::Notice {
        cause: Some(cause),
        content: content.to_owned(),
    };
    let mut message = Message::new(body);
    message.from = Some(Party::System.into());
    message.to = Some(to);
    message.id = MessageId::new(id).ok();
    send_message(team, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{AgentName, Incarnation};
    use teamdir::{Options, RosterError};
    use test_support::TempTeam;

    #[test]
    fn a_broadcast_reaches_all_members_but_the_sender_and_those_that_have_ended() {
        let temp = TempTeam::new(&["alice", "bob", "carol"], Options::default());
        let team = temp.team();
        team.update_roster(|roster| {
            for member in &mut roster.members {
                if member.spec.name.as_str() != "carol" {
                    member.status = MemberStatus::Idle;
                }
            }
            Ok::<_, RosterError>(())
        })
        .unwrap();
        let alice = Actor::member(AgentName::new("ALICE").unwrap(), Incarnation(1));
        let reached = broadcast(team, &alice, "hello").unwrap();
        assert_eq!(reached, ["bob".parse::<Recipient>().unwrap()]);
        assert_eq!(temp.unread(&"bob".parse().unwrap()), 1);
        assert_eq!(temp.unread(&"alice".parse().unwrap()), 0);
    }

    #[test]
    fn a_sent_message_is_logged_as_an_event() {
        let temp = TempTeam::new(&["alice"], Options::default());
        send(temp.team(), &Actor::user(), "alice".parse().unwrap(), "hi").unwrap();
        let events = std::fs::read_to_string(temp.team().layout().events()).unwrap();
        assert!(events.contains(r#""event":"send""#), "{events}");
        assert!(events.contains(r#""from":"user","to":"alice""#), "{events}");
    }
}
