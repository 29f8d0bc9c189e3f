//! A line of the event log as a row of the page.

use overview::text_of_event;
use protocol::{Event, EventKind, EventLine, Request, RequestId, RequestState};
use serde_json::{Value, json};
use teamdir::TeamDir;

/// The longest text of an answer, in characters.
const MAX_TEXT: usize = 400;

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
    let resolved = match &kind {
        EventKind::Resolve { request_id, .. } => Some(request_id.clone()),
        _ => None,
    };
    // Whether the team's branch or the user's may have moved.
    let is_work = matches!(kind, EventKind::Submission { .. } | EventKind::Land { .. });
    Some(json!({
        "time": time, "text": text, "person": person, "mail": mail, "work": is_work, "resolved": resolved,
    }))
}

/// Adds what became of the request to the row of its end: the event has its number alone.
pub(super) fn add_outcome(row: &mut Value, team: &TeamDir) {
    let id = row.get("resolved").and_then(Value::as_str);
    let id = id.and_then(|id| RequestId::new(id).ok());
    let request = id.and_then(|id| team.request(&id).ok());
    let outcome = request.as_ref().and_then(outcome);
    if let (Value::Object(fields), Some(outcome)) = (row, outcome) {
        fields.insert("outcome".to_owned(), outcome);
    }
}

fn outcome(request: &Request) -> Option<Value> {
    let (by, text) = match &request.state {
        RequestState::Pending => return None,
        RequestState::Approved(answer) | RequestState::Rejected(answer) => {
            let name = answer.name.as_deref();
            (name.or_else(|| Some(answer.by.as_str())), &answer.text)
        }
        RequestState::Expired { reason, .. } => (None, reason),
    };
    let text: String = text.trim().chars().take(MAX_TEXT).collect();
    Some(json!({
        "id": request.id, "kind": request.kind(), "status": request.status(),
        "from": request.from, "to": request.to, "by": by, "text": text,
    }))
}
