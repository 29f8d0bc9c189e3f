//! What a request asks, as people and models read it.

use super::{AskState, decider};
use crate::call::main_argument;
use protocol::{Answer, PermissionAsk, Request, Subject};
use serde_json::Value;

/// What is asked, whole: the reason, the plan, the tool call or the question with its choices.
pub fn subject_text(subject: &Subject) -> String {
    match subject {
        Subject::Shutdown { reason, .. } => reason.clone(),
        Subject::Plan { plan, .. } => plan.clone(),
        Subject::Permission(ask) => {
            let mut text = call_text(ask);
            if !ask.why.is_empty() {
                text.push_str("\nwhy it asks: ");
                text.push_str(&ask.why);
            }
            if !ask.cwd.is_empty() {
                text.push_str("\nin: ");
                text.push_str(&ask.cwd);
            }
            text
        }
        Subject::Question(ask) => {
            let mut text = ask.question.clone();
            for (place, choice) in ask.choices.iter().enumerate() {
                text.push_str(&format!("\n{}. {choice}", place + 1));
            }
            if ask.free_text && !ask.choices.is_empty() {
                text.push_str("\n(or any other text)");
            }
            text
        }
    }
}

/// A tool call as people read it: the tool and its main argument, or all of them.
pub fn call_text(ask: &PermissionAsk) -> String {
    let PermissionAsk {
        tool, arguments, ..
    } = ask;
    let Value::Object(fields) = arguments else {
        return format!("{tool} {arguments}");
    };
    let Some((name, text)) = main_argument(arguments) else {
        return format!("{tool} {arguments}");
    };
    let mut rest = fields.clone();
    rest.remove(name);
    match rest.is_empty() {
        true => format!("{tool}: {text}"),
        false => format!("{tool}: {text}\nwith: {}", Value::Object(rest)),
    }
}

/// Who asks, with the host that the request is at home on if it is another one.
pub fn author_text(request: &Request) -> String {
    match &request.host {
        Some(host) => format!("{} on {host}", request.from),
        None => request.from.to_string(),
    }
}

/// A pending request in a line: who has to do what.
pub fn request_line(request: &Request) -> String {
    let Request { id, to, .. } = request;
    let from = author_text(request);
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match &request.subject {
        Subject::Plan { .. } => format!("plan {id} of {from} waits for a decision"),
        Subject::Shutdown { .. } => format!("shutdown {id} waits for the answer of {to}"),
        Subject::Permission(ask) => {
            let call = first_line(&call_text(ask));
            format!("permission {id}: {from} asks to run {call}")
        }
        Subject::Question(ask) => {
            format!("question {id} of {from}: {}", first_line(&ask.question))
        }
    }
}

/// Who gave an answer, and with which words.
pub fn answer_text(how: &str, answer: &Answer) -> String {
    let mut text = format!("{how} {}", decider(answer));
    if !answer.text.trim().is_empty() {
        text.push_str(": ");
        text.push_str(&answer.text);
    }
    text
}

/// What the model is told about a call that was not run. A refusal, a question that nobody answered, and one
/// that nobody could be asked are different things to it.
pub fn not_run_text(request: &Request, state: AskState) -> String {
    let (what, undone) = match &request.subject {
        Subject::Question(_) => ("the question", "was not answered"),
        Subject::Permission(ask) => (ask.tool.as_str(), "was not run"),
        Subject::Plan { .. } | Subject::Shutdown { .. } => ("the call", "was not run"),
    };
    match state {
        AskState::Rejected(answer) => {
            format!("{what} {undone}: {}", answer_text("refused by", &answer))
        }
        AskState::Unanswered { reason } => format!(
            "{what} {undone}: nobody has answered, and nobody has refused it ({reason}). Go on with what \
             needs no answer, and say what was left undone."
        ),
        AskState::Void | AskState::Pending | AskState::Approved(_) => format!(
            "{what} {undone}: the file of request {} is gone or was changed by somebody else",
            request.id
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(arguments: Value) -> String {
        call_text(&PermissionAsk {
            tool: "bash".to_owned(),
            arguments,
            call_hash: String::new(),
            cwd: String::new(),
            why: String::new(),
            grants: None,
            lead_decides: false,
        })
    }

    #[test]
    fn a_call_is_shown_whole() {
        assert_eq!(call(json!({"command": "ls\nrm x"})), "bash: ls\nrm x");
        let with_more = call(json!({"command": "curl x", "needs_network": true}));
        assert_eq!(with_more, "bash: curl x\nwith: {\"needs_network\":true}");
        assert_eq!(call(json!({"a": 1})), "bash {\"a\":1}");
        assert_eq!(call(json!([1])), "bash [1]");
    }
}
