//! What can be learned from a refusal about a server.
//!
//! Servers of the same address and name of a wire format differ, by model and by version, and no list
//! of them stays right. So the client starts with what the address suggests, and changes what the server
//! refuses. Everything here is pure.

use super::OpenAiWire;
use super::dialect::{Dialect, REASONING, TokenField};
use super::responses::{ResponsesSettings, bound_items};
use crate::failure::{Answer, ErrorInfo};
use crate::images::ImageMemory;
use crate::learned_settings::LearnedSettings;
use crate::request::Request;

/// How a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerSettings {
    pub(super) wire: OpenAiWire,
    /// Whether the user chose the wire format.
    pub(super) wire_is_chosen: bool,
    pub(super) dialect: Dialect,
    pub(super) responses: ResponsesSettings,
    pub(super) images: ImageMemory,
}

/// Another way to ask, after a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) settings: ServerSettings,
    /// Whether the server did not say so. Only a success proves it then.
    pub(super) is_guess: bool,
}

/// Texts that say that a server does not know what it was sent.
const UNKNOWN: [&str; 9] = [
    "unsupported",
    "not supported",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra inputs",
    "not permitted",
    "not allowed",
    "does not support",
];

/// Texts about thoughts of this conversation that the server cannot open or does not have.
const UNUSABLE_REASONING: [&str; 5] = [
    "could not be verified",
    "could not be decrypted",
    "items are not persisted",
    "without its required following item",
    "without its required 'reasoning' item",
];

/// The names of what is sent only for the tools of the provider.
const WEB: [&str; 2] = ["web_search", "max_tool_calls"];

/// How to ask instead, if the refusal tells.
pub(super) fn learn(
    answer: &Answer,
    settings: &ServerSettings,
    request: &Request,
) -> Option<Change> {
    let mut without = settings.clone();
    let shown = settings.images.shown(request);
    if without.images.refuse(answer, &shown) {
        return Some(Change {
            settings: without,
            is_guess: false,
        });
    }
    let said = Said::new(answer)?;
    let told = match settings.wire {
        OpenAiWire::Chat => said.about_dialect(settings),
        OpenAiWire::Responses => said.about_items(settings, request),
    };
    let told = told.or_else(|| {
        let names_other = !settings.wire_is_chosen && said.names_other_wire(settings.wire);
        names_other.then(|| settings.on_other_wire())
    });
    if let Some(changed) = told.filter(|changed| changed != settings) {
        return Some(Change {
            settings: changed,
            is_guess: false,
        });
    }
    // The server may have only one of the two paths.
    let may_be_path = matches!(answer.status, 404 | 405 | 501) && !said.misses_model();
    (may_be_path && !settings.wire_is_chosen).then(|| Change {
        settings: settings.on_other_wire(),
        is_guess: true,
    })
}

impl ServerSettings {
    /// What of it can be kept for later clients.
    pub(super) fn learned(&self) -> LearnedSettings {
        LearnedSettings {
            wire: (!self.wire_is_chosen).then_some(self.wire),
            dialect: Some(self.dialect.clone()),
            has_no_encrypted_reasoning: self.responses.has_no_encrypted_reasoning,
            has_no_web: self.responses.has_no_web,
            max_output: None,
        }
    }

    fn on_other_wire(&self) -> Self {
        Self {
            wire: self.wire.other(),
            ..self.clone()
        }
    }

    fn with_dialect(&self, change: impl FnOnce(&mut Dialect)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.dialect);
        changed
    }

    fn with_responses(&self, change: impl FnOnce(&mut ResponsesSettings)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.responses);
        changed
    }
}

/// An answer that may be about the form of the request.
struct Said<'a> {
    info: &'a ErrorInfo,
    /// The message in lower case.
    message: String,
}

impl<'a> Said<'a> {
    fn new(answer: &'a Answer) -> Option<Self> {
        let is_about_form = matches!(answer.status, 400 | 404 | 405 | 415 | 422 | 501);
        is_about_form.then(|| Self {
            info: &answer.info,
            message: answer.info.message.to_lowercase(),
        })
    }

    fn says(&self, text: &str) -> bool {
        self.message.contains(text)
    }

    /// Whether the server does not know this field of the request.
    fn does_not_know(&self, field: &str) -> bool {
        let is_meant = self.info.param == field || self.says(field);
        is_meant && UNKNOWN.iter().any(|text| self.says(text))
    }

    /// Whether the path is there, and the model is not.
    fn misses_model(&self) -> bool {
        let names = [self.info.code.as_str(), self.info.kind.as_str()];
        names.contains(&"model_not_found") || names.contains(&"not_found_error")
    }

    /// Whether the server has no such tools, or not for this model or in this mode of it.
    fn refuses_web(&self) -> bool {
        WEB.iter()
            .any(|name| self.does_not_know(name) || self.says(name) && self.says("cannot be used"))
    }

    fn names_other_wire(&self, wire: OpenAiWire) -> bool {
        match wire {
            OpenAiWire::Chat => {
                self.says("/responses")
                    || self.says("responses api")
                    || self.does_not_know("chat/completions")
            }
            OpenAiWire::Responses => {
                self.says("chat/completions") || self.does_not_know("responses api")
            }
        }
    }

    /// The switches of Chat Completions.
    fn about_dialect(&self, settings: &ServerSettings) -> Option<ServerSettings> {
        let dialect = &settings.dialect;
        match dialect.token_field {
            TokenField::MaxTokens if self.says("max_completion_tokens") => {
                return Some(settings.with_dialect(|dialect| {
                    dialect.token_field = TokenField::MaxCompletionTokens;
                }));
            }
            TokenField::MaxCompletionTokens if self.does_not_know("max_completion_tokens") => {
                return Some(settings.with_dialect(|dialect| {
                    dialect.token_field = TokenField::MaxTokens;
                }));
            }
            TokenField::MaxTokens | TokenField::MaxCompletionTokens => {}
        }
        if let Some(field) = &dialect.reasoning_field {
            if self.does_not_know(field) {
                return Some(settings.with_dialect(|dialect| dialect.reasoning_field = None));
            }
        } else if self.says(REASONING) && !self.does_not_know(REASONING) {
            return Some(settings.with_dialect(|dialect| {
                dialect.reasoning_field = Some(REASONING.into());
            }));
        }
        (dialect.asks_for_usage && self.does_not_know("stream_options"))
            .then(|| settings.with_dialect(|dialect| dialect.asks_for_usage = false))
    }

    /// The encrypted reasoning of the Responses API, and the tools of its provider.
    fn about_items(&self, settings: &ServerSettings, request: &Request) -> Option<ServerSettings> {
        let sends_web =
            request.tuning.web.of_responses().is_some() && !settings.responses.has_no_web;
        if sends_web && self.refuses_web() {
            return Some(settings.with_responses(|responses| responses.has_no_web = true));
        }
        let is_broken = self.info.code == "invalid_encrypted_content"
            || UNUSABLE_REASONING.iter().any(|text| self.says(text));
        if is_broken {
            return Some(settings.with_responses(|responses| {
                responses.refused_items.extend(bound_items(request));
            }));
        }
        let no_reasoning = self.does_not_know("encrypted content")
            || self.does_not_know("encrypted_content")
            || self.does_not_know("include");
        no_reasoning.then(|| {
            settings.with_responses(|responses| responses.has_no_encrypted_reasoning = true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::WebHosts;

    fn settings(wire: OpenAiWire) -> ServerSettings {
        ServerSettings {
            wire,
            wire_is_chosen: false,
            dialect: Dialect::compatible(),
            responses: ResponsesSettings::default(),
            images: ImageMemory::default(),
        }
    }

    fn learned(status: u16, message: &str, settings: &ServerSettings) -> Option<Change> {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        let info = ErrorInfo::parse(body.as_bytes());
        learn(&Answer { status, info }, settings, &Request::default())
    }

    #[test]
    fn the_server_names_the_other_wire() {
        let chat = settings(OpenAiWire::Chat);
        for (status, message) in [
            (
                404,
                "This model is only supported in v1/responses and not in v1/chat/completions.",
            ),
            (
                400,
                "Function tools with reasoning_effort are not supported for gpt-x in \
                 /v1/chat/completions. To use function tools, use /v1/responses or set \
                 reasoning_effort to 'none'.",
            ),
            (
                404,
                "This is not a chat model and thus not supported in the v1/chat/completions \
                 endpoint. Did you mean to use v1/completions?",
            ),
        ] {
            let change = learned(status, message, &chat).unwrap();
            assert_eq!(change.settings.wire, OpenAiWire::Responses, "{message}");
            assert!(!change.is_guess, "{message}");
        }
        let responses = settings(OpenAiWire::Responses);
        let message = "The requested model 'x' is not supported with the Responses API.";
        let change = learned(400, message, &responses).unwrap();
        assert_eq!(change.settings.wire, OpenAiWire::Chat);
    }

    #[test]
    fn a_path_that_is_not_there_is_a_guess_and_a_choice_of_the_user_stays() {
        let chat = settings(OpenAiWire::Chat);
        assert!(learned(404, "Not Found", &chat).unwrap().is_guess);
        assert_eq!(learned(400, "Not Found", &chat), None);
        let missing = ErrorInfo {
            code: "model_not_found".into(),
            ..ErrorInfo::default()
        };
        let missing = Answer {
            status: 404,
            info: missing,
        };
        assert_eq!(learn(&missing, &chat, &Request::default()), None);
        assert_eq!(learned(500, "use /v1/responses", &chat), None);
        let chosen = ServerSettings {
            wire_is_chosen: true,
            ..chat
        };
        assert_eq!(learned(404, "use /v1/responses", &chosen), None);
    }

    #[test]
    fn the_name_of_the_token_limit_is_learned_but_not_from_its_value() {
        let old = settings(OpenAiWire::Chat);
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                       'max_completion_tokens' instead.";
        let new = learned(400, message, &old).unwrap().settings;
        assert_eq!(new.dialect.token_field, TokenField::MaxCompletionTokens);
        let message = "Unrecognized request argument supplied: max_completion_tokens";
        assert_eq!(learned(400, message, &new).unwrap().settings, old);
        let message = "max_completion_tokens is too large: this model supports at most 4096";
        assert_eq!(learned(400, message, &new), None);
    }

    #[test]
    fn thoughts_and_usage_are_sent_as_the_server_wants() {
        let chat = settings(OpenAiWire::Chat);
        let message =
            "The `reasoning_content` in the thinking mode must be passed back to the API.";
        let with = learned(400, message, &chat).unwrap().settings;
        assert_eq!(
            with.dialect.reasoning_field.as_deref(),
            Some("reasoning_content")
        );
        let message = "body.messages.1.reasoning_content: Extra inputs are not permitted";
        assert_eq!(learned(422, message, &with).unwrap().settings, chat);
        let message = "unknown field `stream_options`";
        let without = learned(400, message, &chat).unwrap().settings;
        assert!(!without.dialect.asks_for_usage);
    }

    #[test]
    fn tools_of_the_provider_are_not_offered_where_there_are_none() {
        let responses = settings(OpenAiWire::Responses);
        let mut request = Request::default();
        for message in [
            "Hosted tool 'web_search' is not supported with gpt-x.",
            "The following tools cannot be used with reasoning.effort 'minimal': web_search.",
            "Unknown parameter: 'max_tool_calls'.",
        ] {
            request.tuning.web.both = Some(WebHosts::Any);
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            let info = ErrorInfo::parse(body.as_bytes());
            let answer = Answer { status: 400, info };
            let change = learn(&answer, &responses, &request).unwrap();
            assert!(change.settings.responses.has_no_web, "{message}");
            assert_eq!(
                learn(&answer, &change.settings, &request),
                None,
                "{message}"
            );
            request.tuning.web.both = None;
            assert_eq!(learn(&answer, &responses, &request), None, "{message}");
        }
    }

    #[test]
    fn encrypted_reasoning_is_not_asked_of_a_model_without_them() {
        let responses = settings(OpenAiWire::Responses);
        let message = "Encrypted content is not supported with this model.";
        let change = learned(400, message, &responses).unwrap();
        assert!(change.settings.responses.has_no_encrypted_reasoning);
        assert_eq!(learned(400, message, &change.settings), None);
    }
}
