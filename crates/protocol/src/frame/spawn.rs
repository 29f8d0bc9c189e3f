//! What crosses to have a member started on another host: an ask of the host of the lead, and its outcome.

use crate::{HostId, Incarnation, RequestId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a frame carries of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SpawnFrame {
    /// To the host that is to start the member.
    Ask(SpawnAsk),
    /// From that host: what became of it.
    Answer(SpawnAnswer),
}

/// A member that another host is asked to start. It names nothing that is run, read or set there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnOptions {
    /// Checked where it is started, so that one that is refused can be answered.
    pub name: String,
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// One that the settings of the host that starts it name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_plan: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_claim: bool,
    /// Rules that narrow what it may do. There are none that widen it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// What this version does not know, which is refused: a member without it may be another than was meant.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// A member that is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnAsk {
    /// Random. The host that is asked starts one member for it at most, however often it comes.
    pub id: RequestId,
    pub member: SpawnOptions,
}

/// What became of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnAnswer {
    /// That of the [`SpawnAsk`].
    pub id: RequestId,
    pub outcome: SpawnOutcome,
}

/// How an ask has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SpawnOutcome {
    /// The member was ready.
    Started { incarnation: Incarnation },
    /// Nothing was started.
    Refused { why: SpawnRefusal, text: String },
    /// It was tried, and nothing of it is left.
    Failed { text: String },
}

/// Why a host does not start a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SpawnRefusal {
    /// The bridge there runs without `--accept-spawns`.
    NotAccepted,
    /// The lead is not at home on the host that asks.
    NotTheLead,
    /// As many asks of the host are open as may be.
    TooMany,
    /// A field is longer than it may be.
    TooLong,
    /// A field is not known there.
    UnknownField,
    /// The name is none, or looks like another one.
    Name,
    /// Somebody has the name.
    NameTaken,
    /// The host has roles, and this is none of them.
    Role,
    /// The settings of the host do not name the model.
    Model,
    /// A permission rule is none.
    Rule,
    /// The user there has not trusted the workspace.
    Untrusted,
    /// The team there has as many members as it may have.
    Full,
    /// What was kept of the host was forgotten before it had answered.
    Forgotten,
    /// A word of another version.
    Other(String),
}

impl SpawnRefusal {
    /// All that this version knows, with the words as stored.
    const WORDS: [(Self, &'static str); 13] = [
        (Self::NotAccepted, "not_accepted"),
        (Self::NotTheLead, "not_the_lead"),
        (Self::TooMany, "too_many"),
        (Self::TooLong, "too_long"),
        (Self::UnknownField, "unknown_field"),
        (Self::Name, "name"),
        (Self::NameTaken, "name_taken"),
        (Self::Role, "role"),
        (Self::Model, "model"),
        (Self::Rule, "rule"),
        (Self::Untrusted, "untrusted"),
        (Self::Full, "full"),
        (Self::Forgotten, "forgotten"),
    ];

    /// The word as stored.
    pub fn as_str(&self) -> &str {
        if let Self::Other(word) = self {
            return word;
        }
        let mut words = Self::WORDS.iter();
        words
            .find(|(known, _)| known == self)
            .map_or("other", |(_, word)| word)
    }
}

impl From<String> for SpawnRefusal {
    fn from(word: String) -> Self {
        let known = Self::WORDS.into_iter().find(|(_, known)| *known == word);
        known.map_or(Self::Other(word), |(known, _)| known)
    }
}

impl From<SpawnRefusal> for String {
    fn from(refusal: SpawnRefusal) -> Self {
        refusal.as_str().to_owned()
    }
}

record! {
    /// `spawns/out/<id>.json` on the host that asks, and `spawns/in/<id>.json` on the one that is asked.
    pub struct HostSpawn {
        /// The other one of the two hosts.
        req host: HostId => "host",
        req ask: SpawnAsk => "ask",
        /// When it was asked, or taken in.
        req at: Timestamp => "at",
        /// Whether what this host tells the other one of it is in the outbox: the ask, or its outcome.
        def told: bool => "told",
        opt outcome: SpawnOutcome => "outcome",
        opt ended_at: Timestamp => "ended_at",
    }
}
