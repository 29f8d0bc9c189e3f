//! The tool results of calls that a person decided about.

use crate::call_rules::Extent;
use agent::Answered;
use llm::ToolUse;
use protocol::{Answer, Request, Subject};
use rules::{AskState, decider};
use tools::{Access, CommandAccess, ToolError, ToolOutput};

/// What a decided request means for the call.
pub(super) fn act_on(request: &Request, state: AskState, access: Access) -> Answered {
    match (&request.subject, state) {
        (Subject::Permission(_), AskState::Approved(answer)) => Answered::Run {
            access,
            remark: Some(format!("[{}]", said("allowed by", &answer))),
        },
        (Subject::Question(_), AskState::Approved(answer)) => {
            let text = format!("{} answers: {}", decider(&answer), answer.text);
            Answered::NotRun(ToolOutput::ok(text))
        }
        (_, state) => Answered::NotRun(ToolOutput::error(not_run(request, state))),
    }
}

/// Goes on with a call that needs no answer any more.
pub(super) fn allowed_by_rule(access: Access) -> Answered {
    Answered::Run {
        access,
        remark: None,
    }
}

pub(super) fn not_allowed(tool_use: &ToolUse, answer: &Answer) -> Answered {
    let text = format!(
        "{} was not run: {}",
        tool_use.name,
        said("refused by", answer)
    );
    Answered::NotRun(ToolOutput::error(text))
}

/// The access of a call that gets what the rules give it, as far as the plan gate lets it.
pub(super) fn access(
    tool: &str,
    commands: CommandAccess,
    extent: Extent,
) -> Result<Access, ToolError> {
    let commands = match (commands, extent.network) {
        (CommandAccess::ReadOnly, true) => {
            return Err(ToolError::new(format!(
                "{tool} was not run: there is no network before your plan is approved"
            )));
        }
        (CommandAccess::Full | CommandAccess::Network, true) => CommandAccess::Network,
        (commands, false) => commands,
    };
    let files = extent.files;
    Ok(Access { commands, files })
}

/// Who gave an answer, and with which words.
fn said(how: &str, answer: &Answer) -> String {
    let mut text = format!("{how} {}", decider(answer));
    if !answer.text.trim().is_empty() {
        text.push_str(": ");
        text.push_str(&answer.text);
    }
    text
}

/// What the model is told about a call that was not run. A refusal, a question that nobody answered, and one
/// that nobody could be asked are different things to it.
fn not_run(request: &Request, state: AskState) -> String {
    let (what, undone) = match &request.subject {
        Subject::Question(_) => ("the question", "was not answered"),
        Subject::Permission(ask) => (ask.tool.as_str(), "was not run"),
        Subject::Plan { .. } | Subject::Shutdown { .. } => ("the call", "was not run"),
    };
    match state {
        AskState::Rejected(answer) => format!("{what} {undone}: {}", said("refused by", &answer)),
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
