//! A line of the event log as a row of the page.

use overview::text_of_event;
use protocol::{Event, EventKind, EventLine};
use serde_json::{Value, json};

/// The row of an event; `None` for frequent events that are not shown.
pub(crate) fn event_row(line: &[u8]) -> Option<Value> {
    let EventLine::Known(event) = EventLine::decode(line) else {
        return None;
    };
    let text = text_of_event(&event)?;
    let Event { time, kind, person } = event;
    // The message itself, for the picture of who writes to whom.
    let mail = match &kind {
        EventKind::Send {
            from,
            to,
            kind,
            preview,
            ..
        } => Some(json!({"from": from.as_str(), "to": to, "type": kind, "preview": preview})),
        _ => None,
    };
    // Whether the team's branch or the user's may have moved.
    let is_work = matches!(kind, EventKind::Submission { .. } | EventKind::Land { .. });
    Some(json!({"time": time, "text": text, "person": person, "mail": mail, "work": is_work}))
}
