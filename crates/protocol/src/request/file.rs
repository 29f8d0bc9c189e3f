//! The flat JSON form of a request, as its file has it.

use super::{
    Answer, IgnoredAnswer, PermissionAsk, QuestionAsk, Request, RequestKind, RequestState,
    RequestStatus, SentAnswer, Subject,
};
use crate::{GrantScope, HostId, Incarnation, Party, Recipient, RequestId, Timestamp};
use serde_json::Value;

record! {
    /// The flat JSON form of a request.
    pub struct RequestFile {
        /// See [`Request::id`].
        req request_id: RequestId => "request_id",
        /// Which kind of request.
        req kind: RequestKind => "kind",
        /// See [`Request::from`].
        req from: Party => "from",
        /// See [`Request::to`].
        req to: Recipient => "to",
        /// The word for the state.
        req status: RequestStatus => "status",
        /// See [`Request::from_incarnation`].
        opt from_incarnation: Incarnation => "from_incarnation",
        /// See [`Request::to_incarnation`].
        opt to_incarnation: Incarnation => "to_incarnation",
        /// See [`Request::created_at`].
        req created_at: Timestamp => "created_at",
        /// See [`Request::deadline`].
        opt deadline: Timestamp => "deadline",
        /// See [`Request::notified_at`].
        opt notified_at: Timestamp => "notified_at",
        /// Why a shutdown is asked for.
        opt reason: String => "reason",
        /// See [`Subject::Shutdown`].
        opt force: bool => "force",
        /// Left out when it is false.
        opt lead_leaves: bool => "lead_leaves",
        /// See [`Subject::Plan`].
        opt plan: String => "plan",
        /// See [`Subject::Plan`].
        opt plan_hash: String => "plan_hash",
        /// See [`PermissionAsk`].
        opt tool: String => "tool",
        /// See [`PermissionAsk`].
        opt arguments: Value => "arguments",
        /// See [`PermissionAsk`].
        opt cwd: String => "cwd",
        /// See [`PermissionAsk`].
        opt why: String => "why",
        /// See [`PermissionAsk`].
        opt grants: String => "grants",
        /// See [`QuestionAsk`].
        opt question: String => "question",
        /// Left out when there are none.
        opt choices: Vec<String> => "choices",
        /// See [`QuestionAsk`].
        opt free_text: bool => "free_text",
        /// See [`PermissionAsk`] and [`QuestionAsk`].
        opt call_hash: String => "call_hash",
        /// Left out when it is false.
        opt lead_decides: bool => "lead_decides",
        /// Who answered.
        opt resolved_by: Party => "resolved_by",
        /// When the state became final.
        opt resolved_at: Timestamp => "resolved_at",
        /// The text of the answer, or why it expired.
        opt resolution: String => "resolution",
        /// See [`Answer::name`].
        opt resolved_by_name: String => "resolved_by_name",
        /// See [`Answer::scope`].
        opt scope: GrantScope => "scope",
        /// See [`Request::ignored`].
        def ignored: Vec<IgnoredAnswer> => "ignored",
        /// See [`Request::host`].
        opt host: HostId => "host",
        /// See [`Request::sent`].
        opt sent: SentAnswer => "sent",
        /// See [`Request::refused`].
        opt refused: String => "refused",
    }
}

/// Why a request file contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {status} {kind} request needs the field `{field}`")]
pub struct InvalidRequest {
    kind: &'static str,
    status: &'static str,
    field: &'static str,
}

impl From<Request> for RequestFile {
    fn from(request: Request) -> Self {
        let mut file = Self {
            kind: request.kind(),
            status: request.status(),
            request_id: request.id,
            from: request.from,
            to: request.to,
            from_incarnation: request.from_incarnation,
            to_incarnation: request.to_incarnation,
            created_at: request.created_at,
            deadline: request.deadline,
            notified_at: request.notified_at,
            reason: None,
            force: None,
            lead_leaves: None,
            plan: None,
            plan_hash: None,
            tool: None,
            arguments: None,
            cwd: None,
            why: None,
            grants: None,
            question: None,
            choices: None,
            free_text: None,
            call_hash: None,
            lead_decides: None,
            resolved_by: None,
            resolved_at: None,
            resolution: None,
            resolved_by_name: None,
            scope: None,
            ignored: request.ignored,
            host: request.host,
            sent: request.sent,
            refused: request.refused,
            extra: request.extra,
        };
        file.set_subject(request.subject);
        file.set_state(request.state);
        file
    }
}

impl RequestFile {
    fn set_subject(&mut self, subject: Subject) {
        match subject {
            Subject::Shutdown {
                reason,
                force,
                lead_leaves,
            } => {
                self.reason = Some(reason);
                self.force = Some(force);
                self.lead_leaves = lead_leaves.then_some(true);
            }
            Subject::Plan { plan, plan_hash } => {
                self.plan = Some(plan);
                self.plan_hash = Some(plan_hash);
            }
            Subject::Permission(ask) => {
                self.tool = Some(ask.tool);
                self.arguments = Some(ask.arguments);
                self.call_hash = Some(ask.call_hash);
                self.cwd = Some(ask.cwd);
                self.why = Some(ask.why);
                self.grants = ask.grants;
                self.lead_decides = ask.lead_decides.then_some(true);
            }
            Subject::Question(ask) => {
                self.question = Some(ask.question);
                self.choices = Some(ask.choices).filter(|choices| !choices.is_empty());
                self.free_text = Some(ask.free_text);
                self.call_hash = Some(ask.call_hash);
                self.lead_decides = ask.lead_decides.then_some(true);
            }
        }
    }

    fn set_state(&mut self, state: RequestState) {
        match state {
            RequestState::Pending => {}
            RequestState::Approved(answer) | RequestState::Rejected(answer) => {
                self.resolved_by = Some(answer.by);
                self.resolved_at = Some(answer.at);
                self.resolution = Some(answer.text);
                self.resolved_by_name = answer.name;
                self.scope = answer.scope;
            }
            RequestState::Expired { at, reason } => {
                self.resolved_at = Some(at);
                self.resolution = Some(reason);
            }
        }
    }

    fn missing(&self, field: &'static str) -> InvalidRequest {
        InvalidRequest {
            kind: self.kind.as_str(),
            status: self.status.as_str(),
            field,
        }
    }

    fn take_subject(&mut self) -> Result<Subject, InvalidRequest> {
        macro_rules! need {
            ($field:ident) => {
                self.$field
                    .take()
                    .ok_or_else(|| self.missing(stringify!($field)))?
            };
        }
        Ok(match self.kind {
            RequestKind::Shutdown => Subject::Shutdown {
                reason: self.reason.take().unwrap_or_default(),
                force: self.force.unwrap_or_default(),
                lead_leaves: self.lead_leaves.unwrap_or_default(),
            },
            RequestKind::Plan => Subject::Plan {
                plan: need!(plan),
                plan_hash: need!(plan_hash),
            },
            RequestKind::Permission => Subject::Permission(PermissionAsk {
                tool: need!(tool),
                arguments: need!(arguments),
                call_hash: need!(call_hash),
                cwd: self.cwd.take().unwrap_or_default(),
                why: self.why.take().unwrap_or_default(),
                grants: self.grants.take(),
                lead_decides: self.lead_decides.unwrap_or_default(),
            }),
            RequestKind::Question => Subject::Question(QuestionAsk {
                question: need!(question),
                choices: self.choices.take().unwrap_or_default(),
                free_text: self.free_text.unwrap_or(true),
                call_hash: need!(call_hash),
                lead_decides: self.lead_decides.unwrap_or_default(),
            }),
        })
    }

    fn take_state(&mut self) -> Result<RequestState, InvalidRequest> {
        let text = self.resolution.take().unwrap_or_default();
        let at = self.resolved_at.ok_or_else(|| self.missing("resolved_at"));
        let by = self.resolved_by.take();
        let by = by.ok_or_else(|| self.missing("resolved_by"));
        let (name, scope) = (self.resolved_by_name.take(), self.scope);
        let answer = |by, at, text| Answer {
            by,
            at,
            text,
            name,
            scope,
        };
        Ok(match self.status {
            RequestStatus::Pending => RequestState::Pending,
            RequestStatus::Approved => RequestState::Approved(answer(by?, at?, text)),
            RequestStatus::Rejected => RequestState::Rejected(answer(by?, at?, text)),
            RequestStatus::Expired => RequestState::Expired {
                at: at?,
                reason: text,
            },
        })
    }
}

impl TryFrom<RequestFile> for Request {
    type Error = InvalidRequest;

    fn try_from(mut file: RequestFile) -> Result<Self, InvalidRequest> {
        let subject = file.take_subject()?;
        let state = file.take_state()?;
        Ok(Self {
            id: file.request_id,
            from: file.from,
            from_incarnation: file.from_incarnation,
            to: file.to,
            to_incarnation: file.to_incarnation,
            created_at: file.created_at,
            deadline: file.deadline,
            notified_at: file.notified_at,
            subject,
            state,
            ignored: file.ignored,
            host: file.host,
            sent: file.sent,
            refused: file.refused,
            extra: file.extra,
        })
    }
}
