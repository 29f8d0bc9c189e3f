//! Answers that lie unread in the lead's inbox.
//!
//! A member answers a shutdown by mail to the lead. If no lead runs, or the member ends before the
//! lead has read it, whoever carries the shutdown on must know the answer all the same.

use protocol::{IgnoredAnswer, Line, Message, Recipient, Request, RequestKind};
use rules::{Response, Verdict, answer};
use team::{addressee, pending, take_answer};
use teamdir::{RequestError, TeamDir, now};

/// Judges the answers to pending shutdowns that nobody has read yet. They stay in the inbox: the
/// lead reads them too, and finds them dealt with.
pub(crate) fn judge_unread(team: &TeamDir) -> Result<(), RequestError> {
    let mut open = pending(team)?;
    open.retain(|request| request.kind() == RequestKind::Shutdown);
    if open.is_empty() {
        return Ok(());
    }
    let mut answers: Vec<Message> = Vec::new();
    team.unread_mail(&Recipient::Lead, |_, line| {
        if let Line::Message(message) = line
            && Response::of(&message).is_some()
        {
            answers.push(message);
        }
    })?;
    for message in &answers {
        let Some(response) = Response::of(message) else {
            continue;
        };
        let request = open.iter().find(|open| open.id == response.request_id);
        if request.is_some_and(|request| is_news(team, request, &response)) {
            take_answer(team, message)?;
        }
    }
    Ok(())
}

/// Whether an answer counts, or has no effect and that was not recorded yet. Others look too, and
/// each would record it again.
fn is_news(team: &TeamDir, request: &Request, response: &Response) -> bool {
    let alive = addressee(team, &request.to);
    match answer(request, response, alive, now()) {
        Verdict::Resolved(_) => true,
        Verdict::Ignored { why, .. } => {
            let why = why.to_string();
            let is_it = |known: &IgnoredAnswer| {
                known.why == why
                    && known.approve == Some(response.approve)
                    && known.from_incarnation == response.from_incarnation
            };
            !request.ignored.iter().any(is_it)
        }
    }
}
