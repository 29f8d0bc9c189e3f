//! What people chose about questions to them.

use crate::call_rules::CallSettings;
use config::{Config, DEFAULT_ASK_TIMEOUT};
use hooks::Hook;
use permissions::RuleError;
use protocol::MemberRules;
use std::time::Duration;

/// The settings of questions to people.
#[derive(Debug, Clone, Default)]
pub struct AskSettings {
    pub calls: CallSettings,
    /// Whether the lead's model may answer what its teammates ask.
    pub lead_decides: bool,
    /// How long a question waits; for ever if absent.
    pub timeout: Option<Duration>,
    /// The commands that are run when something happens to the member.
    pub hooks: Vec<Hook>,
}

impl AskSettings {
    /// What the configuration says for a member of a role, or for the lead, which has none. `flags` are the
    /// rules of the command line.
    pub fn of(
        config: &Config,
        role: Option<&str>,
        flags: Option<&MemberRules>,
    ) -> Result<Self, RuleError> {
        let seconds = config.ask_timeout().value;
        let seconds = seconds.unwrap_or(DEFAULT_ASK_TIMEOUT);
        let calls = CallSettings {
            lists: config.rule_lists(role, flags)?,
            yes: flags.is_some_and(|flags| flags.yes),
        };
        Ok(Self {
            calls,
            lead_decides: config.lead_decides().value.unwrap_or(false),
            timeout: (seconds > 0).then(|| Duration::from_secs(seconds)),
            hooks: config.hooks(),
        })
    }
}
