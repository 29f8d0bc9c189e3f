//! What a frame carries, into the folder. Doing it again has no effect.

use super::{ApplyError, Core};
use crate::admit::{admit_mail, admit_members};
use protocol::{DeadLetter, Extra, Frame, HostId, HostMembers, Line, Party, Recipient};
use serde_json::{Map, Value};
use teamdir::{RosterError, SendError, now};
use tracing::warn;

impl Core {
    pub(super) fn take_members(&self, from: &HostId, said: &HostMembers) -> Result<(), ApplyError> {
        let mut next = (*self.team.roster()?).clone();
        let known = next.clone();
        admit_members(&mut next, from, said);
        if next == known {
            return Ok(());
        }
        // Before they are forgotten: what they hold could not be found any more.
        let gone = known.members.iter().map(|member| &member.spec.name);
        let gone: Vec<Party> = gone
            .filter(|name| next.member(name).is_none())
            .map(|name| Party::Member(name.clone()))
            .collect();
        if known.lead_host.is_none() && !gone.is_empty() {
            let why = format!("it has left the team on the host {from}");
            team::end_leases(&self.team, &gone, &why)?;
        }
        self.team.update_roster(|roster| {
            for refused in admit_members(roster, from, said) {
                warn!("{refused}");
            }
            Ok::<_, RosterError>(())
        })?;
        Ok(())
    }

    pub(super) fn take_mail(
        &mut self,
        frame: &Frame,
        to: &Recipient,
        line: &Map<String, Value>,
    ) -> Result<(), ApplyError> {
        let roster = self.team.roster()?;
        let admitted = match admit_mail(&roster, &frame.from, to, line.clone()) {
            Ok(admitted) => admitted,
            Err(refusal) => return self.refuse(frame, to, line, &refusal.to_string()),
        };
        let inboxes = &mut self.unsettled.inboxes;
        match self.team.deliver_line(to.clone(), &admitted, inboxes) {
            Ok(to) => {
                if let Line::Message(message) = protocol::decode_line(&admitted)
                    && let Some(id) = message.id.clone()
                {
                    // The event is only for observers; the message is stored.
                    let _ = self.team.log_event(team::send_event(&message, id, to));
                }
                Ok(())
            }
            Err(
                error @ (SendError::UnknownRecipient { .. }
                | SendError::TooLong { .. }
                | SendError::NoRecipient),
            ) => self.refuse(frame, to, line, &error.to_string()),
            Err(error @ (SendError::Roster(_) | SendError::Append(_))) => Err(error.into()),
        }
    }

    /// Keeps mail that has no effect here, with the reason.
    fn refuse(
        &self,
        frame: &Frame,
        to: &Recipient,
        line: &Map<String, Value>,
        reason: &str,
    ) -> Result<(), ApplyError> {
        let dead_letter = DeadLetter {
            id: format!("bridge/{}/{}/{}", frame.from, frame.epoch, frame.seq),
            time: now(),
            inbox: to.clone(),
            reason: format!("from the host '{}': {reason}", frame.from),
            line: Some(Value::Object(line.clone())),
            raw: None,
            raw_hex: None,
            extra: Extra::new(),
        };
        Ok(self.team.add_dead_letter(&dead_letter)?)
    }
}
