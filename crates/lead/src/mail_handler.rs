//! Handles the lead's mail before the model sees it.

use crate::console::{ConsoleWriter, Output};
use crate::shut_down::asked_by_leaving_lead;
use member::{MailHandler, MailItem, Treatment};
use protocol::{Body, Line, Message, NoticeCause, Sender};
use team::MailedAnswer;
use teamdir::TeamDir;

/// Prints the lead's mail, and checks answers.
pub(crate) struct LeadMailHandler {
    pub(crate) team: TeamDir,
    pub(crate) writer: ConsoleWriter,
}

impl MailHandler for LeadMailHandler {
    fn handle(&mut self, message: &Message) -> Treatment {
        let treatment = match &message.body {
            Body::ShutdownResponse { .. } | Body::PlanApprovalResponse { .. } => {
                self.answer(message)
            }
            Body::PlanApprovalRequest { .. } => self.plan(message),
            Body::Message { .. }
            | Body::Broadcast { .. }
            | Body::ShutdownRequest { .. }
            | Body::IdleNotification { .. }
            | Body::Notice { .. } => Treatment::Show,
        };
        if treatment != Treatment::Hide {
            self.show(message);
        }
        treatment
    }
}

impl LeadMailHandler {
    fn answer(&self, message: &Message) -> Treatment {
        match team::record_mailed_answer(&self.team, message) {
            Ok(Some(MailedAnswer::Recorded(request) | MailedAnswer::AlreadyRecorded(request))) => {
                // The answers to a leaving lead concern the program only, neither its model nor the next lead's.
                match asked_by_leaving_lead(&request) {
                    true => Treatment::Hide,
                    false => Treatment::Show,
                }
            }
            Ok(Some(MailedAnswer::Ignored { request, .. })) if asked_by_leaving_lead(&request) => {
                Treatment::Hide
            }
            Ok(Some(MailedAnswer::Ignored { why, .. })) => {
                Treatment::ShowWith(format!("this answer has no effect: {why}"))
            }
            Ok(Some(MailedAnswer::Unknown(id))) => {
                Treatment::ShowWith(format!("this answer has no effect: no request {id} exists"))
            }
            Ok(None) => Treatment::Show,
            Err(error) => Treatment::ShowWith(format!("this answer could not be judged: {error}")),
        }
    }

    fn plan(&self, message: &Message) -> Treatment {
        match team::record_plan(&self.team, message) {
            Ok(_) => Treatment::Show,
            Err(error) => Treatment::ShowWith(format!("this plan cannot be decided: {error}")),
        }
    }

    fn show(&self, message: &Message) {
        let name = message
            .from
            .as_ref()
            .map_or("an unknown sender", Sender::as_str);
        let text = match &message.body {
            Body::Message { content } | Body::Broadcast { content } => content.clone(),
            Body::IdleNotification { content } => format!("is done: {content}"),
            Body::PlanApprovalRequest {
                request_id, plan, ..
            } => format!(
                "asks for approval of plan {request_id}:\n{plan}\n\
                 (also: team-lead approve {request_id}, team-lead reject {request_id} --feedback TEXT)"
            ),
            Body::ShutdownResponse {
                request_id,
                approve,
                reason,
            } => match approve {
                true => format!("agrees to shut down ({request_id}): {reason}"),
                false => format!("refuses to shut down ({request_id}): {reason}"),
            },
            Body::Notice { content, .. } => {
                self.writer.notice(content);
                return;
            }
            Body::ShutdownRequest { .. } | Body::PlanApprovalResponse { .. } => {
                format!("({}) {}", message.body.kind(), message.body.text())
            }
        };
        let text = text.trim_end_matches(": ");
        self.writer.write(&Output::Member { name, text });
    }
}

/// Whether a message starts a turn.
pub(crate) fn wakes(item: &MailItem) -> bool {
    let matters = match &item.line {
        Line::Message(message) => match &message.body {
            Body::Notice { cause, .. } => cause.as_ref().is_some_and(NoticeCause::is_urgent),
            Body::Message { .. }
            | Body::Broadcast { .. }
            | Body::ShutdownRequest { .. }
            | Body::ShutdownResponse { .. }
            | Body::PlanApprovalRequest { .. }
            | Body::PlanApprovalResponse { .. }
            | Body::IdleNotification { .. } => true,
        },
        Line::Text(_) | Line::Unknown(_) => true,
        Line::Corrupt { .. } | Line::Blank => false,
    };
    item.shown && matters
}

#[cfg(test)]
mod tests;
