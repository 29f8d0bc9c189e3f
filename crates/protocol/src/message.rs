//! Messages: the envelope every message shares, and what each type carries.

use crate::record::field_error;
use crate::{Extra, Incarnation, MessageId, Recipient, RequestId, Sender, Timestamp};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The longest line our own senders write, newline included.
///
/// Larger contents belong in a file whose path is sent.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Defines [`Message`] with its JSON form: a flat object with the fields of `head`, those of the body,
/// and those of `tail`, in this order. Each field is optional.
macro_rules! envelope {
    (
        $(#[$meta:meta])*
        pub struct Message {
            head { $( $(#[$hmeta:meta])* $head:ident: $hty:ty, )* }
            tail { $( $(#[$tmeta:meta])* $tail:ident: $tty:ty, )* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct Message {
            $( $(#[$hmeta])* pub $head: Option<$hty>, )*
            pub body: Body,
            $( $(#[$tmeta])* pub $tail: Option<$tty>, )*
            /// Fields of the line that have no place in a message of its type.
            pub extra: Extra,
        }

        impl Message {
            /// A message with nothing but its body.
            pub fn new(body: Body) -> Self {
                let extra = Extra::new();
                Self { $( $head: None, )* body, $( $tail: None, )* extra }
            }
        }

        impl Serialize for Message {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut writer = Writer::new(serializer.serialize_map(None)?);
                writer.field("type", self.body.kind())?;
                $( writer.optional(stringify!($head), self.$head.as_ref())?; )*
                self.body.write(&mut writer)?;
                $( writer.optional(stringify!($tail), self.$tail.as_ref())?; )*
                writer.finish(&self.extra)
            }
        }

        impl<'de> Deserialize<'de> for Message {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut fields = Fields(Extra::deserialize(deserializer)?);
                Ok(Self {
                    $( $head: fields.take(stringify!($head))?, )*
                    body: Body::take(&mut fields)?,
                    $( $tail: fields.take(stringify!($tail))?, )*
                    extra: fields.0,
                })
            }
        }
    };
}

/// Defines [`Body`]: for each variant its `type`, which field a reader is shown (`text`), for control
/// messages which field names the request (`request`), and all fields in the order they are written.
///
/// A field is `req` (must be present), `def` (empty if absent, always written) or `opt` (an `Option`,
/// left out when `None`). `or` names a second field that a `def` is read from if the first is absent.
macro_rules! bodies {
    (
        $(#[$meta:meta])*
        pub enum Body {
            $(
                $(#[$vmeta:meta])*
                $variant:ident($kind:literal, text $text:ident $(, request $request:ident)?) {
                    $( $mode:ident $field:ident: $ty:ty $(, or $other:literal)?; )*
                }
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum Body {
            $( $(#[$vmeta])* $variant { $( $field: bodies!(@type $mode $ty), )* }, )*
        }

        impl Body {
            /// The value of `type`.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $( Self::$variant { .. } => $kind, )*
                }
            }

            /// The text that a person or a model reads.
            pub fn text(&self) -> &str {
                match self {
                    $( Self::$variant { $text, .. } => $text, )*
                }
            }

            /// The request it belongs to, if it is a control message.
            pub const fn request_id(&self) -> Option<&RequestId> {
                match self {
                    $( Self::$variant { $( $request, )? .. } => bodies!(@request $( $request )?), )*
                }
            }

            fn write<M: SerializeMap>(&self, writer: &mut Writer<M>) -> Result<(), M::Error> {
                match self {
                    $( Self::$variant { $( $field, )* } => {
                        $( bodies!(@write $mode writer, $field); )*
                    } )*
                }
                Ok(())
            }

            /// Takes the fields of the body out of a message.
            fn take<E: serde::de::Error>(fields: &mut Fields) -> Result<Self, E> {
                let kind = fields.take_kind()?;
                Ok(match kind.as_str() {
                    $( $kind => Self::$variant {
                        $( $field: bodies!(@take $mode fields, $kind, $field $(, $other)?), )*
                    }, )*
                    _ => return Err(E::custom(format_args!("unknown message type {kind:?}"))),
                })
            }
        }
    };

    (@type opt $ty:ty) => { Option<$ty> };
    (@type $mode:ident $ty:ty) => { $ty };

    (@request) => { None };
    (@request $request:ident) => { Some($request) };

    (@write opt $writer:ident, $field:ident) => {
        $writer.optional(stringify!($field), $field.as_ref())?
    };
    (@write $mode:ident $writer:ident, $field:ident) => {
        $writer.field(stringify!($field), $field)?
    };

    (@take req $fields:ident, $kind:literal, $field:ident) => {
        $fields.take(stringify!($field))?.ok_or_else(|| {
            E::custom(concat!("a ", $kind, " needs the field `", stringify!($field), "`"))
        })?
    };
    (@take opt $fields:ident, $kind:literal, $field:ident) => {
        $fields.take(stringify!($field))?
    };
    (@take def $fields:ident, $kind:literal, $field:ident) => {
        $fields.take(stringify!($field))?.unwrap_or_default()
    };
    (@take def $fields:ident, $kind:literal, $field:ident, $other:literal) => {
        match $fields.take(stringify!($field))? {
            Some(value) => value,
            None => $fields.take($other)?.unwrap_or_default(),
        }
    };
}

envelope! {
    /// A message as it is stored in an inbox: one JSON object on one line.
    pub struct Message {
        head {
            /// Who says they sent it.
            from: Sender,
            /// Whose inbox it was written for.
            to: Recipient,
            /// Chosen by the sender; absent in lines written by hand.
            id: MessageId,
        }
        tail {
            /// When it was first sent; a repeated send keeps it.
            timestamp: Timestamp,
            /// The incarnation of the sender that wrote it.
            from_incarnation: Incarnation,
            /// The incarnation of the recipient it is meant for.
            to_incarnation: Incarnation,
            /// The message this one answers. Our own senders do not set it.
            in_reply_to: MessageId,
        }
    }
}

bodies! {
    /// What a message says, by its `type`.
    pub enum Body {
        /// Text for one recipient.
        Message("message", text content) {
            req content: String;
        }
        /// The same text for every teammate.
        Broadcast("broadcast", text content) {
            req content: String;
        }
        /// Asks a member to end.
        ShutdownRequest("shutdown_request", text content, request request_id) {
            req request_id: RequestId;
            def content: String;
        }
        /// The answer to a shutdown request; the reason may be empty.
        ShutdownResponse("shutdown_response", text reason, request request_id) {
            req request_id: RequestId;
            req approve: bool;
            def reason: String, or "content";
        }
        /// A plan that needs a decision.
        PlanApprovalRequest("plan_approval_request", text plan, request request_id) {
            req request_id: RequestId;
            def content: String;
            req plan: String;
        }
        /// The decision on a plan; the feedback may be empty.
        PlanApprovalResponse("plan_approval_response", text feedback, request request_id) {
            req request_id: RequestId;
            req approve: bool;
            def feedback: String, or "content";
        }
        /// The sender finished a turn; the content is the turn's final text.
        IdleNotification("idle_notification", text content) {
            req content: String;
        }
        /// Something the program itself reports.
        Notice("notice", text content) {
            opt cause: NoticeCause;
            req content: String;
        }
    }
}

impl Body {
    /// Whether the program acts on it before any model sees it.
    ///
    /// A control message for an earlier incarnation of its recipient must never act on a later one.
    pub const fn is_control(&self) -> bool {
        self.request_id().is_some()
    }
}

impl Message {
    /// The line that goes into an inbox.
    pub fn to_line(&self) -> crate::JsonLine {
        crate::JsonLine::encode(self).expect("a message is an object of text and finite numbers")
    }
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
    /// Submitted work could not be merged, or two members' work will be in conflict.
    Submission,
    /// A command that was cut off left files that other programs trust.
    LeftFiles,
    /// A tool call or a question waits for the recipient's answer.
    AnswerNeeded,
    /// A person has answered a member, or nobody has.
    Answered,
    /// What became of a change of the board that was asked of another host.
    Board,
    /// A cause that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl NoticeCause {
    /// Whether the recipient should act on it at once rather than when it works next.
    pub const fn is_urgent(&self) -> bool {
        match self {
            Self::Death
            | Self::GaveUp
            | Self::Failed
            | Self::DeadLetter
            | Self::AnswerNeeded
            | Self::Submission => true,
            Self::Budget
            | Self::Traffic
            | Self::LeftFiles
            | Self::Answered
            | Self::Board
            | Self::Other(_) => false,
        }
    }
}

/// The fields of a stored message that are not taken yet.
struct Fields(Extra);

impl Fields {
    /// Takes a field out. An explicit null means the same as leaving the field out.
    fn take<T: DeserializeOwned, E: serde::de::Error>(
        &mut self,
        key: &str,
    ) -> Result<Option<T>, E> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value)
                .map(Some)
                .map_err(|error| E::custom(field_error(key, &error))),
        }
    }

    /// Takes the type out; an object without one is a plain message.
    fn take_kind<E: serde::de::Error>(&mut self) -> Result<String, E> {
        let kind = self.take("type")?;
        let kind = kind.unwrap_or_else(|| "message".to_owned());
        // An older form submits a plan under the response's name: a plan and no decision.
        let is_submission =
            kind == "plan_approval_response" && self.has("plan") && !self.has("approve");
        Ok(if is_submission {
            "plan_approval_request".to_owned()
        } else {
            kind
        })
    }

    fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }
}

/// Writes the fields of a message, each key once.
struct Writer<M> {
    map: M,
    written: Vec<&'static str>,
}

impl<M: SerializeMap> Writer<M> {
    const fn new(map: M) -> Self {
        let written = Vec::new();
        Self { map, written }
    }

    fn field(
        &mut self,
        key: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), M::Error> {
        self.written.push(key);
        self.map.serialize_entry(key, value)
    }

    fn optional(
        &mut self,
        key: &'static str,
        value: Option<&impl Serialize>,
    ) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.field(key, value))
    }

    /// Writes the extra fields. A known field always wins over an extra one of the same name.
    fn finish(mut self, extra: &Extra) -> Result<M::Ok, M::Error> {
        for (key, value) in extra {
            if !self.written.contains(&key.as_str()) {
                self.map.serialize_entry(key, value)?;
            }
        }
        self.map.end()
    }
}
