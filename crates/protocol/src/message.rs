//! Messages: the envelope every message shares, and what each type carries.

use crate::{Incarnation, MessageId, Recipient, RequestId, Sender, Timestamp};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest line our own senders write, newline included.
///
/// Larger contents belong in a file whose path is sent.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// A message as it lies in an inbox: one JSON object on one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Chosen by the sender; absent in lines written by hand.
    pub id: Option<MessageId>,
    /// Who says they sent it.
    pub from: Option<Sender>,
    /// Whose inbox it was written for.
    pub to: Option<Recipient>,
    /// When it was first sent; a repeated send keeps it.
    pub timestamp: Option<Timestamp>,
    /// The incarnation of the sender that wrote it.
    pub from_incarnation: Option<Incarnation>,
    /// The incarnation of the recipient it is meant for.
    pub to_incarnation: Option<Incarnation>,
    /// The message this one answers.
    pub in_reply_to: Option<MessageId>,
    /// What it says.
    pub body: Body,
    /// Fields of the line that this version does not know.
    pub extra: crate::Extra,
}

/// What a message says, by its `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// `message`: text for one recipient.
    Message {
        /// The text.
        content: String,
    },
    /// `broadcast`: the same text for every teammate.
    Broadcast {
        /// The text.
        content: String,
    },
    /// `shutdown_request`: please end.
    ShutdownRequest {
        /// The request file this belongs to.
        request_id: RequestId,
        /// The request as text.
        content: String,
    },
    /// `shutdown_response`: the answer to a shutdown request.
    ShutdownResponse {
        /// The request that is answered.
        request_id: RequestId,
        /// Whether the member will end.
        approve: bool,
        /// Why, as text; may be empty.
        reason: String,
    },
    /// `plan_approval_request`: a plan that needs a decision.
    PlanApprovalRequest {
        /// The request file this belongs to.
        request_id: RequestId,
        /// The plan.
        plan: String,
        /// The submission as text; may be empty.
        content: String,
    },
    /// `plan_approval_response`: the decision on a plan.
    PlanApprovalResponse {
        /// The request that is answered.
        request_id: RequestId,
        /// Whether the plan may be carried out.
        approve: bool,
        /// What to change, or a remark; may be empty.
        feedback: String,
    },
    /// `idle_notification`: the sender finished a turn.
    IdleNotification {
        /// The final text of the turn.
        content: String,
    },
    /// `notice`: something the program itself reports.
    Notice {
        cause: Option<NoticeCause>,
        content: String,
    },
}

/// What a notice is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCause {
    /// A member died.
    Death,
    /// A member is not restarted any more.
    GaveUp,
    /// A member cannot go on with its work.
    Failed,
    /// A message of the recipient was not delivered.
    DeadLetter,
    /// A budget is spent.
    Budget,
    /// Two members are kept from writing to each other for a while.
    Traffic,
    /// A cause that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl NoticeCause {
    /// Whether the recipient should act on it at once rather than when it works next.
    pub const fn is_urgent(&self) -> bool {
        match self {
            Self::Death | Self::GaveUp | Self::Failed | Self::DeadLetter => true,
            Self::Budget | Self::Traffic | Self::Other(_) => false,
        }
    }
}

/// Why an object is not a message of a type it claims.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    /// The type is none of ours.
    #[error("unknown message type {0:?}")]
    UnknownType(String),
    /// A field that the type needs is absent.
    #[error("a {kind} needs the field `{field}`")]
    Missing {
        /// The type of the message.
        kind: &'static str,
        /// The absent field.
        field: &'static str,
    },
    /// A field holds something it cannot hold.
    #[error("field `{field}`: {reason}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl Body {
    /// The value of `type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::Broadcast { .. } => "broadcast",
            Self::ShutdownRequest { .. } => "shutdown_request",
            Self::ShutdownResponse { .. } => "shutdown_response",
            Self::PlanApprovalRequest { .. } => "plan_approval_request",
            Self::PlanApprovalResponse { .. } => "plan_approval_response",
            Self::IdleNotification { .. } => "idle_notification",
            Self::Notice { .. } => "notice",
        }
    }

    /// Whether the program acts on it before any model sees it.
    ///
    /// A control message for an earlier incarnation of its recipient must never act on a later one.
    pub const fn is_control(&self) -> bool {
        match self {
            Self::ShutdownRequest { .. }
            | Self::ShutdownResponse { .. }
            | Self::PlanApprovalRequest { .. }
            | Self::PlanApprovalResponse { .. } => true,
            Self::Message { .. }
            | Self::Broadcast { .. }
            | Self::IdleNotification { .. }
            | Self::Notice { .. } => false,
        }
    }

    /// The request it belongs to, if it is a control message.
    pub const fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::ShutdownRequest { request_id, .. }
            | Self::ShutdownResponse { request_id, .. }
            | Self::PlanApprovalRequest { request_id, .. }
            | Self::PlanApprovalResponse { request_id, .. } => Some(request_id),
            Self::Message { .. }
            | Self::Broadcast { .. }
            | Self::IdleNotification { .. }
            | Self::Notice { .. } => None,
        }
    }

    /// The text that a person or a model reads.
    pub fn text(&self) -> &str {
        match self {
            Self::Message { content }
            | Self::Broadcast { content }
            | Self::ShutdownRequest { content, .. }
            | Self::IdleNotification { content }
            | Self::Notice { content, .. } => content,
            Self::ShutdownResponse { reason, .. } => reason,
            Self::PlanApprovalRequest { plan, .. } => plan,
            Self::PlanApprovalResponse { feedback, .. } => feedback,
        }
    }
}

impl Message {
    /// A message with nothing but its body.
    pub fn new(body: Body) -> Self {
        Self {
            id: None,
            from: None,
            to: None,
            timestamp: None,
            from_incarnation: None,
            to_incarnation: None,
            in_reply_to: None,
            body,
            extra: crate::Extra::new(),
        }
    }

    /// The line that goes into an inbox.
    pub fn to_line(&self) -> crate::JsonLine {
        crate::JsonLine::encode(self).expect("a message is an object of text and finite numbers")
    }
}

record! {
    /// The flat JSON form of a message, before its type is looked at.
    pub struct Envelope {
        opt kind: String => "type",
        opt from: Sender => "from",
        opt to: String => "to",
        opt id: MessageId => "id",
        opt request_id: RequestId => "request_id",
        opt approve: bool => "approve",
        opt content: String => "content",
        opt plan: String => "plan",
        opt feedback: String => "feedback",
        opt reason: String => "reason",
        opt cause: NoticeCause => "cause",
        opt timestamp: Timestamp => "timestamp",
        opt from_incarnation: Incarnation => "from_incarnation",
        opt to_incarnation: Incarnation => "to_incarnation",
        opt in_reply_to: MessageId => "in_reply_to",
    }
}

impl TryFrom<Envelope> for Message {
    type Error = InvalidMessage;

    fn try_from(mut envelope: Envelope) -> Result<Self, InvalidMessage> {
        let to = envelope.to.take().map(|to| to.parse()).transpose();
        let to = to.map_err(|error: crate::NameError| InvalidMessage::Field {
            field: "to",
            reason: error.to_string(),
        })?;
        let body = envelope.take_body()?;
        // Whatever the type has no place for stays with the message.
        let mut extra = std::mem::take(&mut envelope.extra);
        let leftovers = [
            ("content", envelope.content),
            ("plan", envelope.plan),
            ("feedback", envelope.feedback),
            ("reason", envelope.reason),
            ("request_id", envelope.request_id.map(|id| id.to_string())),
        ];
        for (key, value) in leftovers {
            if let Some(text) = value {
                extra.insert(key.to_owned(), text.into());
            }
        }
        if let Some(approve) = envelope.approve {
            extra.insert("approve".to_owned(), approve.into());
        }
        if let Some(cause) = envelope.cause {
            extra.insert("cause".to_owned(), serde_json::json!(cause));
        }
        Ok(Self {
            id: envelope.id,
            from: envelope.from,
            to,
            timestamp: envelope.timestamp,
            from_incarnation: envelope.from_incarnation,
            to_incarnation: envelope.to_incarnation,
            in_reply_to: envelope.in_reply_to,
            body,
            extra,
        })
    }
}

impl Envelope {
    fn take_body(&mut self) -> Result<Body, InvalidMessage> {
        let kind = self.kind.take().unwrap_or_else(|| "message".to_owned());
        Ok(match kind.as_str() {
            "message" => Body::Message {
                content: self.need_content("message")?,
            },
            "broadcast" => Body::Broadcast {
                content: self.need_content("broadcast")?,
            },
            "idle_notification" => Body::IdleNotification {
                content: self.need_content("idle_notification")?,
            },
            "notice" => Body::Notice {
                cause: self.cause.take(),
                content: self.need_content("notice")?,
            },
            "shutdown_request" => Body::ShutdownRequest {
                request_id: self.need_request("shutdown_request")?,
                content: self.content.take().unwrap_or_default(),
            },
            "shutdown_response" => Body::ShutdownResponse {
                request_id: self.need_request("shutdown_response")?,
                approve: self.need_approve("shutdown_response")?,
                reason: take_either(&mut self.reason, &mut self.content),
            },
            "plan_approval_request" => self.take_plan("plan_approval_request")?,
            // The lessons submit a plan under the response's name: a plan and no decision.
            "plan_approval_response" if self.plan.is_some() && self.approve.is_none() => {
                self.take_plan("plan_approval_response")?
            }
            "plan_approval_response" => Body::PlanApprovalResponse {
                request_id: self.need_request("plan_approval_response")?,
                approve: self.need_approve("plan_approval_response")?,
                feedback: take_either(&mut self.feedback, &mut self.content),
            },
            _ => return Err(InvalidMessage::UnknownType(kind)),
        })
    }

    fn take_plan(&mut self, kind: &'static str) -> Result<Body, InvalidMessage> {
        Ok(Body::PlanApprovalRequest {
            request_id: self.need_request(kind)?,
            plan: self.plan.take().ok_or(InvalidMessage::Missing {
                kind,
                field: "plan",
            })?,
            content: self.content.take().unwrap_or_default(),
        })
    }

    fn need_content(&mut self, kind: &'static str) -> Result<String, InvalidMessage> {
        let field = "content";
        self.content
            .take()
            .ok_or(InvalidMessage::Missing { kind, field })
    }

    fn need_request(&mut self, kind: &'static str) -> Result<RequestId, InvalidMessage> {
        let field = "request_id";
        self.request_id
            .take()
            .ok_or(InvalidMessage::Missing { kind, field })
    }

    fn need_approve(&mut self, kind: &'static str) -> Result<bool, InvalidMessage> {
        let field = "approve";
        self.approve
            .take()
            .ok_or(InvalidMessage::Missing { kind, field })
    }
}

/// The lessons put the words of an answer into `content`; ours have their own field.
fn take_either(own: &mut Option<String>, content: &mut Option<String>) -> String {
    own.take().or_else(|| content.take()).unwrap_or_default()
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.kind())?;
        entry(&mut map, "from", self.from.as_ref())?;
        entry(&mut map, "to", self.to.as_ref())?;
        entry(&mut map, "id", self.id.as_ref())?;
        entry(&mut map, "request_id", self.body.request_id())?;
        match &self.body {
            Body::Message { content }
            | Body::Broadcast { content }
            | Body::ShutdownRequest { content, .. }
            | Body::IdleNotification { content } => map.serialize_entry("content", content)?,
            Body::Notice { cause, content } => {
                entry(&mut map, "cause", cause.as_ref())?;
                map.serialize_entry("content", content)?;
            }
            Body::ShutdownResponse {
                approve, reason, ..
            } => {
                map.serialize_entry("approve", approve)?;
                map.serialize_entry("reason", reason)?;
            }
            Body::PlanApprovalRequest { plan, content, .. } => {
                map.serialize_entry("content", content)?;
                map.serialize_entry("plan", plan)?;
            }
            Body::PlanApprovalResponse {
                approve, feedback, ..
            } => {
                map.serialize_entry("approve", approve)?;
                map.serialize_entry("feedback", feedback)?;
            }
        }
        entry(&mut map, "timestamp", self.timestamp.as_ref())?;
        entry(&mut map, "from_incarnation", self.from_incarnation.as_ref())?;
        entry(&mut map, "to_incarnation", self.to_incarnation.as_ref())?;
        entry(&mut map, "in_reply_to", self.in_reply_to.as_ref())?;
        // A known field always wins over a kept one of the same name.
        for (key, value) in self.extra.iter().filter(|(key, _)| !has_field(self, key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

/// Whether the message's own fields already write `key`.
fn has_field(message: &Message, key: &str) -> bool {
    match key {
        "type" => true,
        "content" => !matches!(
            message.body,
            Body::ShutdownResponse { .. } | Body::PlanApprovalResponse { .. }
        ),
        "request_id" => message.body.request_id().is_some(),
        "approve" => matches!(
            message.body,
            Body::ShutdownResponse { .. } | Body::PlanApprovalResponse { .. }
        ),
        "reason" => matches!(message.body, Body::ShutdownResponse { .. }),
        "cause" => matches!(message.body, Body::Notice { cause: Some(_), .. }),
        "plan" => matches!(message.body, Body::PlanApprovalRequest { .. }),
        "feedback" => matches!(message.body, Body::PlanApprovalResponse { .. }),
        "id" => message.id.is_some(),
        "from" => message.from.is_some(),
        "to" => message.to.is_some(),
        "timestamp" => message.timestamp.is_some(),
        "from_incarnation" => message.from_incarnation.is_some(),
        "to_incarnation" => message.to_incarnation.is_some(),
        "in_reply_to" => message.in_reply_to.is_some(),
        _ => false,
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let envelope = Envelope::deserialize(deserializer)?;
        Self::try_from(envelope).map_err(serde::de::Error::custom)
    }
}
