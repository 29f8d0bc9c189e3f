//! A request in words.

use crate::out::{indented, plain};
use crate::span;
use protocol::{IgnoredAnswer, Request, RequestState, RequestStatus, Sender, Subject, Timestamp};

/// A heading, what is asked, how it was answered, and what to type. Decided ones are told in short
/// unless all of it is wanted.
pub(super) fn describe(request: &Request, now: Timestamp, whole: bool) -> String {
    let is_pending = request.status() == RequestStatus::Pending;
    let mut lines = vec![heading(request, now)];
    match &request.subject {
        Subject::Shutdown { reason, .. } if !reason.is_empty() => lines.push(indented(reason)),
        Subject::Plan { plan, .. } if is_pending || whole => lines.push(indented(plan)),
        Subject::Shutdown { .. } | Subject::Plan { .. } => {}
    }
    lines.extend(resolution(&request.state).map(|words| indented(&words)));
    let ignored = request.ignored.iter();
    if is_pending || whole {
        lines.extend(ignored.map(|answer| indented(&without_effect(answer))));
    } else if ignored.len() > 0 {
        lines.push(indented(&format!(
            "{} answers had no effect",
            ignored.len()
        )));
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
    let age = span::words(now.since(request.created_at));
    let mut text = format!("{id} {kind} {from} -> {to}: {status}, made {age} ago");
    if let Some(incarnation) = request.to_incarnation {
        text.push_str(&format!(", life {incarnation}"));
    }
    if let (RequestStatus::Pending, Some(deadline)) = (request.status(), request.deadline) {
        text.push_str(&format!(", {} left", span::words(deadline.since(now))));
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
            let words = plain(&answer.words);
            let colon = if words.is_empty() { "" } else { ": " };
            Some(format!("answered by {}{colon}{words}", answer.by))
        }
        RequestState::Expired { reason, .. } => Some(plain(reason)),
    }
}

fn without_effect(answer: &IgnoredAnswer) -> String {
    let from = answer.from.as_ref().map_or("somebody", Sender::as_str);
    let said = match answer.approve {
        Some(true) => "yes",
        Some(false) => "no",
        None => "something",
    };
    format!("without effect: {from} said {said}: {}", answer.why)
}
