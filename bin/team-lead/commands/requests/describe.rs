//! A request as text for people.

use crate::duration;
use crate::output::indented;
use protocol::{IgnoredAnswer, Request, RequestState, RequestStatus, Sender, Subject, Timestamp};
use terminal_text::clean;

/// A heading, the subject, the answer, and the command to type next. Decided requests are shortened
/// unless `full` is set.
pub(super) fn describe(request: &Request, now: Timestamp, full: bool) -> String {
    let is_pending = request.status() == RequestStatus::Pending;
    let mut lines = vec![heading(request, now)];
    match &request.subject {
        Subject::Shutdown { reason, .. } if !reason.is_empty() => lines.push(indented(reason)),
        Subject::Plan { plan, .. } if is_pending || full => lines.push(indented(plan)),
        Subject::Shutdown { .. } | Subject::Plan { .. } => {}
    }
    lines.extend(resolution(&request.state).map(|text| indented(&text)));
    let ignored = request.ignored.iter();
    if is_pending || full {
        lines.extend(ignored.map(|answer| indented(&ignored_text(answer))));
    } else if ignored.len() > 0 {
        lines.push(indented(&format!("{} answers were ignored", ignored.len())));
    }
    if let (true, Subject::Plan { .. }) = (is_pending, &request.subject) {
        let id = &request.id;
        lines.push(indented(&format!(
            "decide: team-lead approve {id}, or team-lead reject {id} --feedback TEXT"
        )));
    }
    lines.join("\n")
}

fn heading(request: &Request, now: Timestamp) -> String {
    let Request { id, from, to, .. } = request;
    let kind = request.kind().as_str();
    let status = request.status().as_str();
    let age = duration::format(now.since(request.created_at));
    let mut text = format!("{id} {kind} {from} -> {to}: {status}, created {age} ago");
    if let Some(incarnation) = request.to_incarnation {
        text.push_str(&format!(", incarnation {incarnation}"));
    }
    if let (RequestStatus::Pending, Some(deadline)) = (request.status(), request.deadline) {
        text.push_str(&format!(", {} left", duration::format(deadline.since(now))));
    }
    if let Subject::Shutdown { force: true, .. } = request.subject {
        text.push_str(", forced");
    }
    text
}

fn resolution(state: &RequestState) -> Option<String> {
    match state {
        RequestState::Pending => None,
        RequestState::Approved(answer) | RequestState::Rejected(answer) => {
            let text = clean(&answer.text);
            let colon = if text.is_empty() { "" } else { ": " };
            Some(format!("answered by {}{colon}{text}", answer.by))
        }
        RequestState::Expired { reason, .. } => Some(clean(reason).into_owned()),
    }
}

fn ignored_text(answer: &IgnoredAnswer) -> String {
    let from = answer
        .from
        .as_ref()
        .map_or("an unknown sender", Sender::as_str);
    let decision = match answer.approve {
        Some(true) => "approved",
        Some(false) => "rejected",
        None => "gave no decision",
    };
    format!("ignored answer: {from} {decision}: {}", answer.why)
}
