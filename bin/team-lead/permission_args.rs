//! The options of what a member may do, which several commands have.

use permissions::{Rule, RuleError};
use protocol::MemberRules;

#[derive(clap::Args)]
pub(crate) struct PermissionArgs {
    /// Allow what a rule names, as in 'Bash(npm run *)', without asking. Can be repeated.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    allow: Vec<String>,
    /// Ask a person before what a rule names. Can be repeated.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    ask: Vec<String>,
    /// Deny what a rule names, whatever else allows it. Can be repeated.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    deny: Vec<String>,
    /// Do not ask about commands that run without a sandbox.
    #[arg(long)]
    yes: bool,
}

impl PermissionArgs {
    /// The rules, if there are any.
    pub(crate) fn rules(&self) -> Option<MemberRules> {
        let rules = MemberRules {
            deny: self.deny.clone(),
            ask: self.ask.clone(),
            allow: self.allow.clone(),
            yes: self.yes,
            ..MemberRules::default()
        };
        (!rules.is_empty()).then_some(rules)
    }
}

/// Checks a rule. It is kept as text, since that is how it is stored.
fn rule(text: &str) -> Result<String, RuleError> {
    Rule::parse(text).map(|rule| rule.text().to_owned())
}
