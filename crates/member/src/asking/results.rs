//! The tool results of calls that a person decided about.

use crate::call_rules::Extent;
use agent::Answered;
use llm::ToolUse;
use protocol::{Answer, Request, Subject};
use rules::{AskState, answer_text, decider, not_run_text};
use tools::{Access, CommandAccess, ToolError, ToolOutput};

/// What a decided request means for the call.
pub(super) fn act_on(request: &Request, state: AskState, access: Access) -> Answered {
    match (&request.subject, state) {
        (Subject::Permission(_), AskState::Approved(answer)) => Answered::Run {
            access,
            remark: Some(format!("[{}]", answer_text("allowed by", &answer))),
        },
        (Subject::Question(_), AskState::Approved(answer)) => {
            let text = format!("{} answers: {}", decider(&answer), answer.text);
            Answered::NotRun(ToolOutput::ok(text))
        }
        (_, state) => Answered::NotRun(ToolOutput::error(not_run_text(request, state))),
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
        answer_text("refused by", answer)
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
