//! `config`: shows the settings and their origins.

use crate::cli::{Args, workspace};
use crate::failure::{Failure, Kind};
use crate::output::print;
use config::{Config, ConfigError};
use llm::{Variables, parse_dotenv};
use serde_json::{Value, json};
use std::path::Path;

/// Show the settings of the team and their origins.
#[derive(clap::Args)]
#[command(
    name = "config",
    after_help = "\
Examples:
  team-lead config show
  TEAM_MAX_TOKENS=200000 team-lead config show

In order of precedence, values come from flags, from variables (TEAM_MODEL, MODEL_ID, TEAM_MAX_TOKENS, TEAM_MAX_COST,
TEAM_MAX_TURNS, TEAM_MAX_MINUTES), from team.toml in the workspace, from
~/.config/team-lead/config.toml (or below XDG_CONFIG_HOME), and from the defaults. An unknown key is
an error.

With --json: {\"settings\": [{\"key\", \"value\", \"origin\"}]}."
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
    let shown = load(&workspace(args)?)?.shown();
    if args.json {
        let settings = shown.iter().map(|shown| {
            let origin = shown.origin.to_string();
            json!({"key": shown.key, "value": shown.value, "origin": origin})
        });
        let settings: Vec<Value> = settings.collect();
        return print(&json!({ "settings": settings }).to_string());
    }
    let width = |get: fn(&config::ShownSetting) -> &str| {
        let widths = shown.iter().map(|shown| get(shown).chars().count());
        widths.max().unwrap_or(0)
    };
    let (keys, values) = (width(|shown| &shown.key), width(|shown| &shown.value));
    let lines = shown.iter().map(|shown| {
        let (key, value, origin) = (&shown.key, &shown.value, &shown.origin);
        format!("{key:<keys$}  {value:<values$}  {origin}")
    });
    print(&lines.collect::<Vec<_>>().join("\n"))
}

/// Loads the configuration of a workspace, with the environment and the `.env` file.
pub(crate) fn load(workspace: &Path) -> Result<Config, Failure> {
    // Variables that are not valid UTF-8 are not used here.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut variables: Variables = environment.collect();
    if let Ok(text) = std::fs::read_to_string(workspace.join(".env")) {
        variables.fill(parse_dotenv(&text));
    }
    Ok(config::load(workspace, |name| variables.get(name))?)
}

/// Loads the configuration and applies it to the team.
pub(crate) fn load_and_apply(team: &teamdir::TeamDir) -> Result<Config, Failure> {
    let config = load(team.workspace())?;
    config::apply(team, &config)?;
    Ok(config)
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(Kind::Usage, error.to_string()).hint("team-lead config show")
    }
}
