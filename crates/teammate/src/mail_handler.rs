//! Handles a teammate's mail before the model sees it.

use crate::shutdown::ShutdownRequests;
use member::{MailHandler, Treatment};
use protocol::{
    AgentName, Body, Incarnation, Message, Party, Recipient, Request, RequestId, RequestKind,
    RequestStatus, Sender,
};
use std::sync::Arc;
use teamdir::{RequestError, TeamDir};

pub(crate) struct TeammateMailHandler {
    pub(crate) team: TeamDir,
    pub(crate) name: AgentName,
    pub(crate) incarnation: Incarnation,
    pub(crate) shutdown_requests: Arc<ShutdownRequests>,
    /// Its model is the agent of another program. Its process answers shutdown requests.
    pub(crate) is_engine: bool,
}

impl MailHandler for TeammateMailHandler {
    fn handle(&mut self, message: &Message) -> Treatment {
        match &message.body {
            Body::ShutdownRequest { request_id, .. } => self.shutdown(message, request_id),
            Body::PlanApprovalResponse {
                request_id,
                approve,
                ..
            } => self.decision(request_id, *approve),
            Body::ShutdownResponse { .. } | Body::PlanApprovalRequest { .. } => {
                Treatment::ShowWith("this has no effect: it is for the lead".to_owned())
            }
            Body::Message { .. }
            | Body::Broadcast { .. }
            | Body::IdleNotification { .. }
            | Body::Notice { .. } => Treatment::Show,
        }
    }
}

impl TeammateMailHandler {
    /// A request counts if the lead or the user asks and its file, if there is one, asks this very
    /// incarnation. A line written by hand has no file.
    fn shutdown(&self, message: &Message, id: &RequestId) -> Treatment {
        let from = message.from.as_ref();
        let may_ask = matches!(from, Some(Sender::Party(Party::Lead | Party::User)));
        if !may_ask {
            let from = from.map_or("an unknown sender", Sender::as_str);
            let remark = format!(
                "this has no effect: '{from}' may not ask you to shut down, only the lead or the user may"
            );
            return Treatment::ShowWith(remark);
        }
        let refusal = match self.team.request(id) {
            Ok(request) => self.objection(&request),
            Err(RequestError::Unknown(_)) => None,
            Err(error) => Some(error.to_string()),
        };
        match refusal {
            Some(why) => Treatment::ShowWith(format!("this has no effect: {why}")),
            None => {
                self.shutdown_requests.add(id);
                if self.is_engine {
                    return Treatment::Hide;
                }
                Treatment::Show
            }
        }
    }

    /// Why a request does not ask this incarnation to end, if it does not.
    fn objection(&self, request: &Request) -> Option<String> {
        let to_me = matches!(&request.to, Recipient::Member(name) if name.same_as(&self.name));
        if request.kind() != RequestKind::Shutdown || !to_me {
            return Some(format!("request {} asks something else", request.id));
        }
        if request
            .to_incarnation
            .is_some_and(|incarnation| incarnation != self.incarnation)
        {
            return Some(format!(
                "request {} was for another incarnation of this member",
                request.id
            ));
        }
        match request.status() {
            RequestStatus::Pending => None,
            status @ (RequestStatus::Approved
            | RequestStatus::Rejected
            | RequestStatus::Expired) => Some(format!(
                "request {} is already {}",
                request.id,
                status.as_str()
            )),
        }
    }

    /// A decision counts only if the request file says the same.
    fn decision(&self, id: &RequestId, approve: bool) -> Treatment {
        let stored = self.team.request(id).map(|request| request.status());
        let fits = match stored {
            Ok(RequestStatus::Approved) => approve,
            Ok(RequestStatus::Rejected) => !approve,
            Ok(RequestStatus::Pending | RequestStatus::Expired) | Err(_) => false,
        };
        if fits {
            return Treatment::Show;
        }
        Treatment::ShowWith(format!(
            "this has no effect: the file of request {id} does not say so"
        ))
    }
}
