//! How servers that follow OpenAI differ.

use serde::{Deserialize, Serialize};

/// The field in which some servers want thoughts back.
pub(super) const REASONING: &str = "reasoning_content";

/// A wire format of OpenAI and its followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiWire {
    /// Chat Completions, which nearly all servers speak.
    Chat,
    /// The Responses API, which OpenAI's newest models need for tools.
    Responses,
}

impl OpenAiWire {
    /// The wire format to begin with at a host.
    pub fn of_host(host: &str) -> Self {
        match is_openai(host) {
            true => Self::Responses,
            false => Self::Chat,
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Chat => Self::Responses,
            Self::Responses => Self::Chat,
        }
    }
}

/// What a server of Chat Completions understands. The constructors know some
/// servers; the fields can be set for any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// The name of the limit of a reply.
    pub token_field: TokenField,
    /// The field in which a model's thoughts go back to it beside its tool
    /// calls, if the server wants them. It is then sent also when empty.
    pub reasoning_field: Option<String>,
    /// Whether to ask for the usage at the end of the stream.
    pub asks_for_usage: bool,
    /// Whether to allow or forbid several tool calls in one reply; unset, the
    /// server decides.
    pub parallel_tool_calls: Option<bool>,
}

/// The name of the limit of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenField {
    /// The old name, which most servers know.
    MaxTokens,
    /// The new name, the only one that OpenAI's reasoning models accept.
    MaxCompletionTokens,
}

impl Dialect {
    /// OpenAI itself.
    pub fn openai() -> Self {
        Self {
            token_field: TokenField::MaxCompletionTokens,
            ..Self::compatible()
        }
    }

    /// Servers that follow OpenAI: Ollama, vLLM, llama.cpp, gateways.
    pub fn compatible() -> Self {
        Self {
            token_field: TokenField::MaxTokens,
            reasoning_field: None,
            asks_for_usage: true,
            parallel_tool_calls: None,
        }
    }

    /// DeepSeek, which refuses tool calls that come back without thoughts.
    pub fn deepseek() -> Self {
        Self {
            reasoning_field: Some(REASONING.into()),
            ..Self::compatible()
        }
    }

    /// Whether refusals can lead to this dialect.
    pub(crate) fn can_be_learned(&self) -> bool {
        let field = self.reasoning_field.as_deref();
        self.parallel_tool_calls.is_none() && field.is_none_or(|field| field == REASONING)
    }

    /// The dialect of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "openai" => Some(Self::openai()),
            "compatible" => Some(Self::compatible()),
            "deepseek" => Some(Self::deepseek()),
            _ => None,
        }
    }

    /// The dialect of the server at a host.
    pub fn of_host(host: &str) -> Self {
        if is_openai(host) {
            Self::openai()
        } else if is_of(host, "deepseek.com") {
            Self::deepseek()
        } else {
            Self::compatible()
        }
    }
}

/// Whether OpenAI's own models are served there.
fn is_openai(host: &str) -> bool {
    is_of(host, "openai.com") || is_of(host, "openai.azure.com")
}

fn is_of(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_tells_the_dialect() {
        assert_eq!(Dialect::of_host("api.openai.com"), Dialect::openai());
        assert_eq!(OpenAiWire::of_host("api.openai.com"), OpenAiWire::Responses);
        assert_eq!(Dialect::of_host("api.deepseek.com"), Dialect::deepseek());
        for other in ["openrouter.ai", "127.0.0.1", "notopenai.com", ""] {
            assert_eq!(Dialect::of_host(other), Dialect::compatible(), "{other}");
            assert_eq!(OpenAiWire::of_host(other), OpenAiWire::Chat, "{other}");
        }
    }
}
