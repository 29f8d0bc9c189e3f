//! Classifies a failed try: whether another try may succeed, and which error to report if not.

use std::time::Duration;

use crate::conversation::Provider;
use crate::decode::DecodeError;
use crate::error::{Detail, ModelError};
use crate::model::WaitReason;
use crate::secret::Secret;

mod body;

pub use body::ErrorInfo;

/// How one try of a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another try would fail in the same way.
    Final(Box<Refusal>),
    /// Another try may succeed.
    Transient(Transient),
}

/// A final failure.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: ModelError,
    /// What the server said, if it did. A client may learn from it how to ask.
    pub(crate) answer: Option<Answer>,
}

/// The answer of a server that refuses a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) info: ErrorInfo,
}

impl From<ModelError> for Box<Refusal> {
    fn from(error: ModelError) -> Self {
        Self::new(Refusal {
            error,
            answer: None,
        })
    }
}

/// A failure after which another try may succeed.
#[derive(Debug)]
pub(crate) struct Transient {
    pub(crate) reason: WaitReason,
    pub(crate) detail: Detail,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

/// What the headers of an answer say about another try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RetryHints {
    pub(crate) retry_after: Option<Duration>,
    /// The server's own verdict, which takes precedence over the status.
    pub(crate) should_retry: Option<bool>,
    pub(crate) request_id: Option<String>,
}

/// The server, for the text of errors.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    /// The address as it may be shown, without user and password.
    pub(crate) address: String,
    pub(crate) key_variable: &'static str,
    pub(crate) address_variable: &'static str,
    pub(crate) secret: Option<Secret>,
}

impl Site {
    /// The text of an error, with the key taken out. Every text of a server or
    /// a library passes through here before anyone sees it.
    pub(crate) fn detail(&self, message: &str, request_id: Option<String>) -> Detail {
        let scrub = |text: &str| match &self.secret {
            Some(secret) => secret.scrub(text),
            None => text.to_owned(),
        };
        Detail {
            message: shorten(&scrub(message)),
            request_id: request_id.map(|id| shorten(&scrub(&id))),
        }
    }

    /// A failure of the connection or of the reading.
    pub(crate) fn transient(&self, reason: WaitReason, message: &str) -> Failure {
        Failure::Transient(Transient {
            reason,
            detail: self.detail(message, None),
            retry_after: None,
        })
    }

    /// An answer with a status other than success.
    pub(crate) fn refused(
        &self,
        status: u16,
        info: &ErrorInfo,
        hints: RetryHints,
        bytes: usize,
    ) -> Failure {
        let request_id = hints.request_id.or_else(|| info.request_id.clone());
        let detail = self.detail(&info.message, request_id);
        let refusal = |error| {
            let info = info.clone();
            let answer = Some(Answer { status, info });
            Failure::Final(Box::new(Refusal { error, answer }))
        };
        if let Some(error) = info.always_final(status, &detail) {
            return refusal(error);
        }
        let reason = match status {
            429 => Some(WaitReason::RateLimit),
            503 | 529 => Some(WaitReason::Overloaded),
            408 | 409 | 425 | 500.. => Some(WaitReason::ServerError(status)),
            _ => None,
        };
        let reason = match hints.should_retry {
            Some(true) => reason.or(Some(WaitReason::ServerError(status))),
            Some(false) => None,
            None => reason,
        };
        match reason {
            Some(reason) => Failure::Transient(Transient {
                reason,
                detail,
                retry_after: hints.retry_after,
            }),
            None => refusal(self.final_error(status, detail, bytes)),
        }
    }

    /// A reply that could not be decoded, or an error inside one.
    pub(crate) fn undecoded(&self, error: &DecodeError, bytes: usize) -> Failure {
        let reason = match error {
            DecodeError::Server(info) => return self.error_in_reply(info, bytes),
            DecodeError::Cut => WaitReason::StreamCut,
            DecodeError::Empty => WaitReason::Empty,
            DecodeError::TooLarge(limit) => {
                return Failure::Final(ModelError::ReplyTooLarge(*limit).into());
            }
            DecodeError::Malformed { .. } | DecodeError::NotAStream => WaitReason::Unreadable,
        };
        self.transient(reason, &error.to_string())
    }

    fn error_in_reply(&self, info: &ErrorInfo, bytes: usize) -> Failure {
        match info.implied_status() {
            Some(status) => self.refused(status, info, RetryHints::default(), bytes),
            None => Failure::Transient(Transient {
                reason: WaitReason::ErrorInReply,
                detail: self.detail(&info.message, info.request_id.clone()),
                retry_after: None,
            }),
        }
    }

    fn final_error(&self, status: u16, detail: Detail, bytes: usize) -> ModelError {
        match status {
            401 => ModelError::KeyRefused {
                variable: self.key_variable,
                address: self.address.clone(),
                detail,
            },
            402 => ModelError::Billing(detail),
            403 => ModelError::Forbidden {
                variable: self.key_variable,
                model: self.model.clone(),
                detail,
            },
            300..=399 | 404 => ModelError::NotFound {
                model: self.model.clone(),
                address: self.address.clone(),
                variable: self.address_variable,
                detail,
            },
            413 => ModelError::RequestTooLarge { bytes, detail },
            _ => ModelError::BadRequest { status, detail },
        }
    }
}

/// The text on one line, cut after some hundred characters.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 500;
    let mut short = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = short.char_indices().nth(LONGEST) {
        short.truncate(cut);
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
