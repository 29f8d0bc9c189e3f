//! What was learned from the refusals of servers, in a form that can be stored.

use serde::{Deserialize, Serialize};

use crate::openai::{Dialect, OpenAiWire};
use crate::output_limit::LEAST_LIMIT;

/// How many refusals of one request are answered with a changed request. Each teaches something that later
/// requests need not learn, and a server that refuses everything is not asked for ever.
pub(crate) const MAX_REFUSALS: usize = 8;

/// What was learned about one model of one server. It changes only the form of requests: not where they go,
/// and not what they say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearnedSettings {
    /// The wire format that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<OpenAiWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Whether the model has no encrypted reasoning to send back.
    pub has_no_encrypted_reasoning: bool,
    /// Whether the model has no web tools of its provider.
    pub has_no_web: bool,
    /// The most output tokens that the server allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
}

impl LearnedSettings {
    /// Combines these settings with newer ones, which count where both have a value.
    #[must_use]
    pub fn and(self, newer: &Self) -> Self {
        Self {
            wire: newer.wire.or(self.wire),
            dialect: newer.dialect.clone().or(self.dialect),
            has_no_encrypted_reasoning: newer.has_no_encrypted_reasoning
                || self.has_no_encrypted_reasoning,
            has_no_web: newer.has_no_web || self.has_no_web,
            max_output: newer.max_output.or(self.max_output),
        }
    }

    /// Drops the values that no refusal can lead to. The file in which they were stored may have been
    /// edited.
    #[must_use]
    pub fn plausible(self) -> Self {
        Self {
            dialect: self.dialect.filter(Dialect::can_be_learned),
            max_output: self.max_output.filter(|most| *most >= LEAST_LIMIT),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_settings_count_and_the_others_stay() {
        let old = LearnedSettings {
            wire: Some(OpenAiWire::Chat),
            max_output: Some(4_096),
            has_no_web: true,
            ..LearnedSettings::default()
        };
        let new = LearnedSettings {
            wire: Some(OpenAiWire::Responses),
            dialect: Some(Dialect::openai()),
            ..LearnedSettings::default()
        };
        let both = old.and(&new);
        assert_eq!((both.wire, both.max_output), (new.wire, Some(4_096)));
        assert!(both.has_no_web && !both.has_no_encrypted_reasoning);
        let stored = serde_json::to_string(&both).unwrap();
        assert_eq!(
            serde_json::from_str::<LearnedSettings>(&stored).unwrap(),
            both
        );
        assert_eq!(both.clone().plausible(), both);
    }

    #[test]
    fn what_no_refusal_leads_to_is_dropped() {
        let odd = LearnedSettings {
            dialect: Some(Dialect {
                reasoning_field: Some("role".into()),
                ..Dialect::openai()
            }),
            max_output: Some(1),
            ..LearnedSettings::default()
        };
        assert_eq!(odd.plausible(), LearnedSettings::default());
    }
}
