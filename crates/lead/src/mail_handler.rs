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
        let (verb, text) = match &message.body {
            Body::Message { content } | Body::Broadcast { content } => (None, content.clone()),
            Body::IdleNotification { content } => (Some("reports".to_owned()), content.clone()),
            Body::PlanApprovalRequest {
                request_id, plan, ..
            } => {
                let id = request_id.as_str();
                self.writer.write(&Output::Plan { name, id, plan });
                return;
            }
            Body::ShutdownResponse {
                request_id,
                approve,
                reason,
            } => {
                let verb = if *approve { "agrees" } else { "refuses" };
                let verb = format!("{verb} to shut down ({request_id})");
                (Some(verb), reason.clone())
            }
            Body::Notice { content, .. } => {
                self.writer.notice(content);
                return;
            }
            Body::ShutdownRequest { .. } | Body::PlanApprovalResponse { .. } => {
                let text = format!("({}) {}", message.body.kind(), message.body.text());
                (None, text)
            }
        };
        let (verb, text) = (verb.as_deref(), text.as_str());
        self.writer.write(&Output::Member { name, verb, text });
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
