//! What is chosen about an agent.

use crate::context::Limits;
use llm::Tuning;

/// The settings of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub limits: Limits,
    /// The most tokens that one reply may have.
    pub max_tokens: u32,
    /// How many times the model may be asked before a turn ends by itself; 0 is without limit.
    pub max_rounds: u32,
    /// What is sent to the model only if it is set.
    pub tuning: Tuning,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_tokens: 8_000,
            max_rounds: 50,
            tuning: Tuning::default(),
        }
    }
}
