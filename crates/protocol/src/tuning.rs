//! How a model is asked: what people set for a model, a role or a member.

use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The words of [`Effort`].
pub const EFFORT_WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// How a model is asked. What is absent is left to whoever is asked next, and in the end to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuning {
    /// The most tokens of one reply, thoughts included.
    pub max_output: Option<u32>,
    pub effort: Option<Effort>,
    pub thinking: Option<Thinking>,
    pub temperature: Option<Temperature>,
}

impl Tuning {
    /// The same, completed by another one where this one says nothing.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            max_output: self.max_output.or(other.max_output),
            effort: self.effort.or_else(|| other.effort.clone()),
            thinking: self.thinking.or_else(|| other.thinking.clone()),
            temperature: self.temperature.or(other.temperature),
        }
    }
}

/// How much work a model puts into a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
    /// A word of another program. Nobody who does not know it acts on it.
    Other(String),
}

impl Effort {
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
            Self::Other(word) => word,
        }
    }

    /// Reads a word that somebody has typed: an unknown one is a mistake.
    pub fn deserialize_known<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Self>, D::Error> {
        match Self::deserialize(deserializer)? {
            Self::Other(word) => Err(D::Error::unknown_variant(&word, &EFFORT_WORDS)),
            known => Ok(Some(known)),
        }
    }
}

impl From<String> for Effort {
    fn from(word: String) -> Self {
        match word.as_str() {
            "none" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::XHigh,
            "max" => Self::Max,
            _ => Self::Other(word),
        }
    }
}

impl From<Effort> for String {
    fn from(effort: Effort) -> Self {
        effort.as_str().to_owned()
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value that is no setting of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    #[error("effort is one of none, minimal, low, medium, high, xhigh, max")]
    Effort,
    #[error("thinking is adaptive, off, or the most tokens of a thought")]
    Thinking,
    #[error("temperature is a number from 0 to 2")]
    Temperature,
}

impl FromStr for Effort {
    type Err = TuningError;

    fn from_str(word: &str) -> Result<Self, TuningError> {
        match Self::from(word.to_owned()) {
            Self::Other(_) => Err(TuningError::Effort),
            known => Ok(known),
        }
    }
}

/// Whether and how a model thinks before it speaks. In a file it is a word or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thinking {
    /// As much as the model finds right.
    Adaptive,
    Off,
    /// At most this many tokens.
    Budget(u32),
    /// A word of another program. Nobody who does not know it acts on it.
    Other(String),
}

impl Thinking {
    /// Reads a value that somebody has typed: an unknown word is a mistake.
    pub fn deserialize_known<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Self>, D::Error> {
        match Self::deserialize(deserializer)? {
            Self::Other(_) => Err(D::Error::custom(TuningError::Thinking)),
            known => Ok(Some(known)),
        }
    }
}

impl From<&str> for Thinking {
    fn from(word: &str) -> Self {
        match word {
            "adaptive" => Self::Adaptive,
            "off" => Self::Off,
            _ => match word.parse() {
                Ok(tokens) => Self::Budget(tokens),
                Err(_) => Self::Other(word.to_owned()),
            },
        }
    }
}

impl FromStr for Thinking {
    type Err = TuningError;

    fn from_str(word: &str) -> Result<Self, TuningError> {
        match Self::from(word) {
            Self::Other(_) => Err(TuningError::Thinking),
            known => Ok(known),
        }
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adaptive => f.write_str("adaptive"),
            Self::Off => f.write_str("off"),
            Self::Budget(tokens) => write!(f, "{tokens}"),
            Self::Other(word) => f.write_str(word),
        }
    }
}

impl Serialize for Thinking {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Budget(tokens) => serializer.serialize_u32(*tokens),
            Self::Adaptive | Self::Off | Self::Other(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Thinking {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ThinkingVisitor;
        impl Visitor<'_> for ThinkingVisitor {
            type Value = Thinking;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"adaptive\", \"off\" or a number of tokens")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Thinking, E> {
                Ok(Thinking::from(word))
            }

            fn visit_u64<E: serde::de::Error>(self, tokens: u64) -> Result<Thinking, E> {
                let wrong = || E::invalid_value(Unexpected::Unsigned(tokens), &self);
                u32::try_from(tokens)
                    .map(Thinking::Budget)
                    .map_err(|_| wrong())
            }

            fn visit_i64<E: serde::de::Error>(self, tokens: i64) -> Result<Thinking, E> {
                let wrong = || E::invalid_value(Unexpected::Signed(tokens), &self);
                u32::try_from(tokens)
                    .map(Thinking::Budget)
                    .map_err(|_| wrong())
            }
        }
        deserializer.deserialize_any(ThinkingVisitor)
    }
}

/// How random a model's words are, from 0 to 2 in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperature(u16);

impl Temperature {
    pub fn new(value: f64) -> Result<Self, TuningError> {
        match value {
            0.0..=2.0 => Ok(Self((value * 100.0).round() as u16)),
            _ => Err(TuningError::Temperature),
        }
    }

    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl FromStr for Temperature {
    type Err = TuningError;

    fn from_str(text: &str) -> Result<Self, TuningError> {
        let value: Result<f64, _> = text.parse();
        Self::new(value.map_err(|_| TuningError::Temperature)?)
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl Serialize for Temperature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_and_print() {
        for word in EFFORT_WORDS {
            assert_eq!(word.parse::<Effort>().unwrap().to_string(), word);
        }
        for word in ["adaptive", "off", "4096"] {
            assert_eq!(word.parse::<Thinking>().unwrap().to_string(), word);
        }
        for text in ["0", "0.7", "2"] {
            assert_eq!(text.parse::<Temperature>().unwrap().to_string(), text);
        }
        assert_eq!("hihg".parse::<Effort>(), Err(TuningError::Effort));
        assert_eq!("-1".parse::<Thinking>(), Err(TuningError::Thinking));
        for text in ["", "hot", "-0.1", "2.01", "NaN"] {
            let error = text.parse::<Temperature>();
            assert_eq!(error, Err(TuningError::Temperature), "{text}");
        }
    }

    #[test]
    fn a_stored_value_reads_back_also_if_its_word_is_unknown() {
        fn check<T: Serialize + for<'de> Deserialize<'de> + PartialEq + fmt::Debug>(text: &str) {
            let value: T = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
        }
        for text in ["\"high\"", "\"later\""] {
            check::<Effort>(text);
        }
        for text in ["\"adaptive\"", "4096", "\"later\""] {
            check::<Thinking>(text);
        }
        check::<Temperature>("0.7");
    }

    #[test]
    fn what_one_leaves_out_comes_from_the_other() {
        let own = Tuning {
            effort: Some(Effort::Low),
            ..Tuning::default()
        };
        let other = Tuning {
            max_output: Some(5),
            effort: Some(Effort::High),
            ..Tuning::default()
        };
        let both = own.or(&other);
        assert_eq!((both.max_output, both.effort), (Some(5), Some(Effort::Low)));
    }
}
