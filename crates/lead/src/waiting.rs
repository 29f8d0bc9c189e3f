//! What waits for the person at the terminal: one request at a time, with the keys that answer it.

use crate::console::{Offered, OfferedKey, RequestBox};
use protocol::{Answer, GrantScope, Request, RequestId, RequestKind, RequestState, Subject};
use rules::{author_text, subject_text};

/// The most lines that are shown of a request. A key shows all of them.
const MOST_LINES: usize = 12;

/// The request that is shown.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    shown: Option<RequestId>,
}

/// What is to be done after the requests have changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The request that was shown and waits no more.
    pub(crate) ended: Option<RequestId>,
    /// The next one: how it is shown, and its keys.
    pub(crate) next: Option<(RequestBox, Offered)>,
}

impl Waiting {
    /// Compares what is shown with what waits now, oldest first.
    pub(crate) fn update(&mut self, pending: &[Request]) -> Change {
        let waiting: Vec<&Request> = pending
            .iter()
            .filter(|request| request.kind().waits_for_person() && request.sent.is_none())
            .collect();
        let is_shown = |id: &RequestId| waiting.iter().any(|request| request.id == *id);
        let ended = self.shown.take_if(|id| !is_shown(id));
        let next = match (&self.shown, waiting.first()) {
            (None, Some(request)) => {
                self.shown = Some(request.id.clone());
                Some((request_box(request, waiting.len()), offered(request)))
            }
            (Some(_), _) | (None, None) => None,
        };
        Change { ended, next }
    }

    /// Forgets what is shown, so that it is shown again if it still waits.
    pub(crate) fn show_again(&mut self) {
        self.shown = None;
    }

    /// The person has answered, so that nobody needs to be told who did.
    pub(crate) fn answered(&mut self, id: &RequestId) {
        self.shown.take_if(|shown| shown == id);
    }
}

/// A request, with the keys below it.
fn request_box(request: &Request, count: usize) -> RequestBox {
    let (from, id) = (author_text(request), &request.id);
    let what = match request.kind() {
        RequestKind::Plan => format!("{from} has a plan"),
        RequestKind::Permission => format!("{from} asks to run"),
        RequestKind::Question | RequestKind::Shutdown => format!("{from} asks"),
    };
    let more = match count {
        0 | 1 => String::new(),
        more => format!(", and {} more wait", more - 1),
    };
    let text = subject_text(&request.subject);
    let all = text.lines().count();
    let mut body: Vec<String> = text.lines().take(MOST_LINES).map(str::to_owned).collect();
    if all > MOST_LINES {
        body.push(format!("... {} more lines", all - MOST_LINES));
    }
    RequestBox {
        title: format!("{what} ({id}{more})"),
        body,
        keys: keys(request)
            .into_iter()
            .map(|(_, meaning)| meaning)
            .collect(),
    }
}

fn offered(request: &Request) -> Offered {
    let keys = keys(request).into_iter().flat_map(|(keys, _)| keys);
    Offered {
        id: request.id.clone(),
        keys: keys.collect(),
    }
}

/// The keys of a request, each with its meaning.
fn keys(request: &Request) -> Vec<(Vec<OfferedKey>, String)> {
    const fn key(key: char) -> OfferedKey {
        OfferedKey { key, text: None }
    }
    let plain = |name: char, meaning: &str| (vec![key(name)], format!("[{name}] {meaning}"));
    let typed = |name: char, text: &'static str, meaning: &str| {
        let key = OfferedKey {
            key: name,
            text: Some(text),
        };
        (vec![key], format!("[{name}] {meaning}"))
    };
    let mut keys = match &request.subject {
        Subject::Plan { .. } => vec![plain('y', "yes")],
        Subject::Permission(ask) => {
            let mut keys = vec![plain('y', "yes, once")];
            if ask.grants.is_some() {
                keys.push(plain('m', &format!("yes, for {}", request.from)));
                keys.push(plain('t', "yes, for the team"));
            }
            keys
        }
        Subject::Question(ask) => {
            let choices = ('1'..='9').take(ask.choices.len());
            let choices: Vec<OfferedKey> = choices.map(key).collect();
            let mut keys = Vec::new();
            if let Some(last) = choices.last() {
                let meaning = format!("[1-{}] choose", last.key);
                keys.push((choices, meaning));
            }
            if ask.free_text || ask.choices.is_empty() {
                keys.push(typed('r', "answer >> ", "reply"));
            }
            keys
        }
        Subject::Shutdown { .. } => Vec::new(),
    };
    keys.push(typed('n', "why not >> ", "no, with a reason"));
    keys.push(plain('l', "show all"));
    keys
}

/// What a key says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    ShowAll,
    Answer {
        approve: bool,
        text: String,
        scope: Option<GrantScope>,
    },
}

impl Said {
    /// The meaning of a key that was offered, with the text that was typed for it.
    pub(crate) fn of(key: char, text: String) -> Self {
        let answer = |approve, text, scope| Self::Answer {
            approve,
            text,
            scope,
        };
        match key {
            'l' => Self::ShowAll,
            'm' => answer(true, text, Some(GrantScope::Member)),
            't' => answer(true, text, Some(GrantScope::Team)),
            'n' => answer(false, text, None),
            '1'..='9' => answer(true, key.to_string(), None),
            _ => answer(true, text, None),
        }
    }
}

/// All that waits, in full.
pub(crate) fn show_all(pending: &[Request]) -> String {
    let waiting = pending
        .iter()
        .filter(|request| request.kind().waits_for_person() && request.sent.is_none());
    let shown = waiting.map(|request| {
        let (from, id, kind) = (&request.from, &request.id, request.kind().as_str());
        let body = subject_text(&request.subject);
        let body: Vec<String> = body.lines().map(|line| format!("  {line}")).collect();
        format!("{kind} {id} of {from}:\n{}", body.join("\n"))
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => "Nothing waits for you.".to_owned(),
        false => shown.join("\n"),
    }
}

/// What became of a request that somebody else has ended.
pub(crate) fn outcome(request: &Request) -> Option<String> {
    let (id, from) = (&request.id, &request.from);
    let by = |answer: &Answer| answer.name.clone().unwrap_or_else(|| answer.by.to_string());
    match &request.state {
        RequestState::Pending => None,
        RequestState::Approved(answer) => Some(format!(
            "Request {id} of {from} was approved by {}.",
            by(answer)
        )),
        RequestState::Rejected(answer) => Some(format!(
            "Request {id} of {from} was rejected by {}.",
            by(answer)
        )),
        RequestState::Expired { reason, .. } => {
            Some(format!("Request {id} of {from} waits no more: {reason}."))
        }
    }
}

#[cfg(test)]
mod tests;
