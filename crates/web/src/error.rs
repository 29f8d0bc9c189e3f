//! Errors of requests, as people read them on the page.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::fmt::Display;

/// Why a request failed: a status, a sentence, and what to do about it.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Display) -> Self {
        Self {
            status,
            message: message.to_string(),
            hint: None,
        }
    }

    /// The person asks for something that cannot be.
    pub(crate) fn bad(message: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The rules or a member refuse it.
    pub(crate) fn refused(message: impl Display) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn unknown(message: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Adds a command that helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let object = json!({"error": self.message, "hint": self.hint});
        (self.status, Json(object)).into_response()
    }
}
