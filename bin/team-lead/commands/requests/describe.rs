//! A request as text for people.

use crate::duration;
use crate::output::indented;
use protocol::{
    GrantScope, IgnoredAnswer, Request, RequestState, RequestStatus, Sender, Subject, Timestamp,
};
use rules::{author_text, decider, subject_text};
use terminal_text::clean;

/// A heading, the subject, the answer, and the command to type next. Decided requests are shortened
/// unless `full` is set.
pub(super) fn describe(request: &Request, now: Timestamp, full: bool) -> String {
    let is_pending = request.status() == RequestStatus::Pending;
    let mut lines = vec![heading(request, now)];
    let is_shown = match &request.subject {
        Subject::Shutdown { .. } => true,
        Subject::Plan { .. } | Subject::Permission(_) | Subject::Question(_) => is_pending || full,
    };
    let text = subject_text(&request.subject);
    if is_shown && !text.is_empty() {
        lines.push(indented(&text));
    }
    lines.extend(resolution(&request.state).map(|text| indented(&text)));
    let ignored = request.ignored.iter();
    if is_pending || full {
        lines.extend(ignored.map(|answer| indented(&ignored_text(answer))));
    } else if ignored.len() > 0 {
        lines.push(indented(&format!("{} answers were ignored", ignored.len())));
    }
    lines.extend(sent_text(request).map(|text| indented(&text)));
    if is_pending && request.sent.is_none() {
        lines.extend(how_to_answer(request).map(|text| indented(&text)));
    }
    lines.join("\n")
}

/// What was answered on this host to a request that another host records.
fn sent_text(request: &Request) -> Option<String> {
    let is_pending = request.status() == RequestStatus::Pending;
    match (&request.sent, &request.refused) {
        (Some(sent), _) => {
            let decision = if sent.approve { "approved" } else { "rejected" };
            let text = clean(&sent.text);
            let colon = if text.is_empty() { "" } else { ": " };
            let state = if is_pending {
                "sent, not yet recorded"
            } else {
                "sent"
            };
            let by = team::by_whom(sent);
            Some(format!(
                "{decision} by {} here, {state}{colon}{text}",
                clean(&by)
            ))
        }
        (None, Some(why)) if is_pending => Some(format!(
            "the last answer from here has no effect: {}",
            clean(why)
        )),
        (None, Some(_) | None) => None,
    }
}

/// The commands that answer a pending request.
fn how_to_answer(request: &Request) -> Option<String> {
    let id = &request.id;
    match &request.subject {
        Subject::Shutdown { .. } => None,
        Subject::Plan { .. } => Some(format!(
            "decide: team-lead approve {id}, or team-lead reject {id} --feedback TEXT"
        )),
        Subject::Permission(ask) => Some(match &ask.grants {
            Some(rule) => format!(
                "decide: team-lead approve {id} [--once | --member | --team], or team-lead reject {id} \
                 --feedback TEXT\n--member and --team allow from now on: {rule}"
            ),
            None => {
                format!("decide: team-lead approve {id}, or team-lead reject {id} --feedback TEXT")
            }
        }),
        Subject::Question(ask) => {
            let what = match ask.choices.is_empty() {
                true => "TEXT",
                false => "NUMBER",
            };
            Some(format!("answer: team-lead answer {id} {what}"))
        }
    }
}

fn heading(request: &Request, now: Timestamp) -> String {
    let Request { id, to, .. } = request;
    let from = author_text(request);
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
            let scope = match answer.scope {
                Some(GrantScope::Member) => ", for this member from now on",
                Some(GrantScope::Team) => ", for the team from now on",
                Some(GrantScope::Once) | None => "",
            };
            let by = decider(answer);
            Some(format!("answered by {}{scope}{colon}{text}", clean(&by)))
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
