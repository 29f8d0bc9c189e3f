//! Hooks: the tables of the files, the settings of Claude Code, and all of them together.

use crate::config::{Config, Origin, Source};
use hooks::{DEFAULT_TIMEOUT, Hook, HookEvent, HookOrigin, Matcher};
use serde::de::{Deserialize, Deserializer, Error as _};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the command of `notify` may run.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);
/// The kind of hooks of Claude Code that are run here.
const COMMAND: &str = "command";

/// The tables `[[hooks.EVENT]]` of a file.
pub type HookTables = BTreeMap<HookEvent, Vec<HookEntry>>;

/// A table `[[hooks.EVENT]]`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[hooks.EVENT]]")]
pub struct HookEntry {
    /// Which tools it is run for; all of them if absent.
    #[serde(default, deserialize_with = "matcher")]
    pub matcher: Matcher,
    #[serde(deserialize_with = "some_command")]
    pub command: String,
    /// How many seconds it may run.
    #[serde(default, deserialize_with = "seconds")]
    pub timeout: Option<Duration>,
}

/// What Claude Code has for one event: a matcher, and hooks of several kinds.
#[derive(serde::Deserialize)]
struct ClaudeGroup {
    #[serde(default, deserialize_with = "matcher")]
    matcher: Matcher,
    #[serde(default)]
    hooks: Vec<ClaudeHook>,
}

#[derive(serde::Deserialize)]
struct ClaudeHook {
    r#type: String,
    #[serde(default)]
    command: String,
    #[serde(default, deserialize_with = "seconds")]
    timeout: Option<Duration>,
}

fn matcher<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Matcher, D::Error> {
    let text = String::deserialize(deserializer)?;
    Matcher::parse(&text).map_err(D::Error::custom)
}

fn some_command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let command = String::deserialize(deserializer)?;
    match command.trim().is_empty() {
        true => Err(D::Error::custom("a command is needed")),
        false => Ok(command),
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("at least 1 second is needed")),
        seconds => Ok(Some(Duration::from_secs(seconds))),
    }
}

/// The hooks of a settings file of Claude Code. Events and kinds of hooks that are unknown here are left out.
pub(crate) fn of_claude<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<HookTables, D::Error> {
    let events = serde_json::Map::deserialize(deserializer)?;
    let mut tables = HookTables::new();
    for event in HookEvent::ALL {
        let Some(value) = events.get(event.as_str()) else {
            continue;
        };
        let groups: Vec<ClaudeGroup> =
            Deserialize::deserialize(value.clone()).map_err(D::Error::custom)?;
        for group in groups {
            let commands = group.hooks.into_iter();
            let commands =
                commands.filter(|hook| hook.r#type == COMMAND && !hook.command.trim().is_empty());
            let entries = commands.map(|hook| HookEntry {
                matcher: group.matcher.clone(),
                command: hook.command,
                timeout: hook.timeout,
            });
            tables.entry(event).or_default().extend(entries);
        }
    }
    tables.retain(|_, entries| !entries.is_empty());
    Ok(tables)
}

impl HookEntry {
    fn hook(&self, event: HookEvent, origin: HookOrigin) -> Hook {
        Hook {
            event,
            matcher: self.matcher.clone(),
            command: self.command.clone(),
            timeout: self.timeout.unwrap_or(DEFAULT_TIMEOUT),
            origin,
        }
    }

    /// The entry as people compare it.
    fn text(&self) -> String {
        match self.matcher.text() {
            "" => self.command.clone(),
            matcher => format!("{matcher}: {}", self.command),
        }
    }
}

/// The hooks for one event, as people compare them.
pub(crate) fn shown_entries(entries: &[HookEntry]) -> String {
    let texts: Vec<String> = entries.iter().map(HookEntry::text).collect();
    texts.join("; ")
}

impl Config {
    /// All hooks: those of the user first, then those of the workspace. The command of `notify` is one of the
    /// user's, wherever it is set: it runs as the user.
    pub fn hooks(&self) -> Vec<Hook> {
        let mut all = Vec::new();
        for (origin, tables) in self.hook_tables() {
            let origin = match origin.source() {
                Source::Environment | Source::User | Source::Default => HookOrigin::User,
                Source::Workspace => HookOrigin::Workspace,
            };
            for (event, entries) in tables {
                all.extend(entries.iter().map(|entry| entry.hook(*event, origin)));
            }
        }
        all.extend(self.notify().value.map(|command| Hook {
            event: HookEvent::Notification,
            matcher: Matcher::default(),
            command,
            timeout: NOTIFY_TIMEOUT,
            origin: HookOrigin::User,
        }));
        all
    }

    /// The tables of each file.
    pub(crate) fn hook_tables(&self) -> impl Iterator<Item = (Origin, &HookTables)> {
        let files = self.files().map(|(origin, file)| (origin, &file.hooks));
        let claude = self.claude().into_iter();
        files.chain(claude.map(|claude| (Origin::Claude(claude.path.clone()), &claude.hooks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use nix::unistd::geteuid;
    use trust::Owners;

    fn config(toml: &str, claude: &str) -> Result<Config, crate::ConfigError> {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::write(workspace.path().join("team.toml"), toml).unwrap();
        std::fs::create_dir(workspace.path().join(".claude")).unwrap();
        std::fs::write(workspace.path().join(crate::CLAUDE_SETTINGS), claude).unwrap();
        let owners = Owners::new(geteuid().as_raw(), None);
        load(workspace.path(), &llm::Variables::default(), &owners)
    }

    #[test]
    fn hooks_of_both_files_are_read_and_need_trust() {
        let toml = "[[hooks.PreToolUse]]\nmatcher = 'Bash'\ncommand = './a'\ntimeout = 5\n";
        let claude = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./b"},{"type":"prompt","prompt":"x"}]}],
            "FileChanged":[{"hooks":[{"type":"command","command":"./c"}]}]}}"#;
        let config = config(toml, claude).unwrap();
        let hooks = config.hooks();
        let found: Vec<_> = hooks
            .iter()
            .map(|hook| (hook.event, hook.command.as_str(), hook.timeout.as_secs()))
            .collect();
        let expected = [
            (HookEvent::PreToolUse, "./a", 5),
            (HookEvent::Stop, "./b", 60),
        ];
        assert_eq!(found, expected);
        assert!(
            hooks
                .iter()
                .all(|hook| hook.origin == HookOrigin::Workspace)
        );
        let risky = config.risky_settings(&llm::Variables::default());
        let risky: Vec<_> = risky
            .iter()
            .map(|one| format!("{}={} ({})", one.key, one.value, one.origin.display()))
            .collect();
        let expected = [
            "hooks.PreToolUse=Bash: ./a (team.toml)",
            "hooks.Stop=./b (.claude/settings.json)",
        ];
        assert_eq!(risky, expected);
    }

    #[test]
    fn a_hook_that_could_never_run_is_an_error() {
        for toml in [
            "[[hooks.Dance]]\ncommand = 'x'\n",
            "[[hooks.Stop]]\ncommand = ' '\n",
            "[[hooks.Stop]]\ncommand = 'x'\nmatcher = '('\n",
            "[[hooks.Stop]]\ncommand = 'x'\ntimeout = 0\n",
            "[[hooks.Stop]]\nmatcher = 'x'\n",
        ] {
            assert!(config(toml, "{}").is_err(), "{toml}");
        }
    }
}
