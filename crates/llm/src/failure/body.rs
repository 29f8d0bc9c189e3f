//! What the body of an error says, in all the shapes that servers use.

use serde_json::Value;

use crate::error::{Detail, ModelError};

/// What a server says about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The kind of error, like `overloaded_error`.
    pub kind: String,
    /// The code, like `context_length_exceeded`.
    pub code: String,
    /// The field of the request that the error is about.
    pub param: String,
    pub message: String,
    /// The server's name for the request.
    pub request_id: Option<String>,
    /// The length of the conversation, if the error is about that.
    pub tokens: Option<u64>,
    /// The size of the model's window, if the error is about that.
    pub limit: Option<u64>,
}

/// Codes and kinds that mean: the conversation is too long.
const TOO_LONG: [&str; 3] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
];

/// Texts that mean the same, of servers whose codes do not distinguish it from any
/// other bad request: the Messages API, vLLM, and gateways before them.
const TOO_LONG_TEXTS: [&str; 4] = [
    "prompt is too long",
    "maximum context length",
    "exceed context limit",
    "exceeds the available context size",
];

/// Words in refusals that are about images.
const ABOUT_IMAGES: [&str; 5] = ["image", "vision", "multimodal", "multi-modal", "mmproj"];

impl ErrorInfo {
    /// Reads the body of an answer. It never fails: what cannot be read becomes
    /// the message.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self {
                message: page_title(&text).unwrap_or(text.trim()).to_owned(),
                ..Self::default()
            },
        }
    }

    /// Reads `{"error": {...}}`, `{"error": "text"}`, an error object itself, and
    /// the `message` or `detail` of servers that have no error object.
    pub(crate) fn from_value(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        if let Some(text) = error.as_str() {
            return Self {
                message: text.to_owned(),
                ..Self::default()
            };
        }
        let text = |key: &str| plain(error.get(key));
        let message = ["message", "detail", "error_message"]
            .iter()
            .map(|key| text(key))
            .find(|text| !text.is_empty());
        let detailed = plain(error.pointer("/details/error_code"));
        Self {
            kind: text("type"),
            code: if detailed.is_empty() {
                text("code")
            } else {
                detailed
            },
            param: text("param"),
            message: message.unwrap_or_else(|| error.to_string()),
            request_id: value
                .get("request_id")
                .and_then(Value::as_str)
                .map(str::to_owned),
            tokens: error.get("n_prompt_tokens").and_then(Value::as_u64),
            limit: error.get("n_ctx").and_then(Value::as_u64),
        }
    }

    /// The status that an error would have had if it had not come inside a
    /// reply.
    pub(crate) fn implied_status(&self) -> Option<u16> {
        if let Ok(status @ 300..=599) = self.code.parse() {
            return Some(status);
        }
        [self.code.as_str(), self.kind.as_str()]
            .into_iter()
            .find_map(|name| match name {
                "invalid_request_error" | "context_length_exceeded" => Some(400),
                "exceed_context_size_error" | "invalid_encrypted_content" => Some(400),
                "invalid_prompt" => Some(400),
                "authentication_error" | "invalid_api_key" => Some(401),
                "billing_error" | "insufficient_quota" => Some(402),
                "permission_error" => Some(403),
                "not_found_error" | "model_not_found" => Some(404),
                "request_too_large" => Some(413),
                "rate_limit_error" | "rate_limit_exceeded" => Some(429),
                "unavailable_error" => Some(503),
                "timeout_error" => Some(504),
                "overloaded_error" => Some(529),
                _ => None,
            })
    }

    /// Whether a request with images was refused for one of them, or for all.
    pub(crate) fn is_about_images(&self, status: u16) -> bool {
        let message = self.message.to_lowercase();
        match status {
            413 => true,
            400 | 404 | 415 | 422 => ABOUT_IMAGES.iter().any(|word| message.contains(word)),
            // llama.cpp says it as a failure of its own.
            500.. => message.contains("image input is not supported"),
            _ => false,
        }
    }

    /// The error if what is said is final whatever the status is.
    pub(crate) fn always_final(&self, status: u16, detail: &Detail) -> Option<ModelError> {
        let names = [self.code.as_str(), self.kind.as_str()];
        if names.contains(&"insufficient_quota") {
            return Some(ModelError::Billing(detail.clone()));
        }
        let says_too_long = || {
            let message = self.message.to_lowercase();
            status == 400 && TOO_LONG_TEXTS.iter().any(|text| message.contains(text))
        };
        if names.iter().any(|name| TOO_LONG.contains(name)) || says_too_long() {
            return Some(ModelError::ContextTooLong {
                tokens: self.tokens,
                limit: self.limit,
                detail: detail.clone(),
            });
        }
        // As a server error it would be retried, each time in vain.
        if status >= 500 && self.is_about_images(status) {
            return Some(ModelError::BadRequest {
                status,
                detail: detail.clone(),
            });
        }
        None
    }
}

/// A string as it is, a number in digits, and nothing else.
fn plain(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The title of an HTML page, as proxies send it.
fn page_title(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<title>")?;
    let (title, _) = rest.split_once("</title>")?;
    Some(title.trim())
}
