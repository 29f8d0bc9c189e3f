//! Records answers that were mailed but not recorded.
//!
//! A teammate records its answer to a shutdown itself. A foreign member may just append a
//! `shutdown_response` to the lead's inbox, and the lead records it when it reads its mail. While the
//! answer is unread, because no lead runs or because the member ended at once, a process that needs the
//! answer records it here.

use protocol::{Line, Message, Recipient, Request, RequestKind};
use rules::Response;
use team::{pending, record_mailed_answer};
use teamdir::{RequestError, TeamDir};

/// Records the unread answers in the lead's inbox while a shutdown is pending. They stay in the inbox: the
/// lead reads them too, and finds them recorded.
///
/// The lead records answers before it commits the mail that holds them. So after this an answer that was
/// sent before is in its request file, whether the lead has read it or not.
pub(crate) fn record_unread_answers(team: &TeamDir) -> Result<(), RequestError> {
    let is_shutdown = |request: &Request| request.kind() == RequestKind::Shutdown;
    if !pending(team)?.iter().any(is_shutdown) {
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
    answers
        .iter()
        .try_for_each(|message| record_mailed_answer(team, message).map(drop))
}
