//! The permission rules that a person chose for one member.

use crate::Extra;
use serde::{Deserialize, Serialize};

/// Rules of the command line, as they were typed, so that they hold after a restart too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberRules {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Whether nobody is asked about commands that run without a sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub yes: bool,
    /// Fields of the stored object that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MemberRules {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
