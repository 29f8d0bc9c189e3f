//! `config`: shows the settings and their origins.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json};
use crate::trusted_workspace::UncheckedWorkspace;
use config::{ConfigError, ShownTrust};
use member::WorkspaceSettings;
use serde_json::{Value, json};
use terminal_text::one_line;

/// Show the settings of the team and their origins.
#[derive(clap::Args)]
#[command(
    name = "config",
    after_help = "\
Examples:
  team-lead config show
  TEAM_MAX_TOKENS=200000 team-lead config show

In order of precedence, values come from flags, from variables (TEAM_MODEL, MODEL_ID, TEAM_MAX_TOKENS,
TEAM_MAX_COST, TEAM_MAX_TURNS, TEAM_MAX_MINUTES, TEAM_SANDBOX, TEAM_NETWORK), from your file
~/.config/team-lead/config.toml (or below XDG_CONFIG_HOME), from the workspace (the same variables in
.env, then team.toml), and from the defaults. An unknown key is an error. Values of the workspace that
need your trust are marked (trusted) or (untrusted): `team-lead trust --help`. Keys are not shown.

With --json: {\"workspace\", \"settings\": [{\"key\", \"value\", \"origin\", \"source\": \"environment\", \"user\",
\"workspace\" or \"default\", \"trust\": \"not needed\", \"trusted\" or \"untrusted\"}]}."
)]
pub(crate) struct ConfigVerb {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show every setting and its origin.
    Show,
}

pub(crate) fn run(args: &Args, command: &ConfigVerb) -> Result<(), Failure> {
    let Action::Show = command.action;
    let unchecked = UncheckedWorkspace::find(args)?;
    let check = unchecked.check()?;
    let WorkspaceSettings { variables, config } = &unchecked.settings;
    let shown = config.shown(variables, &check.verdict().added);
    if args.json {
        let settings = shown.iter().map(|shown| {
            let (origin, source) = (shown.origin.to_string(), shown.origin.source().name());
            json!({
                "key": shown.key, "value": shown.value, "origin": origin, "source": source,
                "trust": shown.trust.name(),
            })
        });
        let settings: Vec<Value> = settings.collect();
        let workspace = unchecked.workspace();
        return print_json(&json!({ "workspace": workspace, "settings": settings }));
    }
    let width = |get: fn(&config::ShownSetting) -> &str| {
        let widths = shown.iter().map(|shown| get(shown).chars().count());
        widths.max().unwrap_or(0)
    };
    let (keys, values) = (width(|shown| &shown.key), width(|shown| &shown.value));
    let lines = shown.iter().map(|shown| {
        let (key, value, origin) = (&shown.key, &shown.value, &shown.origin);
        let trust = match shown.trust {
            ShownTrust::NotNeeded => String::new(),
            trust => format!("  ({})", trust.name()),
        };
        one_line(&format!("{key:<keys$}  {value:<values$}  {origin}{trust}")).into_owned()
    });
    print(&lines.collect::<Vec<_>>().join("\n"))
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let message = error.to_string();
        match error {
            ConfigError::ForeignOwner { .. } => {
                Self::new(Kind::Refused, message).hint("team-lead -C DIR config show")
            }
            ConfigError::Unreadable { .. }
            | ConfigError::Invalid { .. }
            | ConfigError::Variable { .. } => {
                Self::new(Kind::Usage, message).hint("team-lead config show")
            }
        }
    }
}
