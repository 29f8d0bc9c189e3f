//! Why a model gave no reply, and what to do about it.

use std::fmt;
use std::time::Duration;

use crate::conversation::Provider;
use crate::limits::ReplyLimit;
use crate::model::WaitReason;
use crate::request::RequestError;
use crate::script::ScriptError;

/// What a server said about a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Its message, without keys and shortened; may be empty.
    pub message: String,
    /// Its id of the request, for support requests.
    pub request_id: Option<String>,
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            f.write_str("no explanation was given")?;
        } else {
            f.write_str(&self.message)?;
        }
        match &self.request_id {
            Some(id) => write!(f, " (request {id})"),
            None => Ok(()),
        }
    }
}

/// Why a model gave no reply. All of these are final: temporary failures have been
/// retried before. Each prints as the failure and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The request breaks a rule of the conversation.
    Request(RequestError),
    Cancelled,
    /// The key is wrong or missing (401).
    KeyRefused {
        /// The variable that has or should have the key.
        variable: &'static str,
        address: String,
        detail: Detail,
    },
    /// The key may not do this (403).
    Forbidden {
        /// The variable that has the key.
        variable: &'static str,
        model: String,
        detail: Detail,
    },
    /// The model or the address is unknown (404), or the address has moved (3xx).
    NotFound {
        model: String,
        address: String,
        /// The variable that has the address.
        variable: &'static str,
        detail: Detail,
    },
    /// There is no money left, or none was ever there.
    Billing(Detail),
    /// The conversation is longer than the model's window.
    ContextTooLong {
        tokens: Option<u64>,
        limit: Option<u64>,
        detail: Detail,
    },
    /// The body of the request is larger than the server takes (413).
    RequestTooLarge {
        bytes: usize,
        detail: Detail,
    },
    /// The reply was larger than any sensible one, and was not read to its end.
    ReplyTooLarge(ReplyLimit),
    /// The server does not accept the request, whatever is tried.
    BadRequest {
        /// The status of the answer; 200 if the error came inside a reply.
        status: u16,
        detail: Detail,
    },
    /// Every try failed, or the server demands a longer wait than allowed.
    GaveUp {
        provider: Provider,
        address: String,
        tries: u32,
        /// Why the last one failed.
        reason: WaitReason,
        /// How long the server demands to wait.
        asked_to_wait: Option<Duration>,
        /// More about the last failure.
        detail: Detail,
    },
    /// The script has no further turn.
    Script(ScriptError),
    /// It cannot be determined whether the call is allowed. The text says why, and what to do.
    Withheld(String),
    /// The agent of another program, which takes the place of a model, cannot go on.
    Engine {
        reason: String,
        /// Whether trying again later may help.
        is_temporary: bool,
    },
}

impl ModelError {
    /// A short name of the kind of error, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "invalid_conversation",
            Self::Cancelled => "cancelled",
            Self::KeyRefused { .. } => "key_refused",
            Self::Forbidden { .. } => "forbidden",
            Self::NotFound { .. } => "model_not_found",
            Self::Billing(_) => "billing",
            Self::ContextTooLong { .. } => "context_too_long",
            Self::RequestTooLarge { .. } => "request_too_large",
            Self::ReplyTooLarge(_) => "reply_too_large",
            Self::BadRequest { .. } => "bad_request",
            Self::GaveUp { .. } => "gave_up",
            Self::Script(_) => "script",
            Self::Withheld(_) => "withheld",
            Self::Engine { .. } => "engine",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Request(_) => "this is a bug in the program; please report it".into(),
            Self::Cancelled => "ask again".into(),
            Self::KeyRefused { variable, .. } => {
                format!("set {variable} to a valid key")
            }
            Self::Forbidden { variable, .. } => {
                format!("use a key in {variable} that may use this model, or another model")
            }
            Self::NotFound { variable, .. } => {
                format!("check the name of the model and {variable}")
            }
            Self::Billing(_) => "add credit at the provider, or use another model".into(),
            Self::ContextTooLong { .. } => "make the conversation shorter".into(),
            Self::RequestTooLarge { .. } => {
                "make the conversation shorter, or give tools less output".into()
            }
            Self::ReplyTooLarge(_) => "ask for less at once, or use another model".into(),
            Self::BadRequest { .. } => "check that the model supports what was asked".into(),
            Self::GaveUp { reason, .. } => give_up_hint(*reason).into(),
            Self::Script(_) => "add the missing turns to the script".into(),
            Self::Withheld(_) => "correct what the message names".into(),
            Self::Engine { .. } => "see the log of the member".into(),
        }
    }
}

fn give_up_hint(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::CannotConnect => "check the address and that the server runs",
        WaitReason::RateLimit => "wait, or raise the limit at the provider",
        WaitReason::Budget => "raise the budget with `team-lead budget raise`",
        WaitReason::Turn => "wait until fewer members work at once",
        WaitReason::Empty | WaitReason::Unreadable => "try again, or use another model",
        WaitReason::Overloaded
        | WaitReason::ServerError(_)
        | WaitReason::ErrorInReply
        | WaitReason::StreamCut
        | WaitReason::Silence => "try again later",
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => write!(f, "the request was not sent: {error}")?,
            // There is nothing to advise to those who cancelled.
            Self::Cancelled => return f.write_str("the model call was cancelled"),
            // The error of a script names its own remedy.
            Self::Script(error) => return error.fmt(f),
            Self::Engine { reason, .. } => return f.write_str(reason),
            Self::Withheld(reason) => return write!(f, "the model was not called: {reason}"),
            Self::KeyRefused {
                variable,
                address,
                detail,
            } => write!(f, "{variable} was refused by {address}: {detail}")?,
            Self::Forbidden { model, detail, .. } => {
                write!(f, "the key may not use {model}: {detail}")?;
            }
            Self::NotFound {
                model,
                address,
                detail,
                ..
            } if detail.message.is_empty() => {
                write!(f, "{address} does not know {model}: {detail}")?;
            }
            // The server's own words may say something else than that.
            Self::NotFound {
                model,
                address,
                detail,
                ..
            } => write!(f, "{address} refused {model}: {detail}")?,
            Self::Billing(detail) => write!(f, "the account has no credit: {detail}")?,
            Self::ContextTooLong {
                tokens,
                limit,
                detail,
            } => {
                f.write_str("the conversation is too long for the model")?;
                if let (Some(tokens), Some(limit)) = (tokens, limit) {
                    write!(f, " ({tokens} of {limit} tokens)")?;
                }
                write!(f, ": {detail}")?;
            }
            Self::RequestTooLarge { bytes, detail } => {
                write!(f, "the request of {bytes} bytes is too large: {detail}")?;
            }
            Self::ReplyTooLarge(limit) => write!(f, "the reply was not read to its end: {limit}")?,
            Self::BadRequest { status, detail } => {
                write!(f, "the request was refused (status {status}): {detail}")?;
            }
            Self::GaveUp { .. } => self.write_gave_up(f)?,
        }
        write!(f, "; {}", self.hint())
    }
}

impl ModelError {
    fn write_gave_up(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::GaveUp {
            address,
            tries,
            reason,
            asked_to_wait,
            detail,
            ..
        } = self
        else {
            return Ok(());
        };
        let times = if *tries == 1 { "try" } else { "tries" };
        write!(
            f,
            "gave up on {address} after {tries} {times}: {reason}: {detail}"
        )?;
        match asked_to_wait {
            Some(wait) => write!(f, "; it asks to wait {} s", wait.as_secs()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Request(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RequestError> for ModelError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<ScriptError> for ModelError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}
