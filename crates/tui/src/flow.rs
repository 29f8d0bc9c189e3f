//! What happens, one line for each event that a person wants to see go by.

use crate::harmless::harmless;
use protocol::{Event, EventKind, EventLine, RequestKind};

/// The line for a line of the event log; `None` for what would only be noise.
pub fn flow(line: &[u8]) -> Option<String> {
    let EventLine::Known(event) = EventLine::decode(line) else {
        return None;
    };
    words(&event).map(|words| harmless(&words))
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
fn words(event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::Send {
            from,
            to,
            kind,
            preview,
            ..
        } => {
            let kind = match kind.as_str() {
                "message" => String::new(),
                other => format!(" ({})", other.replace('_', " ")),
            };
            let text = preview.as_deref().unwrap_or_default();
            format!("{} → {to}{kind}: {text}", from.as_str())
        }
        EventKind::Spawn {
            member,
            incarnation,
            role,
        } => format!("+ {member} ({role}) started, life {incarnation}"),
        EventKind::Restart { member, reason, .. } => {
            format!("+ {member} was brought back ({reason})")
        }
        EventKind::Death {
            member,
            incarnation,
        } => format!("! {member} died in incarnation {incarnation}"),
        EventKind::Leave { member, reason } => format!("- {member} left: {reason}"),
        EventKind::Task {
            task, action, by, ..
        } => format!("# {} {action} task {task}", by.as_str()),
        EventKind::Request {
            request_id,
            kind,
            from,
            to,
        } => {
            let kind = match kind {
                RequestKind::Shutdown => "asks to end",
                RequestKind::Plan => "shows its plan to",
            };
            format!("? {} {kind} {to} ({request_id})", from.as_str())
        }
        EventKind::Resolve { request_id, status } => {
            format!("? {request_id} is {}", status.as_str())
        }
        EventKind::DeadLetter { inbox, reason, .. } => {
            format!("! undelivered mail for {inbox}: {reason}")
        }
        EventKind::Budget {
            member,
            action,
            limits,
        } => {
            let whose = member.as_ref().map_or("the team", |m| m.as_str());
            format!("! budget of {whose} {action}: {limits}")
        }
        EventKind::Ready { .. }
        | EventKind::State { .. }
        | EventKind::Deliver { .. }
        | EventKind::Tool { .. }
        | EventKind::Model { .. }
        | EventKind::Compaction { .. }
        | EventKind::Polling { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_deaths_are_shown_and_noise_is_not() {
        let send = br#"{"time":1,"event":"send","id":"a","from":"bob","to":"alice","type":"message","preview":"Hi \u001b[2J"}"#;
        assert_eq!(flow(send).unwrap(), "bob → alice: Hi \u{fffd}[2J");
        let idle = br#"{"time":1,"event":"send","id":"a","from":"bob","to":"lead","type":"idle_notification","preview":"Done."}"#;
        assert_eq!(flow(idle).unwrap(), "bob → lead (idle notification): Done.");
        let death = br#"{"time":1,"event":"death","member":"bob","incarnation":2}"#;
        assert_eq!(flow(death).unwrap(), "! bob died in incarnation 2");
        for noise in [
            &br#"{"time":1,"event":"deliver","id":"a","to":"lead"}"#[..],
            b"torn",
        ] {
            assert_eq!(flow(noise), None);
        }
    }
}
