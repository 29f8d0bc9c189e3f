//! Tool calls and questions that wait for a person.
//!
//! Such a request is bound to one incarnation of its author and to one tool call of that author's journal. A
//! later incarnation adopts it, because the call is still open in the same journal. What an answer means is
//! derived from the file each time, so the author needs no state of its own.

use super::answer::WhyIgnored;
use crate::party::same_party;
use protocol::{
    Actor, Answer, GrantScope, Party, QuestionAsk, Request, RequestState, Subject, Timestamp,
};
use protocol::{Extra, Grant};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The state of a tool call or question that waits for a person, as its author sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskState {
    Pending,
    Approved(Answer),
    Rejected(Answer),
    /// Nobody has answered, and nobody will.
    Unanswered {
        reason: String,
    },
    /// The file does not match what its author asked, or somebody answered who may not.
    Void,
}

/// Why an incarnation cannot take over a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptRefusal {
    #[error("it is not a request of '{0}'")]
    NotOwn(Party),
    #[error("it asks about another call")]
    OtherCall,
    #[error("a later incarnation has it")]
    LaterIncarnation,
}

/// The SHA-256 in hex that binds an answer to a tool and its arguments.
pub fn call_hash(tool: &str, arguments: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update(b"\n");
    hash.update(sorted(arguments).to_string().as_bytes());
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}

/// The same value with the keys of its objects in order, whatever order a map keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The SHA-256 in hex that binds an answer to a question and its choices. Other arguments of the call do
/// not count.
pub fn question_hash(ask: &QuestionAsk) -> String {
    let QuestionAsk {
        question,
        choices,
        free_text,
        ..
    } = ask;
    let arguments = json!({"question": question, "choices": choices, "free_text": free_text});
    call_hash("ask_user", &arguments)
}

/// Whether the hash in the request file matches what the file shows.
pub(super) fn is_as_asked(subject: &Subject) -> bool {
    match subject {
        Subject::Permission(ask) => ask.call_hash == call_hash(&ask.tool, &ask.arguments),
        Subject::Question(ask) => ask.call_hash == question_hash(ask),
        Subject::Shutdown { .. } | Subject::Plan { .. } => true,
    }
}

/// The hash that binds an answer to what was asked. Shutdowns and plans have none.
pub const fn asked_hash(subject: &Subject) -> Option<&String> {
    match subject {
        Subject::Permission(ask) => Some(&ask.call_hash),
        Subject::Question(ask) => Some(&ask.call_hash),
        Subject::Shutdown { .. } | Subject::Plan { .. } => None,
    }
}

/// Whether the lead may answer in place of a person. It never answers what it asked itself.
pub fn lead_may_answer(request: &Request) -> bool {
    let allowed = match &request.subject {
        Subject::Permission(ask) => ask.lead_decides,
        Subject::Question(ask) => ask.lead_decides,
        Subject::Plan { .. } => true,
        Subject::Shutdown { .. } => false,
    };
    allowed && request.from != Party::Lead
}

/// The answer that a text stands for: one of the choices, by its text or its number from 1 on, or any text
/// where that is allowed.
pub(super) fn chosen(ask: &QuestionAsk, text: &str) -> Result<String, WhyIgnored> {
    let text = text.trim();
    if text.is_empty() {
        return Err(WhyIgnored::Empty);
    }
    if let Some(choice) = ask.choices.iter().find(|choice| choice.trim() == text) {
        return Ok(choice.clone());
    }
    let number = text.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(choice) = number.and_then(|place| ask.choices.get(place)) {
        return Ok(choice.clone());
    }
    match ask.free_text {
        true => Ok(text.to_owned()),
        false => Err(WhyIgnored::NotAChoice {
            given: text.to_owned(),
            choices: ask.choices.clone(),
        }),
    }
}

/// What the author of a request may conclude from its file.
///
/// An approval counts only for the incarnation that asks and for exactly what it asked, and only if a person
/// gave it, or the lead where the author let it decide.
pub fn ask_state(request: &Request, me: &Actor, hash: &str) -> AskState {
    let is_mine = same_party(&request.from, &me.party)
        && request.from_incarnation == me.incarnation
        && is_as_asked(&request.subject)
        && asked_hash(&request.subject).is_some_and(|asked| asked == hash);
    if !is_mine {
        return AskState::Void;
    }
    match &request.state {
        RequestState::Pending => AskState::Pending,
        RequestState::Approved(answer) | RequestState::Rejected(answer)
            if !may_have_answered(request, answer) =>
        {
            AskState::Void
        }
        RequestState::Approved(answer) => AskState::Approved(answer.clone()),
        RequestState::Rejected(answer) => AskState::Rejected(answer.clone()),
        RequestState::Expired { reason, .. } => AskState::Unanswered {
            reason: reason.clone(),
        },
    }
}

fn may_have_answered(request: &Request, answer: &Answer) -> bool {
    match answer.by {
        Party::User => true,
        Party::Lead => lead_may_answer(request),
        Party::System | Party::Member(_) => false,
    }
}

/// Binds a request of an earlier incarnation to the one that goes on with the same call. Its state does not
/// change: an answer that came in between counts.
pub fn adopt(request: &Request, me: &Actor, hash: &str) -> Result<Request, AdoptRefusal> {
    if !same_party(&request.from, &me.party) {
        return Err(AdoptRefusal::NotOwn(me.party.clone()));
    }
    let is_same = is_as_asked(&request.subject)
        && asked_hash(&request.subject).is_some_and(|asked| asked == hash);
    if !is_same {
        return Err(AdoptRefusal::OtherCall);
    }
    if request.from_incarnation > me.incarnation {
        return Err(AdoptRefusal::LaterIncarnation);
    }
    Ok(Request {
        from_incarnation: me.incarnation,
        ..request.clone()
    })
}

/// The rule that an approval grants for later calls; `None` if it counts for this call alone.
pub fn granted(request: &Request) -> Option<Grant> {
    let (Subject::Permission(ask), RequestState::Approved(answer)) =
        (&request.subject, &request.state)
    else {
        return None;
    };
    let member = match answer.scope? {
        GrantScope::Once => return None,
        GrantScope::Member => Some(request.from.clone()),
        GrantScope::Team => None,
    };
    Some(Grant {
        id: request.id.clone(),
        rule: ask.grants.clone()?,
        member,
        by: answer.by.clone(),
        by_name: answer.name.clone(),
        at: answer.at,
        revoked_at: None,
        extra: Extra::new(),
    })
}

/// Marks that the user's `notify` command was started for a request. `None` if it is marked already, is
/// decided, or does not wait for a person.
pub fn notified(request: &Request, now: Timestamp) -> Option<Request> {
    let is_due = request.state == RequestState::Pending
        && request.kind().waits_for_person()
        && request.notified_at.is_none();
    is_due.then(|| Request {
        notified_at: Some(now),
        ..request.clone()
    })
}

#[cfg(test)]
mod tests;
